// SPDX-License-Identifier: Apache-2.0
// The distant light that casts the shadows of bodies in an observation (docs/model.md, "Shadows").
#ifndef VPD_MOTION_LIGHT_H
#define VPD_MOTION_LIGHT_H

#include "base/observation.h"
#include "motion/shade.h"
#include "nn/tape.h"

// Particles of the last frame, in host memory.
typedef struct LightScene {
    ShadeScene shade;
    const real *before;   // (count, 3) metres: where each was in the frame before
    const real *colour;   // (count, 3) rgb in [0,1]
    const int32_t *pixel; // (count) within the frame: (view * H + row) * W + column
} LightScene;

// way: the direction in which the light travels, a unit vector. False if there are no bodies, if no light explains what
// is dark, or what the bodies' motion since the frame before has changed, or if memory is short, when the device is
// marked as failed.
bool light_find(Tape *tape, const Observation *observation, const LightScene *scene, double way[3]);

#endif
