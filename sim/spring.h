// SPDX-License-Identifier: Apache-2.0
// A damped spring between two particles, and its adjoint:
//   d = (x0-x1)/|x0-x1|, s = k_e (|x0-x1| - length) + k_d d.(v0-v1), f0 = -s d, f1 = -f0.
#ifndef VPD_SIM_SPRING_H
#define VPD_SIM_SPRING_H

#include "sim/num.h"

typedef struct SimSpring {
    Num length, k_e, k_d;
} SimSpring;

typedef struct SimSpringState {
    Num d[3], v[3], length, inverse, s;
} SimSpringState;

SIM_ELEMENT SimSpringState sim_spring_state(const SimSpring *spring, const Num x[2][3], const Num v[2][3]) {
    SimSpringState t;
    num_sub(x[0], x[1], t.d);
    num_sub(v[0], v[1], t.v);
    t.length = num_sqrt(num_dot(t.d, t.d));
    t.inverse = NUM(1) / num_max(t.length, num_all(NUM(1e-30))); // two particles at one place: no direction, no force
    for (int i = 0; i < 3; i++) t.d[i] = t.d[i] * t.inverse;
    t.s = spring->k_e * (t.length - spring->length) + spring->k_d * num_dot(t.d, t.v);
    return t;
}

SIM_ELEMENT void sim_spring_force(const SimSpring *spring, const Num x[2][3], const Num v[2][3], Num f[2][3]) {
    SimSpringState t = sim_spring_state(spring, x, v);
    for (int i = 0; i < 3; i++) {
        f[1][i] = t.s * t.d[i];
        f[0][i] = -f[1][i];
    }
}

// w = dLoss/df; writes dLoss/dx, dLoss/dv, adds to dLoss/d(parameters).
SIM_ELEMENT void sim_spring_adjoint(const SimSpring *spring, const Num x[2][3], const Num v[2][3], const Num w[2][3],
                                    Num gx[2][3], Num gv[2][3], SimSpring *gradient) {
    SimSpringState t = sim_spring_state(spring, x, v);
    Num W[3], gd[3];
    num_sub(w[0], w[1], W);
    Num gs = -num_dot(t.d, W);
    gradient->length = gradient->length - gs * spring->k_e;
    gradient->k_e = gradient->k_e + gs * (t.length - spring->length);
    gradient->k_d = gradient->k_d + gs * num_dot(t.d, t.v);
    for (int i = 0; i < 3; i++) gd[i] = gs * spring->k_d * t.v[i] - t.s * W[i];
    Num along = num_dot(t.d, gd);
    for (int i = 0; i < 3; i++) {
        gx[0][i] = gs * spring->k_e * t.d[i] + (gd[i] - along * t.d[i]) * t.inverse;
        gv[0][i] = gs * spring->k_d * t.d[i];
        gx[1][i] = -gx[0][i];
        gv[1][i] = -gv[0][i];
    }
}

#endif
