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

// The light of a scene, and what its particles show of shadows.
typedef struct Shadows Shadows;

// In `memory` of the host; the scene need not outlive the call. NULL if there is nothing to move, because there are no
// bodies or no light explains what is dark, or if memory is short, when the device is marked as failed.
Shadows *shadows_find(Device *device, Arena *memory, const ShadowScene *scene);

// The direction in which the light travels, a unit vector.
const double *shadows_way(const Shadows *shadows);

// By how much features change when particles are at `moved` (count, 3), as shadows come and go: (count, D) in the
// tape's host memory. NULL if memory is short, when the device is marked as failed.
const real *shadows_change(Tape *tape, Shadows *shadows, const real *moved);

#endif
