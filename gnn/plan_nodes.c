// SPDX-License-Identifier: Apache-2.0
#include "gnn/plan_nodes.h"

#include "base/check.h"
#include "gnn/backend.h"
#include "gnn/plan_ops.h"
#include "nn/backend.h"

#include <string.h>

// Which particles may be chosen.
typedef enum Candidates { ALL, MOVERS, STILL } Candidates;

static bool is_candidate(Candidates which, const real *m, size_t i) {
    bool moves = m && m[i] > 0;
    return which == ALL || (which == MOVERS ? moves : !moves);
}

static size_t count_candidates(Candidates which, const real *m, size_t count) {
    size_t found = 0;
    for (size_t i = 0; i < count; i++) found += is_candidate(which, m, i);
    return found;
}

// Candidates whose key is at most `limit`.
static size_t collect(Candidates which, const real *m, size_t count, const uint64_t *keys, uint64_t limit, Keyed *out) {
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        if (keys[i] <= limit && is_candidate(which, m, i)) out[found++] = (Keyed){keys[i], (int32_t)i};
    return found;
}

// The `want` candidates of smallest key, in order, of `there` (>= want). Keys are uniform, so nearly all others are
// left out unsorted.
static void choose_smallest(Candidates which, const real *m, size_t count, const uint64_t *keys, size_t want,
                            size_t there, Keyed *out) {
    double share = ((double)want + 6 * sqrt((double)want) + 16) / (double)(there ? there : 1);
    size_t found = share < 1 ? collect(which, m, count, keys, (uint64_t)(share * 0x1p64), out) : 0;
    if (found < want) found = collect(which, m, count, keys, UINT64_MAX, out);
    choose_sort(out, found);
}

typedef struct Choice {
    Tape *tape;
    const GnnConfig *config;
    const GnnPlanInput *input;
    const real *m, *x; // host; x for choices by position
    size_t count;      // particles
    uint64_t *keys;    // (count)
    Keyed *items;      // (2 * count): room for two sorted lists
    int32_t *node;     // (count) the list, in order
} Choice;

static size_t min_size(size_t a, size_t b) { return a < b ? a : b; }

static size_t take(int32_t *node, const Keyed *items, size_t count) {
    for (size_t i = 0; i < count; i++) node[i] = items[i].index;
    return count;
}

static size_t choose_random(Choice *c, Candidates which, size_t want) {
    choose_smallest(which, c->m, c->count, c->keys, want, count_candidates(which, c->m, c->count), c->items);
    return take(c->node, c->items, want);
}

// Half from the particles that move, the rest from the others, and back where these are fewer.
static size_t choose_moving(Choice *c) {
    size_t movers = count_candidates(MOVERS, c->m, c->count), still = c->count - movers, M = c->config->M;
    size_t a = min_size(M / 2, movers), b = min_size(M - a, still);
    a = min_size(M - b, movers);
    choose_smallest(MOVERS, c->m, c->count, c->keys, a, movers, c->items);
    choose_smallest(STILL, c->m, c->count, c->keys, b, still, c->items + c->count);
    return take(c->node, c->items, a) + take(c->node + a, c->items + c->count, b);
}

static size_t choose_by_voxel(Choice *c, GnnPlanner *planner) {
    Error err = {0};
    size_t chosen = 0;
    for (size_t i = 0; i < c->count; i++) c->items[i] = (Keyed){c->keys[i], (int32_t)i};
    choose_sort(c->items, c->count);
    Status status =
        choose_voxel(&planner->voxels, c->items, c->count, c->config->M, c->x, c->config->extent, &chosen, &err);
    if (status != STATUS_OK) device_fail(c->tape->device, status, "%s", err.text);
    return take(c->node, c->items, chosen);
}

static size_t choose_farthest(Choice *c) {
    Device *device = c->tape->device;
    size_t want = min_size(c->config->M, c->count);
    if (choose_random(c, ALL, want ? 1 : 0) == 0) return 0;
    ArenaMark mark = arena_mark(&device->scratch);
    int32_t *chosen = device_scratch_bytes(device, want * sizeof *chosen);
    PlanFarthestArgs args = {.count = c->count,
                             .want = want,
                             .start = c->node[0],
                             .x = c->input->sets.set[c->input->sets.count - 1].x->value,
                             .distance = device_scratch(device, c->count),
                             .chosen = chosen};
    if (!device->failed) device->gnn->plan_farthest(device, &args);
    if (!device->failed) device->nn->download(device, c->node, chosen, want * sizeof *chosen);
    arena_release(&device->scratch, mark);
    return want;
}

static size_t choose_nodes(Choice *c, GnnPlanner *planner) {
    const GnnPlanInput *in = c->input;
    RandomKey key = {in->seed, RANDOM_NODES, in->step * 64 + in->rollout_step, in->episode};
    if (in->nodes) {
        memcpy(c->node, in->nodes, in->node_count * sizeof *c->node);
        return in->node_count;
    }
    for (size_t i = 0; i < c->count; i++) c->keys[i] = choose_key(key, i);
    switch (c->config->nodes) {
    case NODES_FARTHEST: return choose_farthest(c);
    case NODES_VOXEL: return choose_by_voxel(c, planner);
    case NODES_MOVING: return choose_moving(c);
    default: return choose_random(c, ALL, min_size(c->config->M, c->count));
    }
}

const int32_t *gnn_choose_nodes(Tape *tape, const GnnConfig *config, GnnPlanner *planner, const GnnPlanInput *input,
                                const real *m, GnnPlan *plan) {
    const Tensor *x = input->sets.set[input->sets.count - 1].x;
    Choice c = {.tape = tape, .config = config, .input = input, .m = m, .count = x->rows};
    size_t room = c.count > input->node_count ? c.count : input->node_count;
    c.keys = tape_context(tape, (c.count + 1) * sizeof *c.keys);
    c.items = tape_context(tape, (2 * c.count + 1) * sizeof *c.items);
    c.node = tape_context(tape, (room + 1) * sizeof *c.node);
    real *host_x = config->nodes == NODES_VOXEL ? tape_context(tape, (c.count * 3 + 1) * sizeof *host_x) : NULL;
    if (tape->device->failed) return NULL;
    if (host_x) tape->device->nn->download(tape->device, host_x, x->value, c.count * 3 * sizeof *host_x);
    c.x = host_x;
    plan->nodes = choose_nodes(&c, planner);
    int32_t *node = tape_memory(tape, plan->nodes, sizeof *node);
    if (!node) return NULL;
    tape->device->nn->upload(tape->device, node, c.node, plan->nodes * sizeof *node);
    plan->node = node;
    return c.node;
}
