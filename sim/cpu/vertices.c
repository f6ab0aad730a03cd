// SPDX-License-Identifier: Apache-2.0
// The step of the vertices from their forces, with contact, and its adjoint.
#include "sim/cpu/functions.h"
#include "sim/cpu/lanes.h"

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
            bad += x[i] - x[i] + (v[i] - v[i]);
        }
        lanes_write(to, SIM_RECORD, x);
        lanes_write(to + SIM_QUAD, SIM_RECORD, v);
    }
    real sum = 0;
    for (int l = 0; l < SIM_LANES; l++) sum += bad[l];
    return sum == 0;
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
    for (int i = 0; i < 3; i++)
        gradient->gravity[i] += num_if_less(num_all(0), vertex->inverse_mass, dt * gv[i], num_all(0));
    if (back->force) num_add_scaled(num_all(1), w, (Num *)back->force + 3 * b);
}

double CPU_FN(sim_vertices_back)(const SimPacked *p, const SimBack *back, size_t first, size_t last) {
    const real dt = (real)p->dt;
    Num most = num_all(0);
    for (size_t b = first; b < last; b++) {
        const SimVertex *vertex = (const SimVertex *)p->vertex + b;
        real *adjoint = (real *)back->adjoint + b * SIM_LANES * SIM_RECORD;
        Num gx[3], gv[3], w[3];
        read_adjoint(p, back, b, gx, gv);
        for (int i = 0; i < 3; i++) most = num_max(most, num_max(num_max(gx[i], -gx[i]), num_max(gv[i], -gv[i])));
        if (back->state) {
            for (int i = 0; i < 3; i++) {
                gv[i] += dt * gx[i]; // q' = q + dt u'
                w[i] = dt * vertex->inverse_mass * gv[i];
            }
            lanes_write((real *)back->w + b * SIM_LANES * SIM_QUAD, SIM_QUAD, w);
            vertex_gradients(back, b, dt, vertex, w, gv);
            if (p->planes) contacts_back(p, back, b, w, gx, gv);
        }
        lanes_write(adjoint, SIM_RECORD, gx);
        lanes_write(adjoint + SIM_QUAD, SIM_RECORD, gv);
    }
    double out = 0;
    for (int l = 0; l < SIM_LANES; l++) out = (double)most[l] > out ? (double)most[l] : out;
    return out;
}
