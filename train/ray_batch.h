// SPDX-License-Identifier: Apache-2.0
// Training rays of one rollout step: random pixels of each view, a share of them on pixels that change, and square
// patches for the SSIM term. The draw depends only on (seed, step, episode, rollout step, view).
#ifndef VPD_TRAIN_RAY_BATCH_H
#define VPD_TRAIN_RAY_BATCH_H

#include "base/error.h"
#include "base/observation.h"
#include "nn/real.h"
#include "nn/ssim_loss.h"

#include <stddef.h>

enum { CHANGE_THRESHOLD = 8 }; // a channel changes if it differs by more than this, of 255

typedef struct RayBatchOptions {
    long rays;           // single rays per view
    int patches;         // patches per view
    double moving_share; // of the single rays, on changed pixels
    uint32_t seed, step, episode;
} RayBatchOptions;

// Rays of one or more episodes, each grouped by view: `rays` single ones, then `patches` * SSIM_SIDE^2 in row-major
// patches. The batch owns the arrays.
typedef struct RayBatch {
    size_t count, capacity; // `count` = 0 empties it
    real *origin;           // (count,3) metres, world
    real *direction;        // (count,3) world, of length 1 along the camera's z axis
    real *jitter;           // (count) in [0,1)
    real *colour;           // (count,3) in [0,1]
    real *depth;            // (count) metres, 0 = missing
    int *pixel;             // (count) (view position * H + row) * W + column
    int *candidates;        // scratch: changed pixels
    size_t candidate_capacity;
} RayBatch;

// Appends rays of all views of frame `frame`. Changes are counted against frame `reference`; `rollout_step` is part of
// the random key.
Status ray_batch_add(RayBatch *batch, const Observation *observation, int frame, int reference, int rollout_step,
                     const RayBatchOptions *options, Error *err);
void ray_batch_free(RayBatch *batch);

#endif
