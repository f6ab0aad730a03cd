// SPDX-License-Identifier: Apache-2.0
#include "bodies/rigid_motion.h"

#include <math.h>

static void middle(size_t count, const real *x, double out[3]) {
    for (size_t c = 0; c < 3; c++) {
        out[c] = 0;
        for (size_t i = 0; i < count; i++) out[c] += (double)x[3 * i + c];
        out[c] /= (double)count;
    }
}

// One rotation of Jacobi's method in the plane (p, q): a (4,4) symmetric, v (4,4) its eigenvectors so far.
static void jacobi_rotate(double a[16], double v[16], int p, int q) {
    double off = a[4 * p + q];
    if (!(fabs(off) > 1e-30)) return;
    double theta = (a[5 * q] - a[5 * p]) / (2 * off);
    double t = (theta < 0 ? -1 : 1) / (fabs(theta) + sqrt(theta * theta + 1)), c = 1 / sqrt(t * t + 1), s = t * c;
    for (int k = 0; k < 4; k++) { // columns
        double x = a[4 * k + p], y = a[4 * k + q];
        a[4 * k + p] = c * x - s * y, a[4 * k + q] = s * x + c * y;
    }
    for (int k = 0; k < 4; k++) { // rows, and the eigenvectors
        double x = a[4 * p + k], y = a[4 * q + k];
        a[4 * p + k] = c * x - s * y, a[4 * q + k] = s * x + c * y;
        x = v[4 * k + p], y = v[4 * k + q];
        v[4 * k + p] = c * x - s * y, v[4 * k + q] = s * x + c * y;
    }
}

// Unit eigenvector of the largest eigenvalue.
static void largest_eigenvector(double a[16], double out[4]) {
    enum { SWEEPS = 10 };
    double v[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
    for (int sweep = 0; sweep < SWEEPS; sweep++)
        for (int p = 0; p < 3; p++)
            for (int q = p + 1; q < 4; q++) jacobi_rotate(a, v, p, q);
    int best = 0;
    for (int i = 1; i < 4; i++) best = a[5 * i] > a[5 * best] ? i : best;
    for (int k = 0; k < 4; k++) out[k] = v[4 * k + best];
}

static void rotation_of(const double q[4], double r[9]) {
    double w = q[0], x = q[1], y = q[2], z = q[3];
    r[0] = 1 - 2 * (y * y + z * z), r[1] = 2 * (x * y - w * z), r[2] = 2 * (x * z + w * y);
    r[3] = 2 * (x * y + w * z), r[4] = 1 - 2 * (x * x + z * z), r[5] = 2 * (y * z - w * x);
    r[6] = 2 * (x * z - w * y), r[7] = 2 * (y * z + w * x), r[8] = 1 - 2 * (x * x + y * y);
}

RigidMotion rigid_motion_fit(size_t count, const real *from, const real *to) {
    RigidMotion out;
    double s[9] = {0}, q[4];
    middle(count, from, out.from);
    middle(count, to, out.to);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < 9; j++)
            s[j] += ((double)from[3 * i + j / 3] - out.from[j / 3]) * ((double)to[3 * i + j % 3] - out.to[j % 3]);
    double a[16] = {s[0] + s[4] + s[8], s[5] - s[7],        s[6] - s[2],         s[1] - s[3],
                    s[5] - s[7],        s[0] - s[4] - s[8], s[1] + s[3],         s[6] + s[2],
                    s[6] - s[2],        s[1] + s[3],        -s[0] + s[4] - s[8], s[5] + s[7],
                    s[1] - s[3],        s[6] + s[2],        s[5] + s[7],         -s[0] - s[4] + s[8]};
    largest_eigenvector(a, q);
    rotation_of(q, out.rotation);
    return out;
}

void rigid_motion_apply(const RigidMotion *m, const real x[3], real y[3]) {
    double d[3];
    for (int c = 0; c < 3; c++) d[c] = (double)x[c] - m->from[c];
    for (int c = 0; c < 3; c++) {
        const double *row = m->rotation + 3 * c;
        y[c] = (real)(row[0] * d[0] + row[1] * d[1] + row[2] * d[2] + m->to[c]);
    }
}
