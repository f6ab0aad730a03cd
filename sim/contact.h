// SPDX-License-Identifier: Apache-2.0
// Contact of a particle by penalty, with a plane or with a body (sim/touch.h), and its adjoint. n is the normal that
// points to the particle, v its velocity against what it touches. At depth > 0, offset + margin - n.x of a plane:
//   fn = k_e depth - k_d ramp min(n.v, 0), ramp = min(depth/fade, 1);
//   friction -min(mu fn, k_f |vt|) vt/|vt|, vt = v - n (n.v): a cone, smooth at rest.
#ifndef VPD_SIM_CONTACT_H
#define VPD_SIM_CONTACT_H

#include "sim/num.h"

typedef struct SimContact {
    Num k_e, k_d, k_f, mu;
    Num margin, ramp; // ramp = 1/fade
} SimContact;

typedef struct SimContactState {
    Num down, ramp, fn, vt[3], over_speed, sliding, grip; // friction is -grip vt; sliding: 1 or 0
} SimContactState;

SIM_ELEMENT Num sim_contact_depth(const SimContact *c, const Num n[3], Num offset, const Num x[3]) {
    return (offset + c->margin) - num_dot(n, x);
}

SIM_ELEMENT SimContactState sim_contact_state(const SimContact *c, const Num n[3], Num depth, const Num v[3]) {
    SimContactState t;
    const Num zero = num_all(NUM(0)), one = num_all(NUM(1));
    depth = num_max(depth, zero); // above the plane a steep ramp would overflow
    Num vn = num_dot(n, v);
    t.down = num_min(vn, zero);
    t.ramp = num_min(depth * c->ramp, one);
    t.fn = c->k_e * depth - c->k_d * t.ramp * t.down;
    for (int i = 0; i < 3; i++) t.vt[i] = v[i] - vn * n[i];
    Num speed = num_sqrt(num_dot(t.vt, t.vt));
    t.over_speed = NUM(1) / num_max(speed, num_all(NUM(1e-30)));
    t.sliding = num_if_less(c->mu * t.fn, c->k_f * speed, one, zero);
    t.grip = num_if_less(c->mu * t.fn, c->k_f * speed, c->mu * t.fn * t.over_speed, c->k_f);
    return t;
}

// Adds to f.
SIM_ELEMENT void sim_contact_force(const SimContact *c, const Num n[3], Num depth, const Num v[3], Num f[3]) {
    SimContactState t = sim_contact_state(c, n, depth, v);
    const Num zero = num_all(NUM(0));
    for (int i = 0; i < 3; i++) f[i] = f[i] + num_if_less(zero, depth, n[i] * t.fn - t.grip * t.vt[i], zero);
}

// w = dLoss/df. Writes dLoss/d(depth) and dLoss/dn; adds to dLoss/dv and dLoss/d(k_e, k_d, k_f, mu).
SIM_ELEMENT void sim_contact_adjoint(const SimContact *c, const Num n[3], Num depth, const Num v[3], const Num w_all[3],
                                     Num *g_depth, Num gn[3], Num gv[3], SimContact *gradient) {
    SimContactState t = sim_contact_state(c, n, depth, v);
    const Num zero = num_all(NUM(0)), one = num_all(NUM(1));
    Num w[3], gt[3];
    for (int i = 0; i < 3; i++) w[i] = num_if_less(zero, depth, w_all[i], zero);
    Num g_grip = -num_dot(w, t.vt), over = t.sliding * t.over_speed;
    Num g_fn = num_dot(w, n) + g_grip * c->mu * over;
    gradient->mu = gradient->mu + g_grip * t.fn * over;
    gradient->k_f = gradient->k_f + num_if_less(zero, c->mu * t.fn, g_grip * (one - t.sliding), zero); // 0 without mu
    gradient->k_e = gradient->k_e + g_fn * num_max(depth, zero);
    gradient->k_d = gradient->k_d - g_fn * t.ramp * t.down;
    for (int i = 0; i < 3; i++) gt[i] = -t.grip * w[i] - g_grip * t.grip * over * t.over_speed * t.vt[i];
    Num ramp_slope = num_if_less(depth * c->ramp, one, c->ramp, zero);
    *g_depth = g_fn * (c->k_e - c->k_d * ramp_slope * t.down);
    Num vn = num_dot(n, v), g_vn = num_if_less(t.down, zero, -g_fn * c->k_d * t.ramp, zero) - num_dot(n, gt);
    for (int i = 0; i < 3; i++) {
        gn[i] = w[i] * t.fn - vn * gt[i] + g_vn * v[i];
        gv[i] = gv[i] + gt[i] + n[i] * g_vn;
    }
}

#endif
