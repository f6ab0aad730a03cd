// SPDX-License-Identifier: Apache-2.0
// Shadows of bodies on what stands still, which go with the bodies (docs/model.md, "Shadows"). Host memory.
#ifndef VPD_MODEL_SHADOWS_H
#define VPD_MODEL_SHADOWS_H

#include "motion/shade.h"
#include "nn/tape.h"

// What particles show of shadows.
typedef struct Shadows Shadows;

// Of light that travels along `way`, a unit vector; D features (count, D) of the particles. In `memory`; the arguments
// need not outlive the call. NULL if nothing shows a shadow, or if memory is short, when the device is marked as
// failed.
Shadows *shadows_find(ShadeMemory memory, const ShadeScene *scene, const double way[3], size_t D, const real *feature);

// The shade at each particle, and how much of it the particle shows: (count, 2). 0 for particles of bodies.
const double *shadows_shown(const Shadows *shadows);

// By how much features change when particles are at `moved` (count, 3), as shadows come and go: (count, D) in the
// tape's host memory. NULL if memory is short, when the device is marked as failed.
const real *shadows_change(Tape *tape, Shadows *shadows, const real *moved);

// The same light on other particles, which show what `shown` (count, 2) tells, as shadows_shown does: adds to their
// features (count, D) what comes and goes. If memory is short, the device is marked as failed.
void shadows_cast(ShadeMemory memory, Shadows *shadows, const ShadeScene *scene, const double *shown, real *feature);

#endif
