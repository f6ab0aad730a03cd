// SPDX-License-Identifier: Apache-2.0
// How much memory a training, or a model that is used, will need: known from the config and a few sizes of the data
// before anything is allocated. Numbers are bytes as double, so that no size overflows.
//
// What the tape holds is counted op by op (values, what is kept for the backward pass, gradients of the last stage), as
// nn/tape.h hands it out; docs/performance.md compares it with measured peaks. What only the data decide (how many
// samples of a ray meet particles, how much of the data is cached) is a guess, and `least` leaves it out.
#ifndef VPD_MODEL_MEMORY_H
#define VPD_MODEL_MEMORY_H

#include "base/error.h"
#include "base/log.h"
#include "model/config.h"
#include "nn/device.h"

enum { MEMORY_PARTS = 12 };

typedef struct MemoryPart {
    const char *name, *shrink; // "dynamics"; options that make it smaller, or NULL
    double bytes, least;       // expected; surely needed at some time
    bool on_host;              // whatever the device is
} MemoryPart;

typedef struct MemoryEstimate {
    MemoryPart part[MEMORY_PARTS];
    int count;
} MemoryEstimate;

// Sizes of the data, the largest there are.
typedef struct MemoryShape {
    double views, input_views, H, W; // of an episode
    double points;                   // pixels with depth among the input views of one frame
    double episodes_bytes;           // of the decoded images of the training data
} MemoryShape;

// Weights of the model, without making one.
Status memory_count_weights(const Config *config, double *weights, Error *err);

// A training with its longest rollout. config is resolved; lengths may be missing.
void memory_of_training(const Config *config, const MemoryShape *shape, double weights, int threads,
                        MemoryEstimate *out);

// Weights and gradients' block of a model that is used.
void memory_of_weights(double weights, MemoryEstimate *out);

double memory_total(const MemoryEstimate *estimate, bool least);

// STATUS_BAD_INPUT when what is surely needed is more than the device or the host has, with bytes by part and what to
// lower. What may be too much is a warning. `what`: "this training".
Status memory_check(const MemoryEstimate *estimate, const Device *device, const char *what, const Log *log, Error *err);

// "dynamics 476 MiB, encoder 350 MiB, .." in `out`, largest first.
void memory_tell(const MemoryEstimate *estimate, char *out, size_t size);

#endif
