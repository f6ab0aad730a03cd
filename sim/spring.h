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
    Num d[3], length, inverse, rate, s;
} SimSpringState;

// d = x0 - x1, v = v0 - v1.
SIM_ELEMENT SimSpringState sim_spring_state(const SimSpring *spring, const Num d[3], const Num v[3]) {
    SimSpringState t;
    t.length = num_sqrt(num_dot(d, d));
    t.inverse = NUM(1) / num_max(t.length, num_all(NUM(1e-30))); // two particles at one place: no direction, no force
    for (int i = 0; i < 3; i++) t.d[i] = d[i] * t.inverse;
    t.rate = num_dot(t.d, v);
    t.s = spring->k_e * (t.length - spring->length) + spring->k_d * t.rate;
    return t;
}

// The force on particle 0.
SIM_ELEMENT void sim_spring_force(const SimSpring *spring, const Num d[3], const Num v[3], Num f[3]) {
    SimSpringState t = sim_spring_state(spring, d, v);
    for (int i = 0; i < 3; i++) f[i] = -t.s * t.d[i];
}

// w = dLoss/df0 - dLoss/df1; writes dLoss/dd, dLoss/dv, which are those of particle 0, and with other signs those of
// particle 1; adds to dLoss/d(parameters).
SIM_ELEMENT void sim_spring_adjoint(const SimSpring *spring, const Num d[3], const Num v[3], const Num w[3], Num gd[3],
                                    Num gv[3], SimSpring *gradient) {
    SimSpringState t = sim_spring_state(spring, d, v);
    Num gs = -num_dot(t.d, w), g[3];
    gradient->length = gradient->length - gs * spring->k_e;
    gradient->k_e = gradient->k_e + gs * (t.length - spring->length);
    gradient->k_d = gradient->k_d + gs * t.rate;
    for (int i = 0; i < 3; i++) g[i] = gs * spring->k_d * v[i] - t.s * w[i];
    Num along = num_dot(t.d, g);
    for (int i = 0; i < 3; i++) {
        gd[i] = gs * spring->k_e * t.d[i] + (g[i] - along * t.d[i]) * t.inverse;
        gv[i] = gs * spring->k_d * t.d[i];
    }
}

#endif
