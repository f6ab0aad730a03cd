// SPDX-License-Identifier: Apache-2.0
// A step of a rigid body, and its adjoint, from sums over its particles. Compiles as C and as CUDA. All in double,
// because centre and turn of a body are small changes of large numbers.
//
// With masses m, second-moment masses n (a share of m), M = sum m:
//     c = sum m x / M,  V = sum m v / M,  r = x - c,  S = sum n r r',  L = sum n r x (v - V),
//     F = sum f,  T = sum r x f,  I = tr(S) 1 - S,
//     V' = V + dt (F / M + g),  c' = c + dt V',  L' = L + dt T,
//     w(Q) = Q I^-1 Q' L', the angular velocity once the body has turned by Q,
//     R = exp(dt w(exp(dt/2 I^-1 L))),  x' = c' + R r,  v' = V' + w(R) x R r.
// So angular momentum is kept exactly where nothing turns the body, and the turn is right to second order.
#ifndef VPD_SIM_RIGID_H
#define VPD_SIM_RIGID_H

#include "nn/element.h"

#include <math.h>

// ---- three numbers, and matrices of three rows

ELEMENT double rigid_dot(const double *a, const double *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
// out += s (a x b)
ELEMENT void rigid_add_cross(double s, const double *a, const double *b, double *out) {
    out[0] += s * (a[1] * b[2] - a[2] * b[1]);
    out[1] += s * (a[2] * b[0] - a[0] * b[2]);
    out[2] += s * (a[0] * b[1] - a[1] * b[0]);
}
ELEMENT void rigid_add(double s, const double *a, double *out) {
    for (int i = 0; i < 3; i++) out[i] += s * a[i];
}
ELEMENT void rigid_times(const double *A, const double *x, double *out) {
    for (int i = 0; i < 3; i++) out[i] = rigid_dot(A + 3 * i, x);
}
ELEMENT void rigid_times_transposed(const double *A, const double *x, double *out) {
    for (int i = 0; i < 3; i++) out[i] = A[i] * x[0] + A[3 + i] * x[1] + A[6 + i] * x[2];
}
// A += s a b'
ELEMENT void rigid_add_outer(double s, const double *a, const double *b, double *A) {
    for (int i = 0; i < 9; i++) A[i] += s * a[i / 3] * b[i % 3];
}

// ---- a turn by the vector t: its axis times the angle

// sin(a)/a, (1 - cos a)/a^2, (a - sin a)/a^3 of the squared angle.
ELEMENT void rigid_angle_terms(double square, double out[3]) {
    if (square < 1e-6) {
        out[0] = 1 - square / 6 * (1 - square / 20);
        out[1] = 0.5 - square / 24 * (1 - square / 30);
        out[2] = 1.0 / 6 - square / 120 * (1 - square / 42);
        return;
    }
    const double angle = sqrt(square), half = sin(angle / 2);
    out[0] = sin(angle) / angle;
    out[1] = 2 * half * half / square;
    out[2] = (1 - out[0]) / square;
}

// x + s1 t x x + s2 t x (t x x)
ELEMENT void rigid_series(const double *t, double s1, double s2, const double *x, double *out) {
    double once[3] = {0}, twice[3] = {0};
    rigid_add_cross(1, t, x, once);
    rigid_add_cross(1, t, once, twice);
    for (int i = 0; i < 3; i++) out[i] = x[i] + s1 * once[i] + s2 * twice[i];
}

ELEMENT void rigid_turn(const double *t, double R[9]) {
    double terms[3], column[3];
    rigid_angle_terms(rigid_dot(t, t), terms);
    for (int j = 0; j < 3; j++) {
        double axis[3] = {0};
        axis[j] = 1;
        rigid_series(t, terms[0], terms[1], axis, column);
        for (int i = 0; i < 3; i++) R[3 * i + j] = column[i];
    }
}

// gt += the gradient of t from that of R = rigid_turn(t).
ELEMENT void rigid_turn_back(const double *t, const double *R, const double *gR, double *gt) {
    double A[9], axial[3], terms[3], out[3];
    for (int i = 0; i < 9; i++) A[i] = rigid_dot(gR + i / 3 * 3, R + i % 3 * 3); // gR R'
    axial[0] = A[7] - A[5];
    axial[1] = A[2] - A[6];
    axial[2] = A[3] - A[1];
    rigid_angle_terms(rigid_dot(t, t), terms);
    rigid_series(t, -terms[1], terms[2], axial, out); // the transposed left Jacobian of the turn
    rigid_add(1, out, gt);
}

// ---- what the particles add up to

typedef struct SimRigidSums {
    double mass, centre[3], velocity[3]; // first M, sum m x, sum m v; then M, c, V
    double second[9], spin[3];           // S, L
    double force[3], torque[3], gravity[3];
} SimRigidSums;

ELEMENT void sim_rigid_add_place(double m, const double *x, const double *v, SimRigidSums *sums) {
    sums->mass += m;
    rigid_add(m, x, sums->centre);
    rigid_add(m, v, sums->velocity);
}
ELEMENT void sim_rigid_middle(SimRigidSums *sums) {
    for (int i = 0; i < 3; i++) sums->centre[i] /= sums->mass, sums->velocity[i] /= sums->mass;
}
// x and v less those of the centre.
ELEMENT void sim_rigid_arms(const SimRigidSums *sums, const double *x, const double *v, double *r, double *u) {
    for (int i = 0; i < 3; i++) r[i] = x[i] - sums->centre[i], u[i] = v[i] - sums->velocity[i];
}
ELEMENT void sim_rigid_add_turn(double n, const double *r, const double *u, const double *f, SimRigidSums *sums) {
    rigid_add_outer(n, r, r, sums->second);
    rigid_add_cross(n, r, u, sums->spin);
    rigid_add(1, f, sums->force);
    rigid_add_cross(1, r, f, sums->torque);
}

// ---- the body

// K = I^-1
ELEMENT void rigid_inverse_inertia(const double *S, double K[9]) {
    const double trace = S[0] + S[4] + S[8];
    double I[9], determinant;
    for (int i = 0; i < 9; i++) I[i] = (i % 4 == 0 ? trace : 0) - S[i];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            const int a = (i + 1) % 3, b = (i + 2) % 3, c = (j + 1) % 3, d = (j + 2) % 3;
            K[3 * j + i] = I[3 * a + c] * I[3 * b + d] - I[3 * a + d] * I[3 * b + c];
        }
    determinant = I[0] * K[0] + I[1] * K[3] + I[2] * K[6];
    for (int i = 0; i < 9; i++) K[i] /= determinant;
}

// w = Q K Q' L
ELEMENT void rigid_rate(const double *K, const double *Q, const double *L, double *w) {
    double a[3], b[3];
    rigid_times_transposed(Q, L, a);
    rigid_times(K, a, b);
    rigid_times(Q, b, w);
}
// Adds what gw brings to the gradients of K, Q and L.
ELEMENT void rigid_rate_back(const double *K, const double *Q, const double *L, const double *gw, double *gK,
                             double *gQ, double *gL) {
    double a[3], b[3], gb[3], ga[3], more[3];
    rigid_times_transposed(Q, L, a);
    rigid_times(K, a, b);
    rigid_times_transposed(Q, gw, gb);
    rigid_times_transposed(K, gb, ga);
    rigid_times(Q, ga, more);
    rigid_add_outer(1, gw, b, gQ);
    rigid_add_outer(1, gb, a, gK);
    rigid_add_outer(1, L, ga, gQ);
    rigid_add(1, more, gL);
}

typedef struct SimRigidMotion {
    double centre[3], velocity[3], turn[9], rate[3]; // c', V', R, w(R)
    double angle;                                    // |dt w| of the turn
    // for the adjoint
    double inverse[9], spin[3], start[3], half[9], middle[3]; // K, L', dt/2 K L, its turn, dt w at the middle
} SimRigidMotion;

ELEMENT void sim_rigid_move(const SimRigidSums *s, double dt, SimRigidMotion *out) {
    double w[3];
    for (int i = 0; i < 3; i++) {
        out->velocity[i] = s->velocity[i] + dt * (s->force[i] / s->mass + s->gravity[i]);
        out->centre[i] = s->centre[i] + dt * out->velocity[i];
        out->spin[i] = s->spin[i] + dt * s->torque[i];
    }
    rigid_inverse_inertia(s->second, out->inverse);
    rigid_times(out->inverse, s->spin, w);
    for (int i = 0; i < 3; i++) out->start[i] = dt / 2 * w[i];
    rigid_turn(out->start, out->half);
    rigid_rate(out->inverse, out->half, out->spin, w);
    for (int i = 0; i < 3; i++) out->middle[i] = dt * w[i];
    rigid_turn(out->middle, out->turn);
    rigid_rate(out->inverse, out->turn, out->spin, out->rate);
    out->angle = sqrt(rigid_dot(out->middle, out->middle));
}

ELEMENT void sim_rigid_place(const SimRigidMotion *m, const double *r, double *x, double *v) {
    double turned[3];
    rigid_times(m->turn, r, turned);
    for (int i = 0; i < 3; i++) {
        x[i] = m->centre[i] + turned[i];
        v[i] = m->velocity[i];
    }
    rigid_add_cross(1, m->rate, turned, v);
}

// ---- the adjoint: first sums over the particles, then the body, then each particle

typedef struct SimRigidBack {
    double centre[3], velocity[3], turn[9], rate[3];      // dLoss/d(c', V', R, w(R)); then centre, velocity: of c, V
    double mass, second[9], spin[3], force[3], torque[3]; // dLoss/d(M, S, L, F, T)
} SimRigidBack;

// dLoss/d(R r) from that of a particle's place and velocity after the step.
ELEMENT void rigid_place_back(const SimRigidMotion *m, const double *gx, const double *gv, double *gr) {
    for (int i = 0; i < 3; i++) gr[i] = gx[i];
    rigid_add_cross(1, gv, m->rate, gr);
}
ELEMENT void sim_rigid_add_back(const SimRigidMotion *m, const double *r, const double *gx, const double *gv,
                                SimRigidBack *g) {
    double turned[3], gr[3];
    rigid_times(m->turn, r, turned);
    rigid_place_back(m, gx, gv, gr);
    rigid_add(1, gx, g->centre);
    rigid_add(1, gv, g->velocity);
    rigid_add_cross(1, turned, gv, g->rate);
    rigid_add_outer(1, gr, r, g->turn);
}

// From the sums of sim_rigid_add_back; centre and velocity become what c and V get from the body.
ELEMENT void sim_rigid_move_back(const SimRigidSums *s, double dt, const SimRigidMotion *m, SimRigidBack *g) {
    double gK[9] = {0}, gL[3] = {0}, gmiddle[3] = {0}, ghalf[9] = {0}, gstart[3] = {0}, trace;
    rigid_rate_back(m->inverse, m->turn, m->spin, g->rate, gK, g->turn, gL);
    rigid_turn_back(m->middle, m->turn, g->turn, gmiddle);
    for (int i = 0; i < 3; i++) gmiddle[i] *= dt;
    rigid_rate_back(m->inverse, m->half, m->spin, gmiddle, gK, ghalf, gL);
    rigid_turn_back(m->start, m->half, ghalf, gstart);
    for (int i = 0; i < 3; i++) gstart[i] *= dt / 2;
    rigid_times_transposed(m->inverse, gstart, g->spin);
    rigid_add_outer(1, gstart, s->spin, gK);
    for (int i = 0; i < 3; i++) {
        g->torque[i] = dt * gL[i];
        g->spin[i] += gL[i];
        g->velocity[i] += dt * g->centre[i];
        g->force[i] = dt / s->mass * g->velocity[i];
    }
    g->mass = -rigid_dot(g->force, s->force) / s->mass;
    // I^-1 = K: gI = -K' gK K'; S = tr-form of I: gS = tr(gI) 1 - gI
    double part[9], gI[9];
    for (int i = 0; i < 9; i++) // gK K'
        part[i] = rigid_dot(gK + i / 3 * 3, m->inverse + i % 3 * 3);
    for (int i = 0; i < 9; i++) // -K' (gK K')
        gI[i] = -(m->inverse[i / 3] * part[i % 3] + m->inverse[3 + i / 3] * part[3 + i % 3] +
                  m->inverse[6 + i / 3] * part[6 + i % 3]);
    trace = gI[0] + gI[4] + gI[8];
    for (int i = 0; i < 9; i++) g->second[i] = (i % 4 == 0 ? trace : 0) - gI[i];
}

// A particle's adjoint before the step, less what comes through c and V.
typedef struct SimRigidPart {
    double r[3], u[3], f[3], n; // dLoss/d(its arm, v - V, force, second-moment mass)
} SimRigidPart;
ELEMENT void sim_rigid_part(const SimRigidMotion *m, const SimRigidBack *g, double n, const double *r, const double *u,
                            const double *f, const double *gx, const double *gv, SimRigidPart *out) {
    double gr[3], Sr[3], across[3];
    rigid_place_back(m, gx, gv, gr);
    rigid_times_transposed(m->turn, gr, out->r);
    rigid_times(g->second, r, Sr);
    rigid_times_transposed(g->second, r, across);
    rigid_add(1, across, Sr); // of r S r'
    rigid_add(n, Sr, out->r);
    rigid_add_cross(n, u, g->spin, out->r);
    rigid_add_cross(1, f, g->torque, out->r);
    for (int i = 0; i < 3; i++) out->u[i] = 0, out->f[i] = g->force[i];
    rigid_add_cross(n, g->spin, r, out->u);
    rigid_add_cross(1, g->torque, r, out->f);
    for (int i = 0; i < 3; i++) across[i] = 0;
    rigid_add_cross(1, r, u, across);
    out->n = rigid_dot(r, Sr) / 2 + rigid_dot(g->spin, across);
}
#endif
