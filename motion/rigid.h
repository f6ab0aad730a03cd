// SPDX-License-Identifier: Apache-2.0
// Mathematics of rigid registration (motion/flow.h), for one query. Compiles as C and as CUDA. Sums are in double,
// because the motion of a small patch is a small difference of large positions.
#ifndef VPD_MOTION_RIGID_H
#define VPD_MOTION_RIGID_H

#include "nn/element.h"

enum { RIGID_UNKNOWNS = 6, RIGID_MOTION = 12 };

// A rigid motion about a centre c: y = R (x - c) + c + t, stored as R (9, row-major), then t (3).
ELEMENT void rigid_place(const real *motion, const real *centre, const real *x, real *y) {
    real r[3] = {x[0] - centre[0], x[1] - centre[1], x[2] - centre[2]};
    for (int c = 0; c < 3; c++) y[c] = element_dot(motion + 3 * c, r) + centre[c] + motion[9 + c];
}

// The same motion about another centre.
ELEMENT void rigid_about(const real *motion, const real *centre, const real *other, real *out) {
    real y[3];
    rigid_place(motion, centre, other, y);
    for (int c = 0; c < 9; c++) out[c] = motion[c];
    for (int c = 0; c < 3; c++) out[9 + c] = y[c] - other[c];
}

// 1 / (1 + (plane/sp)^2 + d^2/sd^2): weight of a pair, by distance from the plane and from the point.
ELEMENT double rigid_fit(double plane, double distance2, double plane_scale, double distance_scale) {
    double p = plane / plane_scale;
    return 1 / (1 + p * p + distance2 / (distance_scale * distance_scale));
}

// Normal equations A s = b of a small motion s = [omega, translation], with the lower triangle of A.
typedef struct RigidSystem {
    double a[RIGID_UNKNOWNS * RIGID_UNKNOWNS], b[RIGID_UNKNOWNS], weight;
} RigidSystem;

// A residual along direction j with weight: weight (j s - e)^2.
typedef struct RigidRow {
    double weight, j[RIGID_UNKNOWNS], e;
} RigidRow;

// Contribution of a row to entry (r, c) of A, or to entry r of b if c = RIGID_UNKNOWNS.
ELEMENT double rigid_row_part(const RigidRow *row, int r, int c) {
    return row->weight * row->j[r] * (c == RIGID_UNKNOWNS ? row->e : row->j[c]);
}

// A pair: the point at r, relative to the centre of motion, should move by e. The unit normal n has full weight, all
// directions have weight `point`.
enum { RIGID_PAIR_ROWS = 4 };

ELEMENT void rigid_pair_rows(double weight, double point, const real *r, const real *n, const real *e, RigidRow *rows) {
    double x = (double)r[0], y = (double)r[1], z = (double)r[2], share = weight * point;
    RigidRow all[RIGID_PAIR_ROWS] = {
        {weight,
         {(double)(r[1] * n[2] - r[2] * n[1]), (double)(r[2] * n[0] - r[0] * n[2]), (double)(r[0] * n[1] - r[1] * n[0]),
          (double)n[0], (double)n[1], (double)n[2]},
         (double)element_dot(n, e)},
        {share, {0, z, -y, 1, 0, 0}, (double)e[0]},
        {share, {-z, 0, x, 0, 1, 0}, (double)e[1]},
        {share, {y, -x, 0, 0, 0, 1}, (double)e[2]},
    };
    for (int i = 0; i < RIGID_PAIR_ROWS; i++) rows[i] = all[i];
}

ELEMENT void rigid_add_pair(RigidSystem *s, const RigidRow *rows) {
    s->weight += rows[0].weight;
    for (int r = 0; r < RIGID_UNKNOWNS; r++) {
        for (int c = 0; c <= r; c++) s->a[r * RIGID_UNKNOWNS + c] += rigid_row_part(&rows[0], r, c);
        s->b[r] += rigid_row_part(&rows[0], r, RIGID_UNKNOWNS);
    }
    // The others are zero but for three numbers.
    for (int i = 1; i < RIGID_PAIR_ROWS; i++) {
        const int at[3] = {i == 1, i == 3 ? 1 : 2, i + 2};
        for (int r = 0; r < 3; r++) {
            for (int c = 0; c <= r; c++) s->a[at[r] * RIGID_UNKNOWNS + at[c]] += rigid_row_part(&rows[i], at[r], at[c]);
            s->b[at[r]] += rigid_row_part(&rows[i], at[r], RIGID_UNKNOWNS);
        }
    }
}

// Solves with `damping` (m^2) on the rotation, by Cholesky; b becomes the solution. Apart from rounding, no pivot is
// below what is added to the diagonal.
ELEMENT void rigid_solve(RigidSystem *s, double damping) {
    enum { N = RIGID_UNKNOWNS };
    double least[2] = {s->weight * damping + 1e-300, s->weight * 1e-6 + 1e-300}; // of rotation, of translation
    for (int i = 0; i < N; i++) s->a[i * N + i] += least[i / 3];
    for (int i = 0; i < N; i++)
        for (int j = 0; j <= i; j++) {
            double sum = s->a[i * N + j];
            for (int k = 0; k < j; k++) sum -= s->a[i * N + k] * s->a[j * N + k];
            s->a[i * N + j] = i == j ? sqrt(sum > least[i / 3] ? sum : least[i / 3]) : sum / s->a[j * N + j];
        }
    for (int i = 0; i < N; i++) {
        for (int k = 0; k < i; k++) s->b[i] -= s->a[i * N + k] * s->b[k];
        s->b[i] /= s->a[i * N + i];
    }
    for (int i = N - 1; i >= 0; i--) {
        for (int k = i + 1; k < N; k++) s->b[i] -= s->a[k * N + i] * s->b[k];
        s->b[i] /= s->a[i * N + i];
    }
}

// R (9) of a rotation vector (Rodrigues), then R <- R motion.R, t <- t + translation.
ELEMENT void rigid_compose(const double *step, real *motion) {
    double angle = sqrt(step[0] * step[0] + step[1] * step[1] + step[2] * step[2]);
    double s = angle > 1e-9 ? sin(angle) / angle : 1, c = angle > 1e-9 ? (1 - cos(angle)) / (angle * angle) : 0.5;
    double k[9] = {0, -step[2], step[1], step[2], 0, -step[0], -step[1], step[0], 0}, turn[9], old[9];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            double kk = 0;
            for (int m = 0; m < 3; m++) kk += k[3 * i + m] * k[3 * m + j];
            turn[3 * i + j] = (i == j) + s * k[3 * i + j] + c * kk;
            old[3 * i + j] = (double)motion[3 * i + j];
        }
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            double sum = 0;
            for (int m = 0; m < 3; m++) sum += turn[3 * i + m] * old[3 * m + j];
            motion[3 * i + j] = (real)sum;
        }
    for (int i = 0; i < 3; i++) motion[9 + i] += (real)step[3 + i];
}

#endif
