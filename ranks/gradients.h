// SPDX-License-Identifier: Apache-2.0
// Adds up the gradients of all ranks while the backward pass goes on. The block of gradients is cut into buckets of
// about a megabyte, and each bucket into one piece for each rank. As soon as a bucket is complete, each rank sends
// piece r to rank r, which adds the pieces in the order of the ranks and sends the sum back: 2 (n - 1) / n of the bytes
// go out of each rank, as in a ring, but the order of the sum is fixed.
//   gradients_begin; tape->watch = gradients_watch(..) for the last backward pass of the step; gradients_finish
// On the CPU the messages move on between two ops of the backward pass (TapeWatch.between). GPUs exchange and add the
// same pieces by themselves (ranks/gpu_sums.h); without NCCL they go through host memory when the backward pass has
// ended. All three give the same bits.
#ifndef VPD_RANKS_GRADIENTS_H
#define VPD_RANKS_GRADIENTS_H

#include "nn/parameters.h"
#include "ranks/ranks.h"

typedef struct Gradients Gradients;

// Time of the last step, for the log.
typedef struct GradientsTime {
    double waited;   // seconds that gradients_finish waited
    double bytes;    // sent by this rank
    double buckets;  // that were complete before gradients_finish
    double received; // seconds from the first message to the last
} GradientsTime;

// NULL where `ranks` is NULL: the functions below then do nothing. bf16: messages are rounded to bfloat16, the pieces
// and then their sums, which take half of the bytes; pieces are added up in full precision.
Status gradients_create(Ranks *ranks, Parameters *set, bool bf16, Gradients **out, Error *err);
// Accepts NULL. After a step that failed, the set's gradients may be gone.
void gradients_free(Gradients *gradients);

// Begins a step. Only parameters whose names begin with `prefix` (NULL: all) are summed, and none that are frozen: the
// same on every rank.
Status gradients_begin(Gradients *gradients, const char *prefix, Error *err);
TapeWatch *gradients_watch(Gradients *gradients);
// Waits until all gradients are sums over the ranks. After an error the gradients are undefined.
Status gradients_finish(Gradients *gradients, Error *err);
GradientsTime gradients_time(const Gradients *gradients);

#endif
