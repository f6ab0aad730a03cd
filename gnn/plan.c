// SPDX-License-Identifier: Apache-2.0
#include "gnn/plan.h"

#include "base/check.h"
#include "gnn/backend.h"
#include "nn/backend.h"
#include "nn/choose.h"
#include "nn/knn.h"
#include "nn/row_ops.h"

#include <string.h>

typedef struct Planning {
    Tape *tape;
    Device *device;
    const GnnConfig *c;
    const GnnPlanInput *in;
    GnnPlan *plan;
    const GnnSet *present;
} Planning;

static size_t min_size(size_t a, size_t b) { return a < b ? a : b; }

// ---- abstract nodes

// Particles whose key is at most `limit`.
static size_t collect(size_t count, const uint64_t *keys, uint64_t limit, Keyed *out) {
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        if (keys[i] <= limit) out[found++] = (Keyed){keys[i], (int32_t)i};
    return found;
}

// The `want` particles with the smallest keys, in order. Keys are uniform, so that nearly all others are rejected
// without sorting.
static void choose_smallest(size_t count, const uint64_t *keys, size_t want, Keyed *out) {
    double share = ((double)want + 6 * sqrt((double)want) + 16) / (double)(count ? count : 1);
    size_t found = share < 1 ? collect(count, keys, (uint64_t)(share * 0x1p64), out) : 0;
    if (found < want) found = collect(count, keys, UINT64_MAX, out);
    choose_sort(out, found);
}

// The nodes, particles chosen at random, in host memory; *count of them.
static const int32_t *random_nodes(Planning *p, size_t *count) {
    const GnnPlanInput *in = p->in;
    RandomKey key = {in->seed, RANDOM_NODES, in->step * 64 + in->rollout_step, in->episode};
    size_t N = p->plan->particles;
    uint64_t *keys = tape_context(p->tape, (N + 1) * sizeof *keys);
    Keyed *items = tape_context(p->tape, (N + 1) * sizeof *items);
    int32_t *node = tape_context(p->tape, (N + 1) * sizeof *node);
    if (p->device->failed) return NULL;
    *count = min_size(p->c->M, N);
    for (size_t i = 0; i < N; i++) keys[i] = choose_key(key, i);
    choose_smallest(N, keys, *count, items);
    for (size_t i = 0; i < *count; i++) node[i] = items[i].index;
    return node;
}

// Uploads the nodes and, behind them, the numbers 0, 1, .. of themselves.
static void choose_nodes(Planning *p) {
    size_t count = p->in->node_count;
    const int32_t *chosen = p->in->nodes ? p->in->nodes : random_nodes(p, &count);
    int32_t *host = chosen ? tape_context(p->tape, (2 * count + 1) * sizeof *host) : NULL,
            *node = host ? tape_memory(p->tape, 2 * count, sizeof *node) : NULL;
    if (!node) return;
    for (size_t i = 0; i < count; i++) {
        host[i] = chosen[i];
        host[count + i] = (int32_t)i;
    }
    p->device->nn->upload(p->device, node, host, 2 * count * sizeof *node);
    p->plan->node = node;
    p->plan->nodes = count;
}

// ---- edges

// Device memory that is released when the plan is made.
static void *temporary(Planning *p, size_t count, size_t size) {
    size_t bytes;
    if (!size_mul(count + 1, size, &bytes)) bytes = SIZE_MAX;
    return device_scratch_bytes(p->device, bytes);
}

// Positions that are searched, on the device.
typedef struct Points {
    size_t count;
    const real *x; // (count, 3)
} Points;

static Points points_of(const GnnSet *set) { return (Points){set->x->rows, set->x->value}; }

static Points node_points(Planning *p) {
    const GnnPlan *plan = p->plan;
    real *x = temporary(p, plan->nodes * 3, sizeof *x);
    RowGatherArgs args = {plan->nodes, 3, 3, 0, p->present->x->value, plan->node, 1, x};
    if (!p->device->failed) p->device->nn->row_gather(p->device, &args);
    return (Points){plan->nodes, x};
}

static void index_points(Planning *p, Points points, KnnIndex *index) {
    KnnArgs args = {.points = points.count, .point = points.x};
    if (!p->device->failed && points.count) knn_index(p->device, &p->device->scratch, &args, index);
}

// Edges from every query to its k nearest of `points` indexed ones; lists live as long as the tape's tensors. `self`:
// each query's own row among them, which is left out; NULL: none is.
static GnnEdges nearest_edges(Planning *p, const KnnIndex *index, size_t points, Points queries, const int32_t *self,
                              size_t k) {
    k = min_size(k, self && points ? points - 1 : points);
    int32_t *found = tape_memory(p->tape, queries.count * k, sizeof *found);
    KnnArgs args = {.queries = queries.count, .query = queries.x, .self = self, .k = (int)k, .index = found};
    if (!p->device->failed && queries.count && k) knn_search(p->device, index, &args);
    return (GnnEdges){.groups = queries.count, .k = k, .others = points, .index = found};
}

// 0, 1, .. count - 1 on the device.
static const int32_t *own_numbers(Planning *p, size_t count) {
    int32_t *host = tape_context(p->tape, (count + 1) * sizeof *host), *list = temporary(p, count, sizeof *list);
    if (!host || !list) return NULL;
    for (size_t i = 0; i < count; i++) host[i] = (int32_t)i;
    p->device->nn->upload(p->device, list, host, count * sizeof *list);
    return list;
}

// The marks of every set; with nodes log(1 + n) of its edges, and n for the mean.
static void write_rows(Planning *p) {
    GnnPlan *plan = p->plan;
    bool counted = p->c->graph == GRAPH_HIERARCHICAL;
    size_t T = p->c->T, M = counted ? plan->nodes : 0;
    PlanRowsArgs args = {.sets = T, .nodes = M};
    for (size_t t = 0; t < T; t++) {
        args.particles[t] = p->in->sets.set[t].x->rows;
        plan->mark[t] = args.mark[t] = tape_memory(p->tape, args.particles[t] * T, sizeof *args.mark[t]);
        args.edges[t] = plan->to_node[t];
        if (counted) plan->to_node[t].count = args.count[t] = tape_memory(p->tape, M, sizeof *args.count[t]);
    }
    if (counted) plan->log_count = args.log_count = tape_memory(p->tape, M * T, sizeof *args.log_count);
    if (!p->device->failed) p->device->gnn->plan_rows(p->device, &args);
}

// ---- plans

static void plan_hierarchical(Planning *p) {
    GnnPlan *plan = p->plan;
    const GnnConfig *c = p->c;
    KnnIndex index = {0};
    choose_nodes(p);
    if (p->device->failed) return;
    Points nodes = node_points(p);
    index_points(p, nodes, &index);
    for (size_t t = 0; t < p->in->sets.count; t++)
        plan->to_node[t] =
            nearest_edges(p, &index, nodes.count, points_of(&p->in->sets.set[t]), NULL, c->k_particle_to_node);
    plan->node_node = nearest_edges(p, &index, nodes.count, nodes, plan->node + nodes.count, c->k_node_to_node);
    plan->to_particle = nearest_edges(p, &index, nodes.count, points_of(p->present), NULL, c->k_node_to_particle);
    GnnEdges *all[GNN_MAX_SETS + 2] = {&plan->node_node, &plan->to_particle};
    for (size_t t = 0; t < p->in->sets.count; t++) all[2 + t] = &plan->to_node[t];
    edges_order(p->tape, 2 + p->in->sets.count, all);
}

static void plan_flat(Planning *p) {
    GnnPlan *plan = p->plan;
    KnnIndex index = {0}, before = {0};
    Points now = points_of(p->present);
    plan->nodes = now.count;
    index_points(p, now, &index);
    plan->node_node = nearest_edges(p, &index, now.count, now, own_numbers(p, now.count), p->c->k_node_to_node);
    bool has_past = p->in->sets.count > 1;
    if (has_past) {
        Points past = points_of(p->present - 1);
        index_points(p, past, &before);
        plan->past = nearest_edges(p, &before, past.count, now, NULL, p->c->k_particle_to_node);
    }
    edges_order(p->tape, 1 + has_past, (GnnEdges *[]){&plan->node_node, &plan->past});
}

void gnn_plan_make(Tape *tape, const GnnConfig *config, const GnnPlanInput *input, GnnPlan *plan) {
    Planning p = {.tape = tape, .device = tape->device, .c = config, .in = input, .plan = plan};
    ArenaMark mark = arena_mark(&tape->device->scratch), host = arena_mark(&tape->host);
    *plan = (GnnPlan){0};
    if (tape->device->failed) return;
    CHECK_EQ(input->sets.count, config->T);
    p.present = &input->sets.set[input->sets.count - 1];
    plan->particles = p.present->x->rows;
    if (config->graph == GRAPH_HIERARCHICAL) plan_hierarchical(&p);
    if (config->graph == GRAPH_FLAT) plan_flat(&p);
    write_rows(&p);
    arena_release(&tape->device->scratch, mark);
    arena_release(&tape->host, host);
}
