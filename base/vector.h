// SPDX-License-Identifier: Apache-2.0
// Vectors of three numbers.
#ifndef VPD_BASE_VECTOR_H
#define VPD_BASE_VECTOR_H

#include <math.h>
#include <stddef.h>

static inline double vector_dot(const double a[3], const double b[3]) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static inline void vector_cross(const double a[3], const double b[3], double out[3]) {
    for (int c = 0; c < 3; c++) out[c] = a[(c + 1) % 3] * b[(c + 2) % 3] - a[(c + 2) % 3] * b[(c + 1) % 3];
}

// From point `from` to point `to` of (N,3).
static inline void vector_between(const double *points, int from, int to, double out[3]) {
    for (int c = 0; c < 3; c++) out[c] = points[3 * to + c] - points[3 * from + c];
}

// The volume that a closed surface of triangles (count,3) encloses, above 0 where they are turned outwards: the sum of
// the pyramids on them whose tip is point `from`.
static inline double vector_enclosed(const double *points, int from, const int *triangle, size_t count) {
    double volume = 0;
    for (size_t t = 0; t < count; t++) {
        double e[3][3], normal[3];
        for (size_t v = 0; v < 3; v++) vector_between(points, from, triangle[3 * t + v], e[v]);
        vector_cross(e[0], e[1], normal);
        volume += vector_dot(normal, e[2]) / 6;
    }
    return volume;
}

// The axis, 0 to 2, that v is nearest to, of either sign.
static inline int vector_axis(const double v[3]) {
    int most = 0;
    for (int c = 1; c < 3; c++)
        if (v[c] * v[c] > v[most] * v[most]) most = c;
    return most;
}

// Axes u and v of the plane across a unit vector; u, v and it are at right angles and of length 1.
static inline void vector_across(const double n[3], double u[3], double v[3]) {
    double other[3] = {0};
    other[vector_axis((const double[3]){1 - fabs(n[0]), 1 - fabs(n[1]), 1 - fabs(n[2])})] = 1; // most across
    vector_cross(n, other, u);
    double length = sqrt(vector_dot(u, u));
    for (int c = 0; c < 3; c++) u[c] /= length;
    vector_cross(n, u, v);
}

#endif
