// SPDX-License-Identifier: Apache-2.0
// Bending of two triangles about their shared edge, and its adjoint. x[0] and x[1] are the opposite vertices, x[2]-x[3]
// the edge e. With N1 = (x2-x0) x (x3-x0), N2 = (x3-x1) x (x2-x1), n_k = N_k/|N_k|^2 and h = e/|e|:
//   theta = atan2((N2 x N1).h, N1.N2), 0 when flat; d_i = dtheta/dx_i:
//   d0 = |e| n1, d1 = |e| n2, d2 = n1 (x0-x3).h + n2 (x1-x3).h, d3 = n1 (x2-x0).h + n2 (x2-x1).h;
//   f_i = (torque - length (k_e (theta - angle) + k_d sum_j d_j.v_j)) d_i, with the rest length of the edge.
// atan2 has a derivative on flat cloth, acos has none. A stop (sim/stop.h) adds its torque.
#ifndef VPD_SIM_HINGE_H
#define VPD_SIM_HINGE_H

#include "sim/stop.h"

typedef struct SimHinge {
    Num k_e, k_d, angle, length, torque;
} SimHinge;

typedef struct SimHingeState {
    Num A[2][3], B[2][3];                 // N_k = A_k x B_k
    Num n[2][3], over[2];                 // n_k, 1/|N_k|^2
    Num N[2][3], h[3], e, to[2], from[2]; // to_k = (x_k-x3).h, from_k = (x2-x_k).h
    Num d[4][3], angle, bend, rate;       // theta, theta - angle, sum_j d_j.v_j
} SimHingeState;

SIM_ELEMENT void sim_hinge_frame(const Num x[4][3], SimHingeState *t) {
    Num a[3], b[3];
    num_sub(x[2], x[0], t->A[0]);
    num_sub(x[3], x[0], t->B[0]);
    num_sub(x[3], x[1], t->A[1]);
    num_sub(x[2], x[1], t->B[1]);
    num_sub(x[3], x[2], t->h);
    t->e = num_max(num_sqrt(num_dot(t->h, t->h)), num_all(NUM(1e-30)));
    for (int i = 0; i < 3; i++) t->h[i] = t->h[i] / t->e;
    for (int k = 0; k < 2; k++) {
        num_cross(t->A[k], t->B[k], t->N[k]);
        t->over[k] = NUM(1) / num_max(num_dot(t->N[k], t->N[k]), num_all(NUM(1e-30)));
        for (int i = 0; i < 3; i++) t->n[k][i] = t->N[k][i] * t->over[k];
        num_sub(x[k], x[3], a);
        num_sub(x[2], x[k], b);
        t->to[k] = num_dot(a, t->h);
        t->from[k] = num_dot(b, t->h);
    }
    for (int i = 0; i < 3; i++) {
        t->d[0][i] = t->e * t->n[0][i];
        t->d[1][i] = t->e * t->n[1][i];
        t->d[2][i] = t->to[0] * t->n[0][i] + t->to[1] * t->n[1][i];
        t->d[3][i] = t->from[0] * t->n[0][i] + t->from[1] * t->n[1][i];
    }
}

SIM_ELEMENT Num sim_hinge_angle(const SimHingeState *t) {
    Num across[3];
    num_cross(t->N[1], t->N[0], across);
    return num_atan2(num_dot(across, t->h), num_dot(t->N[0], t->N[1]));
}

// To (-pi, pi], of an angle at most one turn outside.
SIM_ELEMENT Num sim_hinge_wrapped(Num angle) {
    const Num pi = num_all(NUM(3.14159265358979323846)), turn = pi + pi;
    angle = num_if_less(pi, angle, angle - turn, angle);
    return num_if_less(-pi, angle, angle, angle + turn);
}

SIM_ELEMENT SimHingeState sim_hinge_state(const SimHinge *hinge, const Num x[4][3], const Num v[4][3]) {
    SimHingeState t;
    sim_hinge_frame(x, &t);
    t.angle = sim_hinge_angle(&t);
    t.bend = sim_hinge_wrapped(t.angle - hinge->angle);
    t.rate = num_dot(t.d[0], v[0]) + num_dot(t.d[1], v[1]) + num_dot(t.d[2], v[2]) + num_dot(t.d[3], v[3]);
    return t;
}

// Of the angle between the limits' middle and that of the hinge.
SIM_ELEMENT SimStopState sim_hinge_stop(const SimStop *stop, const SimHingeState *t) {
    return sim_stop_state(stop, sim_hinge_wrapped(t->angle - sim_stop_middle(stop)), t->rate);
}

// `stop` may be NULL.
SIM_ELEMENT void sim_hinge_force(const SimHinge *hinge, const SimStop *stop, const Num x[4][3], const Num v[4][3],
                                 Num f[4][3]) {
    SimHingeState t = sim_hinge_state(hinge, x, v);
    Num c = hinge->torque - hinge->length * (hinge->k_e * t.bend + hinge->k_d * t.rate);
    if (stop) c = c + sim_hinge_stop(stop, &t).force;
    for (int j = 0; j < 4; j++)
        for (int i = 0; i < 3; i++) f[j][i] = c * t.d[j][i];
}

// Adds to gx the gradient of sum_i d_i(x).y_i with y held.
SIM_ELEMENT void sim_hinge_second(const SimHingeState *t, const Num x[4][3], const Num y[4][3], Num gx[4][3]) {
    Num ge = num_all(NUM(0)), gh[3] = {ge, ge, ge};
    for (int k = 0; k < 2; k++) {
        Num z[3], gN[3], gA[3], gB[3], g_to = num_dot(t->n[k], y[2]), g_from = num_dot(t->n[k], y[3]);
        for (int i = 0; i < 3; i++) z[i] = t->e * y[k][i] + t->to[k] * y[2][i] + t->from[k] * y[3][i];
        ge = ge + num_dot(t->n[k], y[k]);
        Num along = NUM(2) * num_dot(t->N[k], z) * t->over[k];
        for (int i = 0; i < 3; i++) gN[i] = (z[i] - along * t->N[k][i]) * t->over[k];
        num_cross(t->B[k], gN, gA);
        num_cross(gN, t->A[k], gB);
        const int a = k == 0 ? 2 : 3, b = k == 0 ? 3 : 2; // A_k = x_a - x_k, B_k = x_b - x_k
        for (int i = 0; i < 3; i++) {
            gx[a][i] = gx[a][i] + gA[i];
            gx[b][i] = gx[b][i] + gB[i];
            gx[k][i] = gx[k][i] - gA[i] - gB[i] + (g_to - g_from) * t->h[i];
            gx[3][i] = gx[3][i] - g_to * t->h[i];
            gx[2][i] = gx[2][i] + g_from * t->h[i];
            gh[i] = gh[i] + g_to * (x[k][i] - x[3][i]) + g_from * (x[2][i] - x[k][i]);
        }
    }
    Num along = num_dot(t->h, gh);
    for (int i = 0; i < 3; i++) { // e = |x3-x2|, h = (x3-x2)/e
        Num g = ge * t->h[i] + (gh[i] - along * t->h[i]) / t->e;
        gx[3][i] = gx[3][i] + g;
        gx[2][i] = gx[2][i] - g;
    }
}

// w = dLoss/df; writes dLoss/dx, dLoss/dv, adds to dLoss/d(parameters). `stop` and `of_stop` may be NULL.
SIM_ELEMENT void sim_hinge_adjoint(const SimHinge *hinge, const SimStop *stop, const Num x[4][3], const Num v[4][3],
                                   const Num w[4][3], Num gx[4][3], Num gv[4][3], SimHinge *gradient,
                                   SimStop *of_stop) {
    SimHingeState t = sim_hinge_state(hinge, x, v);
    Num moment = hinge->k_e * t.bend + hinge->k_d * t.rate, y[4][3];
    Num s = num_dot(w[0], t.d[0]) + num_dot(w[1], t.d[1]) + num_dot(w[2], t.d[2]) + num_dot(w[3], t.d[3]);
    gradient->k_e = gradient->k_e - s * hinge->length * t.bend;
    gradient->k_d = gradient->k_d - s * hinge->length * t.rate;
    gradient->angle = gradient->angle + s * hinge->length * hinge->k_e;
    gradient->length = gradient->length - s * moment;
    gradient->torque = gradient->torque + s;
    Num of_angle = -s * hinge->length * hinge->k_e, of_rate = -s * hinge->length * hinge->k_d;
    Num c = hinge->torque - hinge->length * moment;
    if (stop) {
        const SimStopState held = sim_hinge_stop(stop, &t);
        sim_stop_adjoint(stop, &held, t.rate, s, &of_angle, &of_rate, of_stop);
        c = c + held.force;
    }
    for (int j = 0; j < 4; j++)
        for (int i = 0; i < 3; i++) {
            y[j][i] = of_rate * v[j][i] + c * w[j][i];
            gv[j][i] = of_rate * t.d[j][i];
            gx[j][i] = of_angle * t.d[j][i];
        }
    sim_hinge_second(&t, x, y, gx);
}

#endif
