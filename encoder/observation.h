// SPDX-License-Identifier: Apache-2.0
// What the model sees of the world: posed RGB-D frames of several cameras. Pointers only; the caller owns the arrays.
#ifndef VPD_ENCODER_OBSERVATION_H
#define VPD_ENCODER_OBSERVATION_H

#include <stdint.h>

// F frames (oldest first) of V views. Views are known by their index in the data set, which keys random choices.
typedef struct Observation {
    int F, V, H, W;
    const int *views;                // (V) index of each view in the data set
    const uint8_t *rgb;              // (F,V,H,W,3)
    const float *depth;              // (F,V,H,W) metres along camera z, 0 = missing
    const double *intrinsics;        // (V,3,3)
    const double *world_from_camera; // (F,V,4,4)
    const double *bounds;            // (2,3) workspace box in metres, lower then upper corner; NULL when there is none
} Observation;

#endif
