// SPDX-License-Identifier: Apache-2.0
// `real` is float in the program, double in the copy of nn, encoder, gnn, renderer and model that gradient checks link.
#ifndef VPD_NN_REAL_H
#define VPD_NN_REAL_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef VPD_DOUBLE
typedef double real;
#define REAL_NAME "f64"
#define real_exp exp
#define real_log log
#define real_log1p log1p
#define real_sqrt sqrt
#define real_fabs fabs
#define real_tanh tanh
#define real_floor floor
#else
typedef float real;
#define REAL_NAME "f32"
#define real_exp expf
#define real_log logf
#define real_log1p log1pf
#define real_sqrt sqrtf
#define real_fabs fabsf
#define real_tanh tanhf
#define real_floor floorf
#endif

// The squared distance of two points.
static inline double squared_distance(const real a[3], const real b[3]) {
    double sum = 0;
    for (int c = 0; c < 3; c++) sum += ((double)a[c] - (double)b[c]) * ((double)a[c] - (double)b[c]);
    return sum;
}

#endif
