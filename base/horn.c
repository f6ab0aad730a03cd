// SPDX-License-Identifier: Apache-2.0
#include "base/horn.h"

#include <math.h>

// One Jacobi rotation: makes m[p][q] of a symmetric matrix zero. The columns of v are its eigenvectors so far.
static void jacobi_rotate(double m[4][4], double v[4][4], int p, int q) {
    if (m[p][q] == 0) return;
    double theta = (m[q][q] - m[p][p]) / (2 * m[p][q]);
    double t = (theta < 0 ? -1 : 1) / (fabs(theta) + sqrt(theta * theta + 1));
    double c = 1 / sqrt(t * t + 1), s = t * c;
    for (int k = 0; k < 4; k++) {
        double a = m[k][p], b = m[k][q];
        m[k][p] = c * a - s * b;
        m[k][q] = s * a + c * b;
    }
    for (int k = 0; k < 4; k++) {
        double a = m[p][k], b = m[q][k], d = v[k][p], e = v[k][q];
        m[p][k] = c * a - s * b;
        m[q][k] = s * a + c * b;
        v[k][p] = c * d - s * e;
        v[k][q] = s * d + c * e;
    }
}

// Leaves the eigenvalues on the diagonal of m.
static void diagonalize(double m[4][4], double v[4][4]) {
    enum { SWEEPS = 30 }; // convergence is quadratic; five or six are enough
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        double off = 0, all = 0;
        for (int i = 0; i < 16; i++) *(i % 5 ? &off : &all) += m[i / 4][i % 4] * m[i / 4][i % 4];
        if (off <= 1e-30 * all) break;
        for (int p = 0; p < 3; p++)
            for (int q = p + 1; q < 4; q++) jacobi_rotate(m, v, p, q);
    }
}

double horn_rotation(const double S[9], double quaternion[4]) {
    double m[4][4] = {
        {S[0] + S[4] + S[8], S[5] - S[7], S[6] - S[2], S[1] - S[3]},
        {S[5] - S[7], S[0] - S[4] - S[8], S[1] + S[3], S[6] + S[2]},
        {S[6] - S[2], S[1] + S[3], S[4] - S[0] - S[8], S[5] + S[7]},
        {S[1] - S[3], S[6] + S[2], S[5] + S[7], S[8] - S[0] - S[4]},
    };
    double v[4][4] = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}};
    int best = 0;
    diagonalize(m, v);
    for (int i = 1; i < 4; i++) best = m[i][i] > m[best][best] ? i : best;
    for (int k = 0; quaternion && k < 4; k++) quaternion[k] = v[k][best];
    return m[best][best];
}
