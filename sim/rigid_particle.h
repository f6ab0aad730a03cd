// SPDX-License-Identifier: Apache-2.0
// What a step of a rigid body (sim/rigid.h) reads and writes of one particle in a back end's arrays (sim/backend.h).
// Back ends go through the particles, one pass for each function, and add up what they give. Compiles as C and as CUDA.
#ifndef VPD_SIM_RIGID_PARTICLE_H
#define VPD_SIM_RIGID_PARTICLE_H

#include "sim/backend.h"
#include "sim/rigid.h"
#include "sim/vertex.h"

typedef struct SimRigidBody {
    SimRigidSums sums;
    SimRigidMotion motion;
    SimRigidBack back;
} SimRigidBody;

ELEMENT bool sim_is_rigid(const SimPacked *p, size_t vertex) { return p->rigids && p->rigid_mass[vertex][0] > 0; }

ELEMENT void rigid_read(const void *records, size_t vertex, double x[3], double v[3]) {
    const real *record = (const real *)records + SIM_RECORD * vertex;
    for (int i = 0; i < 3; i++) x[i] = (double)record[i], v[i] = (double)record[SIM_QUAD + i];
}

ELEMENT void rigid_read_force(const void *total, size_t vertex, double f[3]) {
    for (int i = 0; i < 3; i++) f[i] = (double)((const real *)total)[SIM_QUAD * vertex + (size_t)i];
}

ELEMENT void rigid_write_three(const double from[3], real *to) {
    for (int i = 0; i < 3; i++) to[i] = (real)from[i];
}

// Field f of a vertex's SimVertex.
ELEMENT real *rigid_field(const SimPacked *p, void *vertices, size_t vertex, size_t f) {
    return (real *)vertices + (vertex / p->lanes * (sizeof(SimVertex) / sizeof(Num)) + f) * p->lanes +
           vertex % p->lanes;
}

// ---- a step: two passes with sums, and one that writes

ELEMENT void sim_rigid_sum_place(const SimPacked *p, const void *state, size_t vertex, SimRigidSums *sums) {
    double x[3], v[3];
    rigid_read(state, vertex, x, v);
    sim_rigid_add_place(p->rigid_mass[vertex][0], x, v, sums);
}

// A particle's place and velocity from those of the centre.
ELEMENT void rigid_read_arms(const SimRigidBody *body, const void *state, size_t vertex, double r[3], double u[3]) {
    double x[3], v[3];
    rigid_read(state, vertex, x, v);
    sim_rigid_arms(&body->sums, x, v, r, u);
}

// Once sim_rigid_middle has made a mean of the sums; `sums` may be those of the body.
ELEMENT void sim_rigid_sum_turn(const SimPacked *p, const SimRigidBody *body, const void *state, const void *total,
                                size_t vertex, SimRigidSums *sums) {
    double r[3], u[3], f[3];
    rigid_read_arms(body, state, vertex, r, u);
    rigid_read_force(total, vertex, f);
    sim_rigid_add_turn(p->rigid_mass[vertex][1], r, u, f, sums);
}

ELEMENT void sim_rigid_step(const SimPacked *p, const SimRigid *rigid, SimRigidBody *body) {
    for (size_t c = 0; c < 3; c++)
        body->sums.gravity[c] = (double)*rigid_field(p, p->vertex, (size_t)rigid->vertex, 1 + c);
    sim_rigid_move(&body->sums, p->dt, &body->motion);
}

// Writes the record after the step; false when it is not finite.
ELEMENT bool sim_rigid_write(const SimRigidBody *body, const SimStep *step, size_t vertex) {
    real *to = (real *)step->next + SIM_RECORD * vertex, off = 0;
    double x[3], v[3], r[3], u[3];
    rigid_read_arms(body, step->state, vertex, r, u);
    sim_rigid_place(&body->motion, r, x, v);
    rigid_write_three(x, to);
    rigid_write_three(v, to + SIM_QUAD);
    for (int i = 0; i < 3; i++) off += (to[i] - to[i]) + (to[SIM_QUAD + i] - to[SIM_QUAD + i]);
    return off == 0;
}

// ---- its adjoint, after the first two passes of the step: likewise

// dLoss/d(record) after the step, from its parts.
ELEMENT void rigid_read_adjoint(const SimPacked *p, const SimBack *b, size_t vertex, double gx[3], double gv[3]) {
    const void *const others[2] = {b->touch ? b->touch_sum : NULL, b->loss};
    double x[3], v[3];
    rigid_read(b->adjoint, vertex, gx, gv);
    for (int32_t s = p->slots_of[vertex]; s < p->slots_of[vertex + 1] && !b->last; s++) {
        rigid_read(b->slots, (size_t)p->slot_list[s], x, v);
        rigid_add(1, x, gx);
        rigid_add(1, v, gv);
    }
    for (int k = 0; k < 2; k++) {
        if (!others[k]) continue;
        rigid_read(others[k], vertex, x, v);
        rigid_add(1, x, gx);
        rigid_add(1, v, gv);
    }
}

// The largest |component| of the particle's adjoint after the step.
ELEMENT double sim_rigid_sum_back(const SimPacked *p, const SimBack *b, const SimRigidBody *body, size_t vertex,
                                  SimRigidBack *sums) {
    double r[3], u[3], gx[3], gv[3], most = 0;
    rigid_read_arms(body, b->state, vertex, r, u);
    rigid_read_adjoint(p, b, vertex, gx, gv);
    sim_rigid_add_back(&body->motion, r, gx, gv, sums);
    for (int i = 0; i < 3; i++) most = fmax(most, fmax(fabs(gx[i]), fabs(gv[i])));
    return most;
}

ELEMENT void sim_rigid_step_back(const SimPacked *p, const SimBack *b, const SimRigid *rigid, SimRigidBody *body) {
    sim_rigid_move_back(&body->sums, p->dt, &body->motion, &body->back);
    for (size_t c = 0; c < 3; c++)
        *rigid_field(p, b->vertex, (size_t)rigid->vertex, 1 + c) += (real)(body->sums.mass * body->back.force[c]);
}

ELEMENT void rigid_read_part(const SimPacked *p, const SimBack *b, const SimRigidBody *body, size_t vertex, double r[3],
                             double u[3], SimRigidPart *out) {
    double f[3], gx[3], gv[3];
    rigid_read_arms(body, b->state, vertex, r, u);
    rigid_read_force(b->total, vertex, f);
    rigid_read_adjoint(p, b, vertex, gx, gv);
    sim_rigid_part(&body->motion, &body->back, p->rigid_mass[vertex][1], r, u, f, gx, gv, out);
}

// What c and V get from the arms, which are measured from them; `sums` may be the body's.
ELEMENT void sim_rigid_sum_arms(const SimPacked *p, const SimBack *b, const SimRigidBody *body, size_t vertex,
                                SimRigidBack *sums) {
    SimRigidPart part;
    double r[3], u[3];
    rigid_read_part(p, b, body, vertex, r, u, &part);
    rigid_add(-1, part.r, sums->centre);
    rigid_add(-1, part.u, sums->velocity);
}

// Writes `adjoint` and `w`, and adds to the gradient of the mass.
ELEMENT void sim_rigid_write_back(const SimPacked *p, const SimBack *b, const SimRigidBody *body, size_t vertex) {
    const double m = p->rigid_mass[vertex][0], share = p->rigid_mass[vertex][1] / m, whole = body->sums.mass;
    real *adjoint = (real *)b->adjoint + SIM_RECORD * vertex;
    SimRigidPart part;
    double r[3], u[3];
    rigid_read_part(p, b, body, vertex, r, u, &part);
    const double middle = (rigid_dot(r, body->back.centre) + rigid_dot(u, body->back.velocity)) / whole;
    *rigid_field(p, b->vertex, vertex, 0) -= (real)(m * (body->back.mass + middle + share * part.n));
    rigid_add(m / whole, body->back.centre, part.r);
    rigid_add(m / whole, body->back.velocity, part.u);
    rigid_write_three(part.r, adjoint);
    rigid_write_three(part.u, adjoint + SIM_QUAD);
    rigid_write_three(part.f, (real *)b->w + SIM_QUAD * vertex);
}
#endif
