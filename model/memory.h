// SPDX-License-Identifier: Apache-2.0
// Estimates the memory that a training or a loaded model needs, from the config and a few sizes of the data, before
// anything is allocated. Bytes are doubles, so that no size overflows.
// The tape's contents are counted op by op (values, what is kept for the backward pass, gradients of the last stage),
// as nn/tape.h allocates them; docs/performance.md compares the estimate with measured peaks. What depends on the data
// alone (how many ray samples meet particles, how much of the data is cached) is a guess, which `least` leaves out.
#ifndef VPD_MODEL_MEMORY_H
#define VPD_MODEL_MEMORY_H

#include "base/error.h"
#include "base/log.h"
#include "model/config.h"
#include "nn/device.h"

enum { MEMORY_PARTS = 12 };

typedef struct MemoryPart {
    const char *name, *shrink; // "dynamics"; options that reduce it, or NULL
    double bytes, least;       // expected; certainly needed at some time
    bool on_host;              // in host memory, whatever the device
} MemoryPart;

typedef struct MemoryEstimate {
    MemoryPart part[MEMORY_PARTS];
    int count;
} MemoryEstimate;

// The largest sizes in the data.
typedef struct MemoryShape {
    double views, input_views, H, W; // of an episode
    double points;                   // pixels with depth in the input views of one frame
    double episodes_bytes, frames;   // all decoded images of the training data; their frames
} MemoryShape;

// Number of weights, without building the model.
Status memory_count_weights(const Config *config, double *weights, Error *err);

// A training with its longest rollout. `config` must be resolved; lengths may be missing.
void memory_of_training(const Config *config, const MemoryShape *shape, double weights, int threads,
                        MemoryEstimate *out);

// Once windows are made: they have so many nodes on the average. Before, two bodies in each are a guess.
void memory_know_windows(double nodes, MemoryEstimate *out);

// A model for inference: weights and the block of gradients.
void memory_of_weights(double weights, MemoryEstimate *out);

double memory_total(const MemoryEstimate *estimate, bool least);

// STATUS_BAD_INPUT if what is certainly needed exceeds the memory of the device or host; the error lists bytes by part
// and what to reduce. If only the expected amount exceeds it, this is a warning. `what`: "this training".
Status memory_check(const MemoryEstimate *estimate, const Device *device, const char *what, const Log *log, Error *err);

// "dynamics 476 MiB, encoder 350 MiB, .." in `out`, largest first.
void memory_tell(const MemoryEstimate *estimate, char *out, size_t size);

#endif
