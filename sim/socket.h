// SPDX-License-Identifier: Apache-2.0
// How one frame is turned against another, and its adjoint: of a ball joint that resists turning. A frame is three
// particles x0, x1, x2: u = x1-x0, which is its axis, v = x2-x0, n = u x v. Where particles move with y it turns by
//   L y = ((v'.n) u - (u'.n) v + (u'.v) n)/|n|^2,  u' = y1-y0, v' = y2-y0,
// which is exact where they move as one. The forces of a torque are its transpose: a pure couple of that torque, so
// momentum and angular momentum are kept. With unit vectors a_i, b_i along u, v and n of both frames:
//   angle (axis) sin = s = sum_i a_i x b_i / 2,  cos = (sum_i a_i.b_i - 1)/2;  turn = L v of the second less the first;
//   swing: the angle between a_0 and b_0, about m = a_0 x b_0/|a_0 x b_0|;  over: how far beyond `high`, else 0;
//   torque on the second = -(k_e angle axis + k_d turn + (stop_k_e over + held(stop_k_d turn.m, stop_k_e over)) m
//                            + k_f turn, at most `friction` long).
// angle/sin and atan2 of sine and cosine are smooth at 0 where neither axis is known; sines count as at least 1e-6. At
// half a turn both torques jump from one side to the other.
#ifndef VPD_SIM_SOCKET_H
#define VPD_SIM_SOCKET_H

#include "sim/stop.h"

typedef struct SimSocket {
    Num k_e, k_d, high, stop_k_e, stop_k_d, friction, k_f;
} SimSocket;

typedef struct SimSocketFrame {
    Num unit[3][3], over[3], part[2]; // unit vectors along u, v and n, 1 over their lengths; |u|/|n|, |v|/|n|
} SimSocketFrame;

typedef struct SimSocketState {
    SimSocketFrame frame[2];
    Num arms[2][2][3];                     // of the velocities
    Num turn[3], s[3], sine, cosine, bend; // rad/s of the second against the first; bend: angle/sine
    Num m[3], across, along, past;         // of the swing: its axis, sine, cosine, and how far it is beyond `high`
    SimHeld damping;
    Num push, rub;        // along -m: N m; of friction: N m s, times -turn
    Num speed, torque[3]; // |turn|; on the second
} SimSocketState;

SIM_ELEMENT Num sim_socket_sine(const Num a[3]) { return num_max(num_sqrt(num_dot(a, a)), num_all(NUM(1e-6))); }

SIM_ELEMENT void sim_socket_frame(const Num x[3][3], SimSocketFrame *t) {
    num_sub(x[1], x[0], t->unit[0]);
    num_sub(x[2], x[0], t->unit[1]);
    num_cross(t->unit[0], t->unit[1], t->unit[2]);
    for (int k = 0; k < 3; k++) {
        t->over[k] = NUM(1) / num_max(num_sqrt(num_dot(t->unit[k], t->unit[k])), num_all(NUM(1e-15)));
        for (int i = 0; i < 3; i++) t->unit[k][i] = t->unit[k][i] * t->over[k];
    }
    for (int k = 0; k < 2; k++) t->part[k] = t->over[2] / t->over[k];
}

// u' and v' of what moves with y.
SIM_ELEMENT void sim_socket_arms(const Num y[3][3], Num out[2][3]) {
    num_sub(y[1], y[0], out[0]);
    num_sub(y[2], y[0], out[1]);
}

// L y, from u' and v'
SIM_ELEMENT void sim_socket_turn(const SimSocketFrame *t, const Num arms[2][3], Num out[3]) {
    const Num a = t->part[0] * num_dot(arms[1], t->unit[2]), b = t->part[1] * num_dot(arms[0], t->unit[2]),
              c = t->part[1] * num_dot(arms[0], t->unit[1]);
    for (int i = 0; i < 3; i++) out[i] = a * t->unit[0][i] - b * t->unit[1][i] + c * t->unit[2][i];
}

// Its transpose: the forces of a torque on the frame.
SIM_ELEMENT void sim_socket_couple(const SimSocketFrame *t, const Num torque[3], Num f[3][3]) {
    const Num a = t->part[0] * num_dot(t->unit[0], torque), b = t->part[1] * num_dot(t->unit[1], torque),
              c = t->part[1] * num_dot(t->unit[2], torque);
    for (int i = 0; i < 3; i++) {
        f[1][i] = c * t->unit[1][i] - b * t->unit[2][i];
        f[2][i] = a * t->unit[2][i];
        f[0][i] = -(f[1][i] + f[2][i]);
    }
}

// Writes `m`, `across` and `along`; the swing.
SIM_ELEMENT Num sim_socket_swing(const SimSocketFrame frame[2], SimSocketState *t) {
    num_cross(frame[0].unit[0], frame[1].unit[0], t->m);
    t->across = sim_socket_sine(t->m);
    t->along = num_dot(frame[0].unit[0], frame[1].unit[0]);
    for (int i = 0; i < 3; i++) t->m[i] = t->m[i] / t->across;
    return num_atan2(t->across, t->along);
}

// Writes s, `sine`, `cosine` and `bend`.
SIM_ELEMENT void sim_socket_angle(const SimSocketFrame frame[2], SimSocketState *t) {
    const Num zero = num_all(NUM(0));
    Num sum = num_all(NUM(-1)), s[3] = {zero, zero, zero};
    for (int k = 0; k < 3; k++) {
        num_add_cross(frame[0].unit[k], frame[1].unit[k], s);
        sum = sum + num_dot(frame[0].unit[k], frame[1].unit[k]);
    }
    for (int i = 0; i < 3; i++) t->s[i] = s[i] / 2;
    t->cosine = sum / 2;
    t->sine = sim_socket_sine(t->s);
    t->bend = num_atan2(t->sine, t->cosine) / t->sine;
}

SIM_ELEMENT void sim_socket_state(const SimSocket *socket, const Num x[6][3], const Num v[6][3], SimSocketState *t) {
    const Num zero = num_all(NUM(0));
    Num first[3];
    for (int k = 0; k < 2; k++) {
        sim_socket_frame(x + 3 * k, &t->frame[k]);
        sim_socket_arms(v + 3 * k, t->arms[k]);
    }
    sim_socket_turn(&t->frame[0], t->arms[0], first);
    sim_socket_turn(&t->frame[1], t->arms[1], t->turn);
    num_sub(t->turn, first, t->turn);
    sim_socket_angle(t->frame, t);
    t->past = num_max(sim_socket_swing(t->frame, t) - socket->high, zero);
    const Num most = socket->stop_k_e * t->past;
    t->damping = sim_stop_hold(socket->stop_k_d * num_dot(t->turn, t->m), most);
    t->push = most + t->damping.value;
    t->speed = num_sqrt(num_dot(t->turn, t->turn));
    t->rub = socket->k_f *
             (socket->friction / num_max(num_max(socket->k_f * t->speed, socket->friction), num_all(NUM(1e-30))));
    for (int i = 0; i < 3; i++)
        t->torque[i] = -(socket->k_e * t->bend * t->s[i] + (socket->k_d + t->rub) * t->turn[i] + t->push * t->m[i]);
}

SIM_ELEMENT void sim_socket_force(const SimSocket *socket, const Num x[6][3], const Num v[6][3], Num f[6][3]) {
    SimSocketState t;
    sim_socket_state(socket, x, v, &t);
    sim_socket_couple(&t.frame[1], t.torque, f + 3);
    for (int i = 0; i < 3; i++) t.torque[i] = -t.torque[i];
    sim_socket_couple(&t.frame[0], t.torque, f);
}

// ---- adjoint

// Adds what changes with the frame in g.(L y), y held, to its dLoss/d(u, v, n), the last one times |n|.
SIM_ELEMENT void sim_socket_turn_back(const SimSocketFrame *t, const Num arms[2][3], const Num g[3], Num out[3][3]) {
    Num turn[3];
    sim_socket_turn(t, arms, turn);
    const Num a = t->part[0] * num_dot(t->unit[0], g), b = t->part[1] * num_dot(t->unit[1], g),
              c = t->over[2] * num_dot(t->unit[2], g), off = NUM(2) * num_dot(turn, g);
    const Num of_u = t->over[2] * num_dot(arms[1], t->unit[2]), of_v = t->over[2] * num_dot(arms[0], t->unit[2]),
              of_n = t->part[1] * num_dot(arms[0], t->unit[1]);
    for (int i = 0; i < 3; i++) {
        out[0][i] = out[0][i] + of_u * g[i];
        out[1][i] = out[1][i] - of_v * g[i] + c * arms[0][i];
        out[2][i] = out[2][i] + of_n * g[i] + a * arms[1][i] - b * arms[0][i] - off * t->unit[2][i];
    }
}

// Adds dLoss/d(unit vector) of length over 1 to that of the vector.
SIM_ELEMENT void sim_socket_unit_back(const Num unit[3], Num over, const Num g[3], Num out[3]) {
    const Num along = num_dot(unit, g);
    for (int i = 0; i < 3; i++) out[i] = out[i] + over * (g[i] - along * unit[i]);
}

// Of a frame's three particles, from its dLoss/d(u, v, n), the last one times |n|.
SIM_ELEMENT void sim_socket_frame_back(const SimSocketFrame *t, const Num g[3][3], Num gx[3][3]) {
    Num gu[3], gv[3];
    num_cross(t->unit[1], g[2], gu);
    num_cross(g[2], t->unit[0], gv);
    for (int i = 0; i < 3; i++) {
        gx[1][i] = g[0][i] + t->part[1] * gu[i];
        gx[2][i] = g[1][i] + t->part[0] * gv[i];
        gx[0][i] = -(gx[1][i] + gx[2][i]);
    }
}

// dLoss/d: sums of cross and dot products of unit vectors, those of the axes alone besides, and `turn`.
typedef struct SimSocketBack {
    Num s[3], cosine, cross[3], along, turn[3];
    Num arms[2][2][3]; // of dLoss/df
} SimSocketBack;

// q = dLoss/dtorque
SIM_ELEMENT void sim_socket_swing_back(const SimSocket *socket, const SimSocketState *t, const Num q[3],
                                       SimSocketBack *back, SimSocket *gradient) {
    const Num zero = num_all(NUM(0)), s = -num_dot(q, t->m), rate = num_dot(t->turn, t->m);
    const Num beyond = num_if_less(zero, t->past, num_all(NUM(1)) + t->damping.side, zero);
    const Num of_swing = s * socket->stop_k_e * beyond, of_rate = s * socket->stop_k_d * t->damping.free;
    Num g[3];
    gradient->high = gradient->high - of_swing;
    gradient->stop_k_e = gradient->stop_k_e + s * t->past * beyond;
    gradient->stop_k_d = gradient->stop_k_d + s * rate * t->damping.free;
    for (int i = 0; i < 3; i++) {
        back->turn[i] = back->turn[i] + of_rate * t->m[i];
        back->cross[i] = of_swing * t->along * t->m[i];
        g[i] = of_rate * t->turn[i] - t->push * q[i];
    }
    sim_socket_unit_back(t->m, NUM(1) / t->across, g, back->cross);
    back->along = -of_swing * t->across;
}

SIM_ELEMENT void sim_socket_angle_back(const SimSocket *socket, const SimSocketState *t, const Num q[3],
                                       SimSocketBack *back, SimSocket *gradient) {
    const Num along = num_dot(q, t->s), whole = t->sine * t->sine + t->cosine * t->cosine;
    const Num slope = (t->cosine / whole - t->bend) / (t->sine * t->sine); // dbend/dsine over the sine
    gradient->k_e = gradient->k_e - t->bend * along;
    for (int i = 0; i < 3; i++) back->s[i] = -socket->k_e * (t->bend * q[i] + along * slope * t->s[i]) / 2;
    back->cosine = socket->k_e * along / whole / 2;
}

// Of damping and friction.
SIM_ELEMENT void sim_socket_rub_back(const SimSocket *socket, const SimSocketState *t, const Num q[3],
                                     SimSocketBack *back, SimSocket *gradient) {
    const Num zero = num_all(NUM(0)), one = num_all(NUM(1)), along = num_dot(q, t->turn);
    const Num slips = num_if_less(socket->friction, socket->k_f * t->speed, one, zero),
              holds = num_if_less(zero, socket->friction, one - slips, zero),
              over = NUM(1) / num_max(t->speed, num_all(NUM(1e-15)));
    gradient->k_d = gradient->k_d - along;
    gradient->friction = gradient->friction - slips * along * over;
    gradient->k_f = gradient->k_f - holds * along;
    for (int i = 0; i < 3; i++)
        back->turn[i] = slips * t->rub * along * over * over * t->turn[i] - (socket->k_d + t->rub) * q[i];
}

// w = dLoss/df; writes `back`, adds to dLoss/d(parameters).
SIM_ELEMENT void sim_socket_parameters_back(const SimSocket *socket, const SimSocketState *t, const Num w[6][3],
                                            SimSocketBack *back, SimSocket *gradient) {
    Num q[3], first[3];
    for (int k = 0; k < 2; k++) sim_socket_arms(w + 3 * k, back->arms[k]);
    sim_socket_turn(&t->frame[0], back->arms[0], first);
    sim_socket_turn(&t->frame[1], back->arms[1], q);
    num_sub(q, first, q); // the loss is torque.q
    sim_socket_rub_back(socket, t, q, back, gradient);
    sim_socket_swing_back(socket, t, q, back, gradient);
    sim_socket_angle_back(socket, t, q, back, gradient);
}

// Then writes dLoss/dx and dLoss/dv of the particles of the first frame (k = 0) or of the second (1).
SIM_ELEMENT void sim_socket_particles_back(const SimSocketState *t, const SimSocketBack *back, int k, Num gx[3][3],
                                           Num gv[3][3]) {
    const Num zero = num_all(NUM(0)), side = num_all(NUM(2 * k - 1));
    const SimSocketFrame *own = &t->frame[k], *other = &t->frame[1 - k];
    Num of_way[3][3], of_torque[3], of_turn[3];
    for (int j = 0; j < 3; j++) { // g.(a x b) has the slopes b x g of a and g x a of b
        Num g[3], cross[3];
        const Num dot = j == 0 ? back->cosine + back->along : back->cosine;
        for (int i = 0; i < 3; i++) {
            cross[i] = side * (j == 0 ? back->s[i] + back->cross[i] : back->s[i]);
            g[i] = dot * other->unit[j][i];
            of_way[j][i] = zero;
        }
        num_add_cross(cross, other->unit[j], g);
        sim_socket_unit_back(own->unit[j], j == 2 ? num_all(NUM(1)) : own->over[j], g, of_way[j]);
    }
    for (int i = 0; i < 3; i++) of_torque[i] = side * t->torque[i], of_turn[i] = side * back->turn[i];
    sim_socket_turn_back(own, back->arms[k], of_torque, of_way);
    sim_socket_turn_back(own, t->arms[k], of_turn, of_way);
    sim_socket_frame_back(own, of_way, gx);
    sim_socket_couple(own, of_turn, gv);
}

#endif
