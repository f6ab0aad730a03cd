// SPDX-License-Identifier: Apache-2.0
#include "gnn/plan.h"

#include "base/check.h"
#include "gnn/backend.h"
#include "nn/backend.h"
#include "nn/choose.h"
#include "nn/knn.h"
#include "nn/row_ops.h"

#include <string.h>

// Positions of all scenes on the device, one behind the other.
typedef struct Points {
    const real *x;        // (first[scenes], 3)
    size_t *first;        // (scenes + 1) in host memory
    const int32_t *table; // the same on the device
} Points;

typedef struct Planning {
    Tape *tape;
    Device *device;
    const GnnConfig *c;
    size_t scenes;
    const GnnPlanInput *in; // (scenes)
    GnnPlan *plan;
    Points set[GNN_MAX_SETS];  // (T)
    size_t *first_node;        // (scenes + 1) in host memory
    const int32_t *node_table; // the same on the device
    const int32_t *number;     // (nodes) 0, 1, .. on the device
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

static size_t count_of(Points points, size_t scene) { return points.first[scene + 1] - points.first[scene]; }

// The nodes of a scene, particles of it chosen at random, in host memory; *count of them.
static const int32_t *random_nodes(Planning *p, size_t scene, size_t *count) {
    const GnnPlanInput *in = &p->in[scene];
    RandomKey key = {in->seed, RANDOM_NODES, in->step * 64 + in->rollout_step, in->episode};
    size_t N = count_of(p->set[p->c->T - 1], scene);
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

static const int32_t *nodes_of(Planning *p, size_t scene, size_t *count) {
    *count = p->in[scene].node_count;
    return p->in[scene].nodes ? p->in[scene].nodes : random_nodes(p, scene, count);
}

// Uploads the nodes (`chosen` of each scene; NULL: all particles are nodes), their numbers, and where each scene
// begins.
static void upload_lists(Planning *p, const int32_t *const *chosen) {
    size_t T = p->c->T, M = p->first_node[p->scenes], listed = chosen ? M : 0, table = p->scenes + 1,
           count = listed + M + (T + 1) * table;
    int32_t *host = tape_context(p->tape, count * sizeof *host), *next = host;
    if (!host) return;
    for (size_t s = 0; chosen && s < p->scenes; s++)
        for (size_t i = 0; i < p->first_node[s + 1] - p->first_node[s]; i++)
            *next++ = (int32_t)p->set[T - 1].first[s] + chosen[s][i];
    for (size_t i = 0; i < M; i++) *next++ = (int32_t)i;
    for (size_t t = 0; t <= T; t++)
        for (size_t s = 0; s < table; s++) *next++ = (int32_t)(t < T ? p->set[t].first : p->first_node)[s];
    const int32_t *list = tape_upload(p->tape, host, count, sizeof *host);
    if (!list) return;
    p->plan->nodes = M;
    p->plan->node = chosen ? list : NULL;
    p->number = list + listed;
    for (size_t t = 0; t < T; t++) p->set[t].table = p->number + M + t * table;
    p->node_table = p->number + M + T * table;
}

static void choose_nodes(Planning *p) {
    const int32_t **chosen = tape_context(p->tape, p->scenes * sizeof *chosen);
    for (size_t s = 0, count; chosen && s < p->scenes; s++) {
        chosen[s] = nodes_of(p, s, &count);
        if (p->device->failed) return;
        p->first_node[s + 1] = p->first_node[s] + count;
    }
    if (chosen) upload_lists(p, chosen);
}

// ---- edges

// Device memory that is released when the plan is made.
static void *temporary(Planning *p, size_t count, size_t size) {
    size_t bytes;
    if (!size_mul(count + 1, size, &bytes)) bytes = SIZE_MAX;
    return device_scratch_bytes(p->device, bytes);
}

// Particles of all scenes in set t.
static Points points_of(Planning *p, size_t t) {
    Points out = {p->in->sets.set[t].x->value, tape_context(p->tape, (p->scenes + 1) * sizeof *out.first), NULL};
    for (size_t s = 0; out.first && s < p->scenes; s++) {
        const Tensor *x = p->in[s].sets.set[t].x;
        CHECK(x->value == out.x + 3 * out.first[s]);
        out.first[s + 1] = out.first[s] + x->rows;
    }
    return out;
}

static Points node_points(Planning *p) {
    const GnnPlan *plan = p->plan;
    real *x = temporary(p, plan->nodes * 3, sizeof *x);
    RowGatherArgs args = {plan->nodes, 3, 3, 0, p->set[p->c->T - 1].x, plan->node, 1, x};
    if (!p->device->failed) p->device->nn->row_gather(p->device, &args);
    return (Points){x, p->first_node, p->node_table};
}

// Points sorted for searches.
typedef struct Index {
    Points points;
    KnnIndex sorted;
} Index;

static Index index_points(Planning *p, Points points) {
    Index out = {.points = points};
    KnnArgs args = {.points = points.first[p->scenes], .point = points.x, .point_scenes = {p->scenes, points.table}};
    if (!p->device->failed) knn_index(p->device, &p->device->scratch, &args, &out.sorted);
    return out;
}

static size_t most_points(const Planning *p, Points points) {
    size_t most = 0;
    for (size_t s = 0; s < p->scenes; s++)
        if (count_of(points, s) > most) most = count_of(points, s);
    return most;
}

// Edges from every query to its k nearest indexed points of the same scene; lists live as long as the tape's tensors.
// `self`: each query's own row, which is left out; NULL: none is.
static GnnEdges nearest_edges(Planning *p, Index index, Points queries, const int32_t *self, size_t k) {
    if (p->device->failed) return (GnnEdges){0};
    size_t most = most_points(p, index.points), groups = queries.first[p->scenes];
    k = min_size(k, self && most ? most - 1 : most);
    KnnArgs args = {.queries = groups,
                    .query = queries.x,
                    .query_scenes = {p->scenes, queries.table},
                    .self = self,
                    .k = (int)k,
                    .index = tape_memory(p->tape, groups * k, sizeof *args.index)};
    knn_search(p->device, &index.sorted, &args);
    return (GnnEdges){.groups = groups, .k = k, .others = index.points.first[p->scenes], .index = args.index};
}

// The marks of every set; with nodes log(1 + n) of its edges, and n for the mean.
static void write_rows(Planning *p) {
    GnnPlan *plan = p->plan;
    bool counted = p->c->graph == GRAPH_HIERARCHICAL;
    size_t T = p->c->T, M = counted ? plan->nodes : 0;
    PlanRowsArgs args = {.sets = T, .nodes = M};
    for (size_t t = 0; t < T; t++) {
        args.particles[t] = p->set[t].first[p->scenes];
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
    choose_nodes(p);
    if (p->device->failed) return;
    Points nodes = node_points(p);
    Index index = index_points(p, nodes);
    for (size_t t = 0; t < c->T; t++)
        plan->to_node[t] = nearest_edges(p, index, p->set[t], NULL, c->k_particle_to_node);
    plan->node_node = nearest_edges(p, index, nodes, p->number, c->k_node_to_node);
    plan->to_particle = nearest_edges(p, index, p->set[c->T - 1], NULL, c->k_node_to_particle);
    GnnEdges *all[GNN_MAX_SETS + 2] = {&plan->node_node, &plan->to_particle};
    for (size_t t = 0; t < c->T; t++) all[2 + t] = &plan->to_node[t];
    edges_order(p->tape, 2 + c->T, all);
}

static void plan_flat(Planning *p) {
    GnnPlan *plan = p->plan;
    size_t T = p->c->T;
    memcpy(p->first_node, p->set[T - 1].first, (p->scenes + 1) * sizeof *p->first_node);
    upload_lists(p, NULL);
    Points now = p->set[T - 1];
    plan->node_node = nearest_edges(p, index_points(p, now), now, p->number, p->c->k_node_to_node);
    bool has_past = T > 1;
    if (has_past) plan->past = nearest_edges(p, index_points(p, p->set[T - 2]), now, NULL, p->c->k_particle_to_node);
    edges_order(p->tape, 1 + has_past, (GnnEdges *[]){&plan->node_node, &plan->past});
}

static void make(Planning *p) {
    p->plan->particles = p->set[p->c->T - 1].first[p->scenes];
    if (p->c->graph == GRAPH_HIERARCHICAL) plan_hierarchical(p);
    if (p->c->graph == GRAPH_FLAT) plan_flat(p);
    write_rows(p);
}

void gnn_plan_make(Tape *tape, const GnnConfig *config, size_t scenes, const GnnPlanInput *inputs, GnnPlan *plan) {
    Planning p = {.tape = tape, .device = tape->device, .c = config, .scenes = scenes, .in = inputs, .plan = plan};
    *plan = (GnnPlan){0};
    plan->first_node = p.first_node = tape_context(tape, (scenes + 1) * sizeof *p.first_node);
    if (tape->device->failed) return;
    for (size_t s = 0; s < scenes; s++) CHECK_EQ(inputs[s].sets.count, config->T);
    ArenaMark mark = arena_mark(&tape->device->scratch), host = arena_mark(&tape->host);
    for (size_t t = 0; t < config->T; t++) p.set[t] = points_of(&p, t);
    if (!tape->device->failed) make(&p);
    arena_release(&tape->device->scratch, mark);
    arena_release(&tape->host, host);
}
