// SPDX-License-Identifier: Apache-2.0
// Shadows of bodies on what stands still, which go with the bodies (docs/model.md, "Shadows").
#ifndef VPD_INFER_SHADOWS_H
#define VPD_INFER_SHADOWS_H

#include "files/rollout_file.h"
#include "nn/tape.h"

// The light of the rollout that was drawn last. Starts as {0}.
typedef struct ShadowLight {
    uint64_t of;   // hash of what it was searched in
    bool found;    // false: no light explains the shadows
    double way[3]; // the direction in which it travels, a unit vector
} ShadowLight;

// Features (N,D) with which the particles of a step are drawn, in the tape's host memory: those of the present set,
// darker where a shadow comes and lighter where one goes. Without bodies, at step 0, with features at every step, or if
// no light is found, they are the rollout's own. NULL: out of memory, and the device is marked as failed.
const float *shadows_features(Tape *tape, const RolloutFile *rollout, size_t step, ShadowLight *light);

#endif
