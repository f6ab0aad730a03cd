// SPDX-License-Identifier: Apache-2.0
// Shadows of bodies on what stands still, which go with the bodies (docs/model.md, "Shadows").
#ifndef VPD_MODEL_SHADOWS_H
#define VPD_MODEL_SHADOWS_H

#include "nn/tape.h"

// Particles at the present, in host memory.
typedef struct ShadowScene {
    size_t count, D;
    const real *x;       // (count, 3) metres
    const real *colour;  // (count, 3) rgb, on any scale
    const real *feature; // (count, D)
    const int32_t *body; // (count) number of its body; -1: it stands still
} ShadowScene;

// The light of the scene that was asked for last. Starts as {0}.
typedef struct ShadowLight {
    uint64_t of;   // hash of what it was searched in
    bool found;    // false: no light explains the shadows
    double way[3]; // the direction in which it travels, a unit vector
} ShadowLight;

// By how much features change when particles are at `moved` (count, 3), as shadows come and go: (count, D) in the
// tape's host memory. NULL if there is no change, because there are no bodies or no light is found, or if memory is
// short, when the device is marked as failed.
const real *shadows_change(Tape *tape, const ShadowScene *scene, const real *moved, ShadowLight *light);

#endif
