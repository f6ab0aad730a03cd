// SPDX-License-Identifier: Apache-2.0
// The plane of least spread through some points, as tests compute it.
#ifndef VPD_TESTS_NAIVE_PLANE_H
#define VPD_TESTS_NAIVE_PLANE_H

#include "nn/real.h"

#include <stddef.h>

static inline double naive_dot(const double *a, const double *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

static inline double naive_length(const double *v) { return sqrt(naive_dot(v, v)); }

static inline void naive_mean(const real *const *points, size_t count, double *mean) {
    for (size_t c = 0; c < 3; c++) {
        mean[c] = 0;
        for (size_t i = 0; i < count; i++) mean[c] += (double)points[i][c] / (double)count;
    }
}

// The unit vector along which points spread least: with b = trace 1 - spread, b b, b b b b, .. are more and more its
// projection.
static inline void naive_normal(const real *const *points, size_t count, double *normal) {
    double mean[3], b[3][3] = {{0}}, spread = 0;
    naive_mean(points, count, mean);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < 9; j++) {
            double d = ((double)points[i][j / 3] - mean[j / 3]) * ((double)points[i][j % 3] - mean[j % 3]);
            b[j / 3][j % 3] -= d;
            spread += j / 3 == j % 3 ? d : 0;
        }
    for (size_t c = 0; c < 3; c++) b[c][c] += spread;
    for (size_t times = 0; times < 60; times++) {
        double square[3][3], trace = 0;
        for (size_t j = 0; j < 9; j++) square[j / 3][j % 3] = naive_dot(b[j / 3], b[j % 3]); // b is symmetric
        for (size_t c = 0; c < 3; c++) trace += square[c][c];
        for (size_t j = 0; j < 9; j++) b[j / 3][j % 3] = square[j / 3][j % 3] / trace;
    }
    size_t longest = 0;
    for (size_t c = 1; c < 3; c++)
        if (naive_length(b[c]) > naive_length(b[longest])) longest = c;
    for (size_t c = 0; c < 3; c++) normal[c] = b[longest][c] / naive_length(b[longest]);
}

#endif
