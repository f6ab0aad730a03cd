// SPDX-License-Identifier: Apache-2.0
// Limits and friction of a coordinate: the angle of a hinge (sim/hinge.h), or the way of a slide (sim/slide.h). The
// force along it, of a hinge a torque, is
//   -(k_e over + held(k_d rate, k_e |over|) + held(k_f rate, friction)).
// over: how far beyond low or high, 0 between them; held(a, most): a, at least -most and at most most. So damping
// begins at a limit as its spring does and never pulls back, and friction is smooth at rest as that of sim/contact.h
// is.
#ifndef VPD_SIM_STOP_H
#define VPD_SIM_STOP_H

#include "sim/num.h"

typedef struct SimStop {
    Num low, high, k_e, k_d, friction, k_f;
} SimStop;

// What is held to [-most, most].
typedef struct SimHeld {
    Num value, free, side; // its derivatives by what is held, and by `most`
} SimHeld;

SIM_ELEMENT SimHeld sim_stop_hold(Num a, Num most) {
    const Num zero = num_all(NUM(0)), one = num_all(NUM(1));
    SimHeld out;
    out.value = num_min(num_max(a, -most), most);
    out.side = num_if_less(most, a, one, num_if_less(a, -most, -one, zero));
    out.free = num_if_less(zero, most, one - out.side * out.side, zero);
    return out;
}

typedef struct SimStopState {
    Num over, side; // side: -1 below low, 1 above high, 0 between
    SimHeld damping, friction;
    Num force;
} SimStopState;

SIM_ELEMENT Num sim_stop_middle(const SimStop *stop) { return (stop->low + stop->high) / 2; }

// `from`: the coordinate less the limits' middle.
SIM_ELEMENT SimStopState sim_stop_state(const SimStop *stop, Num from, Num rate) {
    const Num zero = num_all(NUM(0)), one = num_all(NUM(1)), half = (stop->high - stop->low) / 2;
    SimStopState t;
    t.over = num_max(from - half, zero) + num_min(from + half, zero);
    t.side = num_if_less(zero, t.over, one, num_if_less(t.over, zero, -one, zero));
    t.damping = sim_stop_hold(stop->k_d * rate, stop->k_e * t.side * t.over);
    t.friction = sim_stop_hold(stop->k_f * rate, stop->friction);
    t.force = -(stop->k_e * t.over + t.damping.value + t.friction.value);
    return t;
}

// s = dLoss/d(force); adds dLoss/d(coordinate), dLoss/d(rate) and dLoss/d(parameters).
SIM_ELEMENT void sim_stop_adjoint(const SimStop *stop, const SimStopState *t, Num rate, Num s, Num *of_coordinate,
                                  Num *of_rate, SimStop *gradient) {
    const Num zero = num_all(NUM(0)), along = t->side * t->damping.side; // 1 where it is pressed, -1 where it leaves
    const Num of_over = t->side * t->side * stop->k_e * (NUM(1) + along);
    *of_coordinate = *of_coordinate - s * of_over;
    *of_rate = *of_rate - s * (stop->k_d * t->damping.free + stop->k_f * t->friction.free);
    gradient->low = gradient->low + num_if_less(t->side, zero, s * of_over, zero);
    gradient->high = gradient->high + num_if_less(zero, t->side, s * of_over, zero);
    gradient->k_e = gradient->k_e - s * t->over * (NUM(1) + along);
    gradient->k_d = gradient->k_d - s * rate * t->damping.free;
    gradient->friction = gradient->friction - s * t->friction.side;
    gradient->k_f = gradient->k_f - s * rate * t->friction.free;
}

#endif
