// SPDX-License-Identifier: Apache-2.0
// Velocities of nodes and particles: at rollout step 0 from what was seen, later from the particles' own displacement.
#include "gnn/planning.h"

#include "base/check.h"
#include "gnn/backend.h"
#include "gnn/plan_ops.h"
#include "nn/backend.h"
#include "nn/row_ops.h"

enum { PARTICLE_NEIGHBOURS = 24 };

static void subtract(Planning *p, size_t count, const real *a, const real *b, real *out) {
    RowAddArgs args = {count, a, b, -1, out};
    if (!p->device->failed) p->device->nn->row_add(p->device, &args);
}

// Mean position of the points nearest to each query in (position, colour).
static void mean_nearest(Planning *p, const PointSet *points, const PointSet *queries, real *out) {
    size_t k = PARTICLE_NEIGHBOURS < points->count ? PARTICLE_NEIGHBOURS : points->count;
    int32_t *found = planning_temporary(p, queries->count * k, sizeof *found);
    KnnIndex index = {0};
    planning_index(p, points, 3, &index);
    planning_search(p, &index, queries, 3, NULL, k, found, NULL);
    RowMeanArgs args = {queries->count, k, found, points->x, out};
    if (!p->device->failed) p->device->nn->row_mean(p->device, &args);
}

// Nodes that move, or all when nothing tells.
static size_t list_movers(Planning *p, int32_t *list) {
    size_t found = 0;
    for (size_t i = 0; i < p->nodes.count; i++)
        if (!p->node_m || p->node_m[i] > 0) list[found++] = (int32_t)i;
    return found;
}

// v_a of the nodes that move, as the nearest point of the motion that was seen has it.
static void read_motion(Planning *p, real *v, real *spin) {
    int32_t *host = tape_context(p->tape, (p->nodes.count + 1) * sizeof *host);
    size_t count = host ? list_movers(p, host) : 0;
    if (!count) return;
    const int32_t *list = planning_upload_list(p, host, count);
    real *colour = planning_temporary(p, p->nodes.count * 3, sizeof *colour),
         *colours = planning_temporary(p, count * 3, sizeof *colours), *u = planning_temporary(p, count * 3, sizeof *u),
         *g = planning_temporary(p, count * 9, sizeof *g);
    planning_gather(p, p->nodes.count, 3, p->present->c, p->plan->node, 1, colour, 3, 0);
    planning_gather(p, count, 3, colour, list, 1, colours, 3, 0);
    PointSet here = planning_subset(p, &(PointSet){p->nodes.count, p->nodes.x, NULL}, list, count);
    flow_at(p->device, &p->in->motion, &(FlowPoints){count, here.x, colours}, (real)p->c->colour_length, 1, u, g);
    PlanScatterArgs args = {count, list, u, v};
    if (!p->device->failed) p->device->gnn->plan_scatter(p->device, &args);
    if (!p->device->failed) p->device->gnn->plan_spin(p->device, &(PlanSpinArgs){count, list, g, spin});
}

static void carry_from_particles(Planning *p, real *v, real *spin) {
    const GnnSet *past = p->present - 1;
    CHECK_EQ(past->x->rows, p->plan->particles); // behind rollout step 0 both sets hold the same particles
    real lever = (real)(0.005 * p->c->extent);
    PlanCarryArgs args = {
        p->plan->to_particle, p->plan->logit, p->present->x->value, past->x->value, p->nodes.x, lever * lever, v, spin};
    if (!p->device->failed) p->device->gnn->plan_carry(p->device, &args);
}

const real *planning_node_velocity(Planning *p, const real **spin) {
    size_t count = p->nodes.count * 3;
    real *v = tape_memory(p->tape, count, sizeof *v), *turn = tape_memory(p->tape, count, sizeof *turn);
    *spin = turn;
    if (p->device->failed) return NULL;
    p->device->nn->zero(p->device, v, count * sizeof *v);
    p->device->nn->zero(p->device, turn, count * sizeof *turn);
    if (p->in->rollout_step == 0) read_motion(p, v, turn);
    else carry_from_particles(p, v, turn);
    return v;
}

const real *planning_particle_velocity(Planning *p) {
    const GnnSet *present = p->present, *before = p->present - 1;
    size_t count = p->plan->particles;
    real *v = tape_memory(p->tape, count * 3, sizeof *v);
    if (!v) return NULL;
    if (p->in->rollout_step > 0) {
        CHECK_EQ(before->x->rows, count);
        subtract(p, count * 3, present->x->value, before->x->value, v);
        return v;
    }
    p->device->nn->zero(p->device, v, count * 3 * sizeof *v);
    if (!count || !before->x->rows) return v;
    real length = (real)(0.3 * p->c->extent / 2);
    real *colour_now = planning_temporary(p, count * 3, sizeof *colour_now),
         *colour_past = planning_temporary(p, before->x->rows * 3, sizeof *colour_past);
    planning_gather(p, count, 3, present->c, NULL, length, colour_now, 3, 0);
    planning_gather(p, before->x->rows, 3, before->c, NULL, length, colour_past, 3, 0);
    PointSet now = {count, present->x->value, colour_now}, past = {before->x->rows, before->x->value, colour_past};
    real *mean_now = planning_temporary(p, count * 3, sizeof *mean_now),
         *mean_past = planning_temporary(p, count * 3, sizeof *mean_past);
    mean_nearest(p, &now, &now, mean_now);
    mean_nearest(p, &past, &now, mean_past);
    subtract(p, count * 3, mean_now, mean_past, v);
    return v;
}
