// SPDX-License-Identifier: Apache-2.0
// The step of the vertices from their forces, with contact, and its adjoint.
#include "sim/cpu/functions.h"
#include "sim/cpu/lanes.h"
#include "sim/rigid_particle.h"

#include <math.h>

// True when a lane of a is above 0.
LANES_INLINE bool any_above_zero(Num a) {
    NumMask mask = a > num_all(0);
    uint64_t bits[sizeof mask / 8], any = 0;
    memcpy(bits, &mask, sizeof mask);
    for (size_t i = 0; i < sizeof mask / 8; i++) any |= bits[i];
    return any != 0;
}

LANES_INLINE void read_plane(const double plane[4], Num n[3], Num *offset) {
    for (int i = 0; i < 3; i++) n[i] = num_all((real)plane[i]);
    *offset = num_all((real)plane[3]);
}

static void add_contacts(const SimPacked *p, size_t block, const Num x[3], const Num v[3], Num f[3]) {
    const SimContact *contact = (const SimContact *)p->contact + block * p->planes;
    for (size_t k = 0; k < p->planes; k++) {
        Num n[3], offset;
        read_plane(p->plane[k], n, &offset);
        Num depth = sim_contact_depth(&contact[k], n, offset, x);
        if (any_above_zero(depth)) sim_contact_force(&contact[k], n, depth, v, f);
    }
}

// One of two for each vertex, by whether it is free or fixed.
LANES_INLINE Num if_free(const SimVertex *vertex, Num yes, Num no) {
    return num_if_less(num_all(0), vertex->inverse_mass, yes, no);
}

// Sums of the slots of a block's vertices, `record` reals each.
LANES_INLINE void sum_slots(const SimPacked *p, const real *slots, size_t block, size_t record, real *out) {
    for (size_t i = 0; i < SIM_LANES; i++) {
        const size_t vertex = block * SIM_LANES + i;
        Quad sum = {0}, rates = {0};
        for (int32_t s = p->slots_of[vertex]; s < p->slots_of[vertex + 1]; s++) {
            const real *slot = slots + record * (size_t)p->slot_list[s];
            sum += quad_load(slot);
            if (record == SIM_RECORD) rates += quad_load(slot + SIM_QUAD);
        }
        quad_store(out + record * i, sum);
        if (record == SIM_RECORD) quad_store(out + record * i + SIM_QUAD, rates);
    }
}

// ---- rigid bodies

static size_t end_of(const SimRigid *rigid) { return (size_t)rigid->vertex + (size_t)rigid->vertices; }

// What the body does in a step from this state.
static void move_body(const SimPacked *p, const SimRigid *rigid, const void *state, const void *total,
                      SimRigidBody *body) {
    const size_t first = (size_t)rigid->vertex, last = end_of(rigid);
    *body = (SimRigidBody){0};
    for (size_t i = first; i < last; i++) sim_rigid_sum_place(p, state, i, &body->sums);
    sim_rigid_middle(&body->sums);
    for (size_t i = first; i < last; i++) sim_rigid_sum_turn(p, body, state, total, i, &body->sums);
    sim_rigid_step(p, rigid, body);
    if (p->touching.bodies) p->touching.angle[rigid->body] = body->motion.angle;
}

static bool rigid_step(const SimPacked *p, const SimRigid *rigid, const SimStep *step) {
    SimRigidBody body;
    bool good = true;
    move_body(p, rigid, step->state, step->total, &body);
    for (size_t i = (size_t)rigid->vertex; i < end_of(rigid); i++) good &= sim_rigid_write(&body, step, i);
    return good;
}

// The rigid bodies in blocks first .. last-1, which cut none: from *begin to before *end.
static void rigids_between(const SimPacked *p, size_t first, size_t last, size_t *begin, size_t *end) {
    for (*begin = 0; *begin < p->rigids && (size_t)p->rigid[*begin].vertex < first * SIM_LANES;) ++*begin;
    for (*end = *begin; *end < p->rigids && (size_t)p->rigid[*end].vertex < last * SIM_LANES;) ++*end;
}

// A fixed vertex goes as it is driven. Its place follows from that at the start of the control interval, since many
// small steps would be rounded away.
LANES_INLINE void go_driven(const SimPacked *p, const SimStep *step, size_t block, Num x[3], Num v[3]) {
    const SimVertex *vertex = (const SimVertex *)p->vertex + block;
    const Num *drive = (const Num *)p->drive + SIM_DRIVE_FIELDS * block;
    for (int i = 0; i < 3; i++) {
        v[i] = if_free(vertex, v[i], drive[i]);
        x[i] = if_free(vertex, x[i], drive[3 + i] + (real)step->into * drive[i]);
    }
}

bool CPU_FN(sim_vertices)(const SimPacked *p, const SimStep *step, size_t first, size_t last) {
    const real dt = (real)p->dt;
    Num bad = num_all(0); // stays 0 while all are finite
    for (size_t b = first; b < last; b++) {
        const SimVertex *vertex = (const SimVertex *)p->vertex + b;
        const real *from = (const real *)step->state + b * SIM_LANES * SIM_RECORD;
        real *to = (real *)step->next + b * SIM_LANES * SIM_RECORD;
        _Alignas(64) real sums[SIM_LANES * SIM_QUAD];
        Num x[3], v[3], f[3];
        sum_slots(p, step->slots, b, SIM_QUAD, sums);
        lanes_read(sums, SIM_QUAD, f);
        lanes_read(from, SIM_RECORD, x);
        lanes_read(from + SIM_QUAD, SIM_RECORD, v);
        if (p->force) num_add_scaled(num_all(1), (const Num *)p->force + 3 * b, f);
        if (p->planes) add_contacts(p, b, x, v, f);
        if (step->touch) {
            Num touch[3];
            lanes_read((const real *)p->touching.sum + b * SIM_LANES * SIM_QUAD, SIM_QUAD, touch);
            num_add_scaled(num_all(1), touch, f);
        }
        if (step->total) lanes_write((real *)step->total + b * SIM_LANES * SIM_QUAD, SIM_QUAD, f);
        for (int i = 0; i < 3; i++) {
            v[i] += dt * (vertex->inverse_mass * f[i] + vertex->gravity[i]);
            x[i] += dt * v[i];
        }
        if (p->drive) go_driven(p, step, b, x, v);
        if (!sim_is_rigid(p, b * SIM_LANES)) // else rigid_step writes others, and what moves alone may overflow
            for (int i = 0; i < 3; i++) bad += x[i] - x[i] + (v[i] - v[i]);
        lanes_write(to, SIM_RECORD, x);
        lanes_write(to + SIM_QUAD, SIM_RECORD, v);
    }
    real sum = 0;
    for (int l = 0; l < SIM_LANES; l++) sum += bad[l];
    bool good = sum == 0;
    size_t begin, end;
    rigids_between(p, first, last, &begin, &end);
    for (size_t r = begin; r < end; r++) good &= rigid_step(p, &p->rigid[r], step);
    return good;
}

static void contacts_back(const SimPacked *p, const SimBack *back, size_t block, const Num w[3], Num gx[3], Num gv[3]) {
    const SimContact *contact = (const SimContact *)p->contact + block * p->planes;
    SimContact *gradient = (SimContact *)back->contact + block * p->planes;
    const real *from = (const real *)back->state + block * SIM_LANES * SIM_RECORD;
    Num x[3], v[3];
    lanes_read(from, SIM_RECORD, x);
    lanes_read(from + SIM_QUAD, SIM_RECORD, v);
    for (size_t k = 0; k < p->planes; k++) {
        Num n[3], offset;
        read_plane(p->plane[k], n, &offset);
        Num depth = sim_contact_depth(&contact[k], n, offset, x);
        Num g_depth, gn[3];
        if (!any_above_zero(depth)) continue;
        sim_contact_adjoint(&contact[k], n, depth, v, w, &g_depth, gn, gv, &gradient[k]);
        num_add_scaled(-g_depth, n, gx);
    }
}

LANES_INLINE void add_records(const real *records, Num gx[3], Num gv[3]) {
    Num more[3];
    lanes_read(records, SIM_RECORD, more);
    num_add_scaled(num_all(1), more, gx);
    lanes_read(records + SIM_QUAD, SIM_RECORD, more);
    num_add_scaled(num_all(1), more, gv);
}

// The adjoint of the record after the step, from its parts.
static void read_adjoint(const SimPacked *p, const SimBack *back, size_t b, Num gx[3], Num gv[3]) {
    const real *adjoint = (const real *)back->adjoint + b * SIM_LANES * SIM_RECORD;
    _Alignas(64) real sums[SIM_LANES * SIM_RECORD];
    lanes_read(adjoint, SIM_RECORD, gx);
    lanes_read(adjoint + SIM_QUAD, SIM_RECORD, gv);
    if (!back->last) {
        sum_slots(p, back->slots, b, SIM_RECORD, sums);
        add_records(sums, gx, gv);
    }
    if (back->touch) add_records((const real *)back->touch_sum + b * SIM_LANES * SIM_RECORD, gx, gv);
    if (back->loss) add_records((const real *)back->loss + b * SIM_LANES * SIM_RECORD, gx, gv);
}

// Adds to the gradients of a block's mass, gravity and external force.
static void vertex_gradients(const SimBack *back, size_t b, real dt, const SimVertex *vertex, const Num w[3],
                             const Num gv[3]) {
    SimVertex *gradient = (SimVertex *)back->vertex + b;
    Num f[3];
    lanes_read((const real *)back->total + b * SIM_LANES * SIM_QUAD, SIM_QUAD, f);
    gradient->inverse_mass += num_dot(w, f);
    for (int i = 0; i < 3; i++) gradient->gravity[i] += if_free(vertex, dt * gv[i], num_all(0));
    if (back->force) num_add_scaled(num_all(1), w, (Num *)back->force + 3 * b);
}

// The adjoint of a rigid body's step: `adjoint` and `w` of its vertices are ready then, less what planes do.
static double rigid_back(const SimPacked *p, const SimBack *back, const SimRigid *rigid) {
    const size_t first = (size_t)rigid->vertex, last = end_of(rigid);
    SimRigidBody body;
    double most = 0;
    move_body(p, rigid, back->state, back->total, &body);
    for (size_t i = first; i < last; i++) most = fmax(most, sim_rigid_sum_back(p, back, &body, i, &body.back));
    sim_rigid_step_back(p, back, rigid, &body);
    for (size_t i = first; i < last; i++) sim_rigid_sum_arms(p, back, &body, i, &body.back);
    for (size_t i = first; i < last; i++) sim_rigid_write_back(p, back, &body, i);
    return most;
}

double CPU_FN(sim_vertices_back)(const SimPacked *p, const SimBack *back, size_t first, size_t last) {
    const real dt = (real)p->dt;
    Num most = num_all(0);
    size_t begin, end;
    double out = 0;
    rigids_between(p, first, last, &begin, &end);
    for (size_t r = begin; r < end && back->state; r++) out = fmax(out, rigid_back(p, back, &p->rigid[r]));
    for (size_t b = first; b < last; b++) {
        const SimVertex *vertex = (const SimVertex *)p->vertex + b;
        real *adjoint = (real *)back->adjoint + b * SIM_LANES * SIM_RECORD;
        Num gx[3], gv[3], w[3];
        if (back->state && sim_is_rigid(p, b * SIM_LANES)) { // rigid_back has been there
            lanes_read(adjoint, SIM_RECORD, gx);
            lanes_read(adjoint + SIM_QUAD, SIM_RECORD, gv);
            lanes_read((const real *)back->w + b * SIM_LANES * SIM_QUAD, SIM_QUAD, w);
            if (back->force) num_add_scaled(num_all(1), w, (Num *)back->force + 3 * b);
            if (p->planes) contacts_back(p, back, b, w, gx, gv);
            lanes_write(adjoint, SIM_RECORD, gx);
            lanes_write(adjoint + SIM_QUAD, SIM_RECORD, gv);
            continue;
        }
        read_adjoint(p, back, b, gx, gv);
        for (int i = 0; i < 3; i++) most = num_max(most, num_max(num_max(gx[i], -gx[i]), num_max(gv[i], -gv[i])));
        if (back->state) {
            for (int i = 0; i < 3; i++) {
                gv[i] += dt * gx[i]; // q' = q + dt u'
                w[i] = dt * vertex->inverse_mass * gv[i];
                if (back->drive) ((Num *)back->drive)[3 * b + (size_t)i] += if_free(vertex, num_all(0), gv[i]);
            }
            lanes_write((real *)back->w + b * SIM_LANES * SIM_QUAD, SIM_QUAD, w);
            vertex_gradients(back, b, dt, vertex, w, gv);
            for (int i = 0; i < 3 && p->drive; i++) gv[i] = if_free(vertex, gv[i], num_all(0));
            if (p->planes) contacts_back(p, back, b, w, gx, gv);
        }
        lanes_write(adjoint, SIM_RECORD, gx);
        lanes_write(adjoint + SIM_QUAD, SIM_RECORD, gv);
    }
    for (int l = 0; l < SIM_LANES; l++) out = (double)most[l] > out ? (double)most[l] : out;
    return out;
}
