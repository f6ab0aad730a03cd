// SPDX-License-Identifier: Apache-2.0
// The model's input: posed RGB-D frames of several cameras. Pointers only; the caller owns the arrays.
#ifndef VPD_BASE_OBSERVATION_H
#define VPD_BASE_OBSERVATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// F frames (oldest first) of V views. Views are known by their index in the data set, which keys random choices.
typedef struct Observation {
    int F, V, H, W;
    const int *views;                // (V) index of each view in the data set
    const uint8_t *rgb;              // (F,V,H,W,3)
    const float *depth;              // (F,V,H,W) metres along camera z, 0 = missing
    const double *intrinsics;        // (V,3,3)
    const double *world_from_camera; // (F,V,4,4)
    double time_step;                // seconds between its frames; 0: unknown, or one frame
    const double *bounds;            // (2,3) workspace box in metres, lower then upper corner; NULL when there is none
    // (3,3) orthogonal: rotates points and rays after the workspace box was applied; NULL: no rotation
    const double *turn;
} Observation;

// Pixels of all views of a frame.
static inline size_t observation_pixels(const Observation *o) { return (size_t)o->V * (size_t)o->H * (size_t)o->W; }

// Whether p, not turned, is in the workspace box; true without a box.
static inline bool observation_inside(const Observation *o, const double p[3]) {
    for (int c = 0; o->bounds && c < 3; c++)
        if (!(p[c] >= o->bounds[c] && p[c] <= o->bounds[3 + c])) return false;
    return true;
}

// q = turn p
static inline void observation_turn(const Observation *o, const double p[3], double q[3]) {
    for (int i = 0; i < 3; i++)
        q[i] = o->turn ? o->turn[3 * i] * p[0] + o->turn[3 * i + 1] * p[1] + o->turn[3 * i + 2] * p[2] : p[i];
}

// p = turn^-1 q
static inline void observation_turn_back(const Observation *o, const double q[3], double p[3]) {
    for (int i = 0; i < 3; i++)
        p[i] = o->turn ? o->turn[i] * q[0] + o->turn[3 + i] * q[1] + o->turn[6 + i] * q[2] : q[i];
}

#endif
