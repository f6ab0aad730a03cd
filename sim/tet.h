// SPDX-License-Identifier: Apache-2.0
// A tetrahedron of stable neo-Hookean material (Smith, de Goes and Kim 2018) with damping and actuation, and its
// adjoint. With edges e = [x1-x0 x2-x0 x3-x0], B = (edges at rest)^-1, V = det(edges at rest)/6, F = e B, D = dF/dt, J
// = det F and C = cof F = dJ/dF:
//   P = mu (1 - 1/(tr F'F + 1)) F + (lambda (J - 1 + act) - 3/4 mu + k_d C:D) C + damping,
//   damping = k_d F (F'D + D'F) by strain, or k_d D by velocity,
//   [f1 f2 f3] = -V P B', f0 = -(f1+f2+f3).
// Matrices are kept by columns: F[j] is column j. B is kept by rows: B[3k+j].
#ifndef VPD_SIM_TET_H
#define VPD_SIM_TET_H

#include "sim/num.h"

typedef struct SimTet {
    Num inverse[9]; // B
    Num volume, mu, lambda, k_d, act;
} SimTet;

typedef struct SimTetState {
    Num F[3][3], D[3][3], C[3][3], P[3][3];
    Num S[3][3]; // F'D + D'F
    Num shape;   // 1/(tr F'F + 1)
    Num J, rate; // rate = C:D = dJ/dt
    Num s;       // factor of C in P
} SimTetState;

// out = e B
SIM_ELEMENT void sim_tet_apply(const Num B[9], const Num e[3][3], Num out[3][3]) {
    for (int j = 0; j < 3; j++)
        for (int i = 0; i < 3; i++) out[j][i] = e[0][i] * B[j] + e[1][i] * B[3 + j] + e[2][i] * B[6 + j];
}

// out = g B'
SIM_ELEMENT void sim_tet_apply_transposed(const Num B[9], const Num g[3][3], Num out[3][3]) {
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 3; i++) out[k][i] = g[0][i] * B[3 * k] + g[1][i] * B[3 * k + 1] + g[2][i] * B[3 * k + 2];
}

SIM_ELEMENT void sim_tet_edges(const Num x[4][3], Num e[3][3]) {
    for (int k = 0; k < 3; k++) num_sub(x[k + 1], x[0], e[k]);
}

SIM_ELEMENT Num sim_tet_product(const Num A[3][3], const Num B[3][3]) {
    return num_dot(A[0], B[0]) + num_dot(A[1], B[1]) + num_dot(A[2], B[2]);
}

// Adds the damping stress by strain rate, k_d F S.
SIM_ELEMENT void sim_tet_damp(const SimTet *tet, SimTetState *t) {
    for (int j = 0; j < 3; j++)
        for (int k = 0; k <= j; k++) t->S[j][k] = t->S[k][j] = num_dot(t->F[j], t->D[k]) + num_dot(t->D[j], t->F[k]);
    for (int j = 0; j < 3; j++)
        for (int k = 0; k < 3; k++) num_add_scaled(tet->k_d * t->S[j][k], t->F[k], t->P[j]);
}

// Everything but the edges: from F and D.
SIM_ELEMENT void sim_tet_stress(const SimTet *tet, bool by_strain, SimTetState *t) {
    num_cross(t->F[1], t->F[2], t->C[0]);
    num_cross(t->F[2], t->F[0], t->C[1]);
    num_cross(t->F[0], t->F[1], t->C[2]);
    t->J = num_dot(t->F[0], t->C[0]);
    t->rate = sim_tet_product(t->C, t->D);
    t->shape = NUM(1) / (sim_tet_product(t->F, t->F) + NUM(1));
    t->s = tet->lambda * ((t->J - NUM(1)) + tet->act) - NUM(0.75) * tet->mu + tet->k_d * t->rate;
    Num a = tet->mu - tet->mu * t->shape;
    for (int j = 0; j < 3; j++)
        for (int i = 0; i < 3; i++) t->P[j][i] = a * t->F[j][i] + t->s * t->C[j][i];
    if (by_strain) sim_tet_damp(tet, t);
    else
        for (int j = 0; j < 3; j++) num_add_scaled(tet->k_d, t->D[j], t->P[j]);
}

SIM_ELEMENT void sim_tet_force(const SimTet *tet, bool by_strain, const Num x[4][3], const Num v[4][3], Num f[4][3]) {
    SimTetState t;
    Num e[3][3], H[3][3];
    sim_tet_edges(x, e);
    sim_tet_apply(tet->inverse, e, t.F);
    sim_tet_edges(v, e);
    sim_tet_apply(tet->inverse, e, t.D);
    sim_tet_stress(tet, by_strain, &t);
    sim_tet_apply_transposed(tet->inverse, t.P, H);
    for (int i = 0; i < 3; i++) {
        f[1][i] = -tet->volume * H[0][i];
        f[2][i] = -tet->volume * H[1][i];
        f[3][i] = -tet->volume * H[2][i];
        f[0][i] = -(f[1][i] + f[2][i] + f[3][i]);
    }
}

// R = dLoss/dP: writes dLoss/dF and dLoss/dD, adds to dLoss/d(mu, lambda, k_d, act).
SIM_ELEMENT void sim_tet_stress_adjoint(const SimTet *tet, bool by_strain, const SimTetState *t, const Num R[3][3],
                                        Num gF[3][3], Num gD[3][3], SimTet *gradient) {
    Num ga = sim_tet_product(R, t->F), gs = sim_tet_product(R, t->C);
    gradient->mu = gradient->mu + ga * (NUM(1) - t->shape) - NUM(0.75) * gs;
    gradient->lambda = gradient->lambda + gs * ((t->J - NUM(1)) + tet->act);
    gradient->act = gradient->act + gs * tet->lambda;
    Num a = tet->mu - tet->mu * t->shape, of_trace = NUM(2) * ga * tet->mu * t->shape * t->shape;
    Num of_rate = gs * tet->k_d, gC[3][3];
    for (int j = 0; j < 3; j++)
        for (int i = 0; i < 3; i++) {
            gF[j][i] = a * R[j][i] + of_trace * t->F[j][i] + gs * tet->lambda * t->C[j][i];
            gD[j][i] = of_rate * t->C[j][i];
            gC[j][i] = t->s * R[j][i] + of_rate * t->D[j][i];
        }
    for (int j = 0; j < 3; j++) { // C[j] = F[j+1] x F[j+2]
        num_add_cross(t->F[(j + 2) % 3], gC[j], gF[(j + 1) % 3]);
        num_add_cross(gC[j], t->F[(j + 1) % 3], gF[(j + 2) % 3]);
    }
    Num g_damping = gs * t->rate;
    if (by_strain) {
        Num T[3][3]; // dLoss/dS + its transpose, over k_d
        for (int j = 0; j < 3; j++)
            for (int k = 0; k <= j; k++) {
                T[j][k] = T[k][j] = num_dot(R[j], t->F[k]) + num_dot(R[k], t->F[j]);
                g_damping = g_damping + (j == k ? NUM(0.5) : NUM(1)) * T[j][k] * t->S[j][k];
            }
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 3; k++) {
                num_add_scaled(tet->k_d * t->S[j][k], R[k], gF[j]);
                num_add_scaled(tet->k_d * T[j][k], t->D[k], gF[j]);
                num_add_scaled(tet->k_d * T[j][k], t->F[k], gD[j]);
            }
    } else {
        g_damping = g_damping + sim_tet_product(R, t->D);
        for (int j = 0; j < 3; j++) num_add_scaled(tet->k_d, R[j], gD[j]);
    }
    gradient->k_d = gradient->k_d + g_damping;
}

// Adds to dLoss/dB and dLoss/dV. W are the edges of w; gF and gD as above; Q = W B.
SIM_ELEMENT void sim_tet_rest_adjoint(const SimTet *tet, const SimTetState *t, const Num e[3][3], const Num rate[3][3],
                                      const Num W[3][3], const Num Q[3][3], const Num gF[3][3], const Num gD[3][3],
                                      SimTet *gradient) {
    for (int k = 0; k < 3; k++)
        for (int j = 0; j < 3; j++)
            gradient->inverse[3 * k + j] = gradient->inverse[3 * k + j] + num_dot(e[k], gF[j]) +
                                           num_dot(rate[k], gD[j]) - tet->volume * num_dot(W[k], t->P[j]);
    gradient->volume = gradient->volume - sim_tet_product(t->P, Q);
}

// w = dLoss/df; writes dLoss/dx, dLoss/dv, adds to dLoss/d(parameters); `rest`: to those of inverse and volume too.
SIM_ELEMENT void sim_tet_adjoint(const SimTet *tet, bool by_strain, bool rest, const Num x[4][3], const Num v[4][3],
                                 const Num w[4][3], Num gx[4][3], Num gv[4][3], SimTet *gradient) {
    SimTetState t;
    Num e[3][3], rate[3][3], W[3][3], Q[3][3], R[3][3], gF[3][3], gD[3][3];
    sim_tet_edges(x, e);
    sim_tet_edges(v, rate);
    sim_tet_edges(w, W);
    sim_tet_apply(tet->inverse, e, t.F);
    sim_tet_apply(tet->inverse, rate, t.D);
    sim_tet_apply(tet->inverse, W, Q);
    sim_tet_stress(tet, by_strain, &t);
    for (int j = 0; j < 3; j++)
        for (int i = 0; i < 3; i++) R[j][i] = -tet->volume * Q[j][i];
    sim_tet_stress_adjoint(tet, by_strain, &t, R, gF, gD, gradient);
    if (rest) sim_tet_rest_adjoint(tet, &t, e, rate, W, Q, gF, gD, gradient);
    sim_tet_apply_transposed(tet->inverse, gF, gx + 1);
    sim_tet_apply_transposed(tet->inverse, gD, gv + 1);
    for (int i = 0; i < 3; i++) {
        gx[0][i] = -(gx[1][i] + gx[2][i] + gx[3][i]);
        gv[0][i] = -(gv[1][i] + gv[2][i] + gv[3][i]);
    }
}

#endif
