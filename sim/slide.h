// SPDX-License-Identifier: Apache-2.0
// A slide, and its adjoint: how far particle 0 is from particle 1 along the way from particle 2 to particle 3. With
// e = |x3-x2|, h = (x3-x2)/e and r = x0-x1:
//   way = r.h;  d_i = dway/dx_i: d0 = h, d1 = -h, d3 = (r - way h)/e, d2 = -d3;
//   f_i = (force - k_e (way - position) - k_d sum_j d_j.v_j + that of the stop) d_i.
// `way` does not change where all four turn or move together, so the forces keep momentum and angular momentum. Along
// the axis of a slider it is the coordinate of that joint; across, it holds the joint.
#ifndef VPD_SIM_SLIDE_H
#define VPD_SIM_SLIDE_H

#include "sim/stop.h"

typedef struct SimSlide {
    Num k_e, k_d, position;
    SimStop stop;
    Num force;
} SimSlide;

typedef struct SimSlideState {
    Num d[4][3], r[3], h[3], e, way, rate; // rate: sum_j d_j.v_j
} SimSlideState;

SIM_ELEMENT void sim_slide_frame(const Num x[4][3], SimSlideState *t) {
    num_sub(x[0], x[1], t->r);
    num_sub(x[3], x[2], t->h);
    t->e = num_max(num_sqrt(num_dot(t->h, t->h)), num_all(NUM(1e-30)));
    for (int i = 0; i < 3; i++) t->h[i] = t->h[i] / t->e;
    t->way = num_dot(t->r, t->h);
    for (int i = 0; i < 3; i++) {
        t->d[0][i] = t->h[i];
        t->d[1][i] = -t->h[i];
        t->d[3][i] = (t->r[i] - t->way * t->h[i]) / t->e;
        t->d[2][i] = -t->d[3][i];
    }
}

SIM_ELEMENT SimSlideState sim_slide_state(const Num x[4][3], const Num v[4][3]) {
    SimSlideState t;
    sim_slide_frame(x, &t);
    t.rate = num_dot(t.d[0], v[0]) + num_dot(t.d[1], v[1]) + num_dot(t.d[2], v[2]) + num_dot(t.d[3], v[3]);
    return t;
}

SIM_ELEMENT SimStopState sim_slide_stop(const SimSlide *slide, const SimSlideState *t) {
    return sim_stop_state(&slide->stop, t->way - sim_stop_middle(&slide->stop), t->rate);
}

SIM_ELEMENT void sim_slide_force(const SimSlide *slide, const Num x[4][3], const Num v[4][3], Num f[4][3]) {
    const SimSlideState t = sim_slide_state(x, v);
    const Num c =
        slide->force - slide->k_e * (t.way - slide->position) - slide->k_d * t.rate + sim_slide_stop(slide, &t).force;
    for (int j = 0; j < 4; j++)
        for (int i = 0; i < 3; i++) f[j][i] = c * t.d[j][i];
}

// Adds to gx the gradient of sum_i d_i(x).y_i with y held: of h.a + (r.b - (r.h)(h.b))/e, a = y0-y1 and b = y3-y2.
SIM_ELEMENT void sim_slide_second(const SimSlideState *t, const Num y[4][3], Num gx[4][3]) {
    Num a[3], b[3], gh[3];
    num_sub(y[0], y[1], a);
    num_sub(y[3], y[2], b);
    const Num along = num_dot(t->h, b), across = num_dot(t->r, b) - t->way * along;
    for (int i = 0; i < 3; i++) {
        const Num g = (b[i] - along * t->h[i]) / t->e;
        gx[0][i] = gx[0][i] + g;
        gx[1][i] = gx[1][i] - g;
        gh[i] = a[i] - (along * t->r[i] + t->way * b[i]) / t->e;
    }
    const Num ge = -across / t->e / t->e, turn = num_dot(t->h, gh);
    for (int i = 0; i < 3; i++) { // e = |x3-x2|, h = (x3-x2)/e
        const Num g = ge * t->h[i] + (gh[i] - turn * t->h[i]) / t->e;
        gx[3][i] = gx[3][i] + g;
        gx[2][i] = gx[2][i] - g;
    }
}

// w = dLoss/df; writes dLoss/dx, dLoss/dv, adds to dLoss/d(parameters).
SIM_ELEMENT void sim_slide_adjoint(const SimSlide *slide, const Num x[4][3], const Num v[4][3], const Num w[4][3],
                                   Num gx[4][3], Num gv[4][3], SimSlide *gradient) {
    const SimSlideState t = sim_slide_state(x, v);
    const SimStopState stop = sim_slide_stop(slide, &t);
    const Num s = num_dot(w[0], t.d[0]) + num_dot(w[1], t.d[1]) + num_dot(w[2], t.d[2]) + num_dot(w[3], t.d[3]);
    const Num off = t.way - slide->position;
    const Num c = slide->force - slide->k_e * off - slide->k_d * t.rate + stop.force;
    Num of_way = -s * slide->k_e, of_rate = -s * slide->k_d, y[4][3];
    gradient->k_e = gradient->k_e - s * off;
    gradient->k_d = gradient->k_d - s * t.rate;
    gradient->position = gradient->position + s * slide->k_e;
    gradient->force = gradient->force + s;
    sim_stop_adjoint(&slide->stop, &stop, t.rate, s, &of_way, &of_rate, &gradient->stop);
    for (int j = 0; j < 4; j++)
        for (int i = 0; i < 3; i++) {
            y[j][i] = of_rate * v[j][i] + c * w[j][i];
            gv[j][i] = of_rate * t.d[j][i];
            gx[j][i] = of_way * t.d[j][i];
        }
    sim_slide_second(&t, y, gx);
}

#endif
