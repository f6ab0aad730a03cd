// SPDX-License-Identifier: Apache-2.0
// Boxes whose overlap is known, and random numbers of tests that draw them.
#ifndef VPD_TESTS_SIM_BOXES_H
#define VPD_TESTS_SIM_BOXES_H

#include "base/random.h"
#include "base/vector.h"

#include <math.h>
#include <string.h>

static inline double uniform(uint32_t scene, uint32_t i) { // in -1 .. 1
    return 2 * (double)random_uniform((RandomKey){.seed = 5, .purpose = RANDOM_TEST, .step = scene}, i) - 1;
}

// A box: its middle, and half of its three sides.
typedef struct Box {
    double middle[3], half[3][3];
} Box;

// Metres that two boxes overlap along the axis along which they do least; below 0 apart. (Theorem of separating axes.)
static inline double overlap(const Box *a, const Box *b) {
    double least = INFINITY, between[3];
    for (size_t c = 0; c < 3; c++) between[c] = b->middle[c] - a->middle[c];
    for (int i = 0; i < 15; i++) {
        double axis[3];
        if (i < 6) memcpy(axis, i < 3 ? a->half[i] : b->half[i - 3], sizeof axis);
        else vector_cross(a->half[(i - 6) / 3], b->half[(i - 6) % 3], axis);
        const double length = sqrt(vector_dot(axis, axis));
        if (length < 1e-9) continue;
        double reach = 0;
        for (int k = 0; k < 3; k++) reach += fabs(vector_dot(a->half[k], axis)) + fabs(vector_dot(b->half[k], axis));
        least = fmin(least, (reach - fabs(vector_dot(between, axis))) / length);
    }
    return least;
}

#endif
