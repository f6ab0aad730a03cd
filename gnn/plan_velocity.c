// SPDX-License-Identifier: Apache-2.0
// Velocities of nodes and particles: at rollout step 0 from what was seen, later from the particles' own displacement.
#include "gnn/planning.h"

#include "base/check.h"
#include "gnn/backend.h"
#include "gnn/plan_ops.h"
#include "nn/backend.h"

enum { CUE_NEIGHBOURS = 128, CUE_PASSES = 3, PARTICLE_NEIGHBOURS = 24 };

static void subtract(Planning *p, size_t count, const real *a, const real *b, real *out) {
    PlanSubtractArgs args = {count, a, b, out};
    if (!p->device->failed) p->device->gnn->plan_subtract(p->device, &args);
}

// rgb in metres.
static real *colour_coordinates(Planning *p, size_t count, const real *colour, real length) {
    real *out = planning_temporary(p, count * 3, sizeof *out);
    planning_gather(p, count, 3, colour, NULL, length, out, 3, 0);
    return out;
}

// Indexed points whose mean positions are asked for.
typedef struct Cloud {
    PointSet points;
    KnnIndex index;
    size_t k;
    int32_t *found; // (queries, k)
} Cloud;

static Cloud open_cloud(Planning *p, size_t count, const real *x, const real *colour, real length, size_t k, size_t queries) {
    Cloud cloud = {.points = {count, x, colour_coordinates(p, count, colour, length)}, .k = k < count ? k : count};
    cloud.found = planning_temporary(p, queries * cloud.k, sizeof *cloud.found);
    planning_index(p, &cloud.points, 3, &cloud.index);
    return cloud;
}

// Mean position of the points nearest to each query in (position, colour).
static void mean_nearest(Planning *p, const Cloud *cloud, const PointSet *queries, real *out) {
    planning_search(p, &cloud->index, queries, 3, NULL, cloud->k, cloud->found, NULL);
    PlanMeanArgs args = {queries->count, cloud->k, cloud->found, cloud->points.x, out};
    if (!p->device->failed) p->device->gnn->plan_mean(p->device, &args);
}

// Nodes that move, or all when nothing tells.
static size_t list_movers(Planning *p, int32_t *list) {
    size_t found = 0;
    for (size_t i = 0; i < p->nodes.count; i++)
        if (!p->node_m || p->node_m[i] > 0) list[found++] = (int32_t)i;
    return found;
}

// v = mean of pixels near (x_a, c_a) now - mean of pixels near (x_a - v, c_a) before, three times from v = 0.
static void cue_from_pixels(Planning *p, real *v) {
    const GnnCloud *in = &p->in->cloud;
    int32_t *host = tape_context(p->tape, (p->nodes.count + 1) * sizeof *host);
    size_t count = host ? list_movers(p, host) : 0;
    if (!count || !in->now_count || !in->past_count) return;
    const int32_t *list = planning_upload_list(p, host, count);
    real length = (real)p->c->colour_length;
    real *colour = planning_temporary(p, p->nodes.count * 3, sizeof *colour), *colours = planning_temporary(p, count * 3, sizeof *colours);
    planning_gather(p, p->nodes.count, 3, p->present->c, p->plan->node, length, colour, 3, 0);
    planning_gather(p, count, 3, colour, list, 1, colours, 3, 0);
    PointSet here = planning_subset(p, &(PointSet){p->nodes.count, p->nodes.x, NULL}, list, count);
    here.extra = colours;
    Cloud now = open_cloud(p, in->now_count, in->now_x, in->now_c, length, CUE_NEIGHBOURS, count);
    Cloud past = open_cloud(p, in->past_count, in->past_x, in->past_c, length, CUE_NEIGHBOURS, count);
    real *mean_now = planning_temporary(p, count * 3, sizeof *mean_now), *mean_past = planning_temporary(p, count * 3, sizeof *mean_past);
    real *moved = planning_temporary(p, count * 3, sizeof *moved), *back = planning_temporary(p, count * 3, sizeof *back);
    if (p->device->failed) return;
    mean_nearest(p, &now, &here, mean_now);
    p->device->nn->zero(p->device, moved, count * 3 * sizeof *moved);
    for (int pass = 0; pass < CUE_PASSES; pass++) {
        subtract(p, count * 3, here.x, moved, back);
        mean_nearest(p, &past, &(PointSet){count, back, colours}, mean_past);
        subtract(p, count * 3, mean_now, mean_past, moved);
    }
    PlanScatterArgs args = {count, list, moved, v};
    if (!p->device->failed) p->device->gnn->plan_scatter(p->device, &args);
}

static void carry_from_particles(Planning *p, real *v) {
    const GnnSet *past = p->present - 1;
    CHECK_EQ(past->x->rows, p->plan->particles); // behind rollout step 0 both sets hold the same particles
    PlanCarryArgs args = {p->plan->to_particle, p->plan->logit, p->present->x->value, past->x->value, v};
    if (!p->device->failed) p->device->gnn->plan_carry(p->device, &args);
}

const real *planning_node_velocity(Planning *p, const GnnEdges *near, const real *near_distance2) {
    real *v = tape_memory(p->tape, p->nodes.count * 3, sizeof *v);
    if (!v) return NULL;
    p->device->nn->zero(p->device, v, p->nodes.count * 3 * sizeof *v);
    if (p->in->rollout_step == 0) cue_from_pixels(p, v);
    else carry_from_particles(p, v);
    if (!p->c->smooth) return v;
    real *smooth = tape_memory(p->tape, p->nodes.count * 3, sizeof *smooth);
    PlanSmoothArgs args = {p->nodes.count, near->k, near->index, near_distance2, (real)p->c->smooth_width, v, smooth};
    if (!p->device->failed) p->device->gnn->plan_smooth(p->device, &args);
    return smooth;
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
    Cloud now = open_cloud(p, count, present->x->value, present->c, length, PARTICLE_NEIGHBOURS, count);
    Cloud past = open_cloud(p, before->x->rows, before->x->value, before->c, length, PARTICLE_NEIGHBOURS, count);
    real *mean_now = planning_temporary(p, count * 3, sizeof *mean_now), *mean_past = planning_temporary(p, count * 3, sizeof *mean_past);
    mean_nearest(p, &now, &now.points, mean_now);
    mean_nearest(p, &past, &now.points, mean_past);
    subtract(p, count * 3, mean_now, mean_past, v);
    return v;
}
