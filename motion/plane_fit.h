// SPDX-License-Identifier: Apache-2.0
// The plane through points: the one from which their squared distances are least. Compiles as C and as CUDA.
#ifndef VPD_MOTION_PLANE_FIT_H
#define VPD_MOTION_PLANE_FIT_H

#include "nn/element.h"

typedef struct PlaneFit {
    size_t count; // of the points
    double mean[3];
    real normal[3];    // a unit vector of either sign
    double off, apart; // sums of the points' squared distances from the plane, and from their mean
} PlaneFit;

// Unit eigenvector of the smallest eigenvalue of a symmetric 3x3 matrix, by Jacobi rotations, which leave the
// eigenvalues on its diagonal.
ELEMENT void plane_fit_normal(double *a, real *out) {
    double v[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    for (int sweep = 0; sweep < 8; sweep++)
        for (int p = 0; p < 2; p++)
            for (int q = p + 1; q < 3; q++) {
                double off = a[3 * p + q];
                if (!(fabs(off) > 1e-30)) continue;
                double theta = (a[3 * q + q] - a[3 * p + p]) / (2 * off);
                double t = (theta < 0 ? -1 : 1) / (fabs(theta) + sqrt(theta * theta + 1)), c = 1 / sqrt(t * t + 1),
                       s = t * c;
                for (int k = 0; k < 3; k++) { // columns
                    double x = a[3 * k + p], y = a[3 * k + q];
                    a[3 * k + p] = c * x - s * y;
                    a[3 * k + q] = s * x + c * y;
                }
                for (int k = 0; k < 3; k++) { // rows and eigenvectors
                    double x = a[3 * p + k], y = a[3 * q + k];
                    a[3 * p + k] = c * x - s * y;
                    a[3 * q + k] = s * x + c * y;
                    x = v[3 * k + p], y = v[3 * k + q];
                    v[3 * k + p] = c * x - s * y;
                    v[3 * k + q] = s * x + c * y;
                }
            }
    int least = a[4] < a[0] ? 1 : 0;
    if (a[8] < (least ? a[4] : a[0])) least = 2;
    for (int i = 0; i < 3; i++) out[i] = (real)(least == 0 ? v[3 * i] : least == 1 ? v[3 * i + 1] : v[3 * i + 2]);
}

// Through `count` of the points x (.., 3), given by their numbers.
ELEMENT void plane_fit(const real *x, const int32_t *index, size_t count, PlaneFit *out) {
    double spread[9] = {0};
    out->count = count;
    for (size_t c = 0; c < 3; c++) out->mean[c] = 0;
    for (size_t k = 0; k < count; k++)
        for (size_t c = 0; c < 3; c++) out->mean[c] += (double)x[3 * (size_t)index[k] + c] / (double)count;
    for (size_t k = 0; k < count; k++) {
        double d[3];
        for (size_t c = 0; c < 3; c++) d[c] = (double)x[3 * (size_t)index[k] + c] - out->mean[c];
        for (size_t c = 0; c < 9; c++) spread[c] += d[c / 3] * d[c % 3];
    }
    out->apart = spread[0] + spread[4] + spread[8];
    plane_fit_normal(spread, out->normal);
    out->off = fmin(spread[0], fmin(spread[4], spread[8]));
}

enum { PLANE_FIT_NEAR = 8 };

// Through point `of` of x (count, 3) and the points near to it, PLANE_FIT_NEAR in all. Returns the distance to the
// farthest of these. Host memory.
double plane_fit_near(const real *x, size_t count, size_t of, PlaneFit *out);

#endif
