// SPDX-License-Identifier: Apache-2.0
#include "gnn/plan_nodes.h"

#include "nn/backend.h"
#include "nn/choose.h"

#include <string.h>

// Which particles can be chosen.
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

// The `want` candidates with the smallest keys, in order, out of `there` (>= want). Keys are uniform, so that nearly
// all others are rejected without sorting.
static void choose_smallest(Candidates which, const real *m, size_t count, const uint64_t *keys, size_t want,
                            size_t there, Keyed *out) {
    double share = ((double)want + 6 * sqrt((double)want) + 16) / (double)(there ? there : 1);
    size_t found = share < 1 ? collect(which, m, count, keys, (uint64_t)(share * 0x1p64), out) : 0;
    if (found < want) found = collect(which, m, count, keys, UINT64_MAX, out);
    choose_sort(out, found);
}

typedef struct Choice {
    const GnnConfig *config;
    const GnnPlanInput *input;
    const real *m;  // host
    size_t count;   // particles
    uint64_t *keys; // (count)
    Keyed *items;   // (2 * count): space for two sorted lists
    int32_t *node;  // (count) the list, in order
} Choice;

static size_t min_size(size_t a, size_t b) { return a < b ? a : b; }

static size_t take(int32_t *node, const Keyed *items, size_t count) {
    for (size_t i = 0; i < count; i++) node[i] = items[i].index;
    return count;
}

static size_t choose_random(Choice *c) {
    size_t want = min_size(c->config->M, c->count);
    choose_smallest(ALL, c->m, c->count, c->keys, want, c->count, c->items);
    return take(c->node, c->items, want);
}

// Half of the nodes are moving particles, the rest static ones; if there are too few of either, more of the other.
static size_t choose_moving(Choice *c) {
    size_t movers = count_candidates(MOVERS, c->m, c->count), still = c->count - movers, M = c->config->M;
    size_t a = min_size(M / 2, movers), b = min_size(M - a, still);
    a = min_size(M - b, movers);
    choose_smallest(MOVERS, c->m, c->count, c->keys, a, movers, c->items);
    choose_smallest(STILL, c->m, c->count, c->keys, b, still, c->items + c->count);
    return take(c->node, c->items, a) + take(c->node + a, c->items + c->count, b);
}

static size_t choose_nodes(Choice *c) {
    const GnnPlanInput *in = c->input;
    RandomKey key = {in->seed, RANDOM_NODES, in->step * 64 + in->rollout_step, in->episode};
    if (in->nodes) {
        memcpy(c->node, in->nodes, in->node_count * sizeof *c->node);
        return in->node_count;
    }
    for (size_t i = 0; i < c->count; i++) c->keys[i] = choose_key(key, i);
    return c->config->nodes == NODES_MOVING ? choose_moving(c) : choose_random(c);
}

const int32_t *gnn_choose_nodes(Tape *tape, const GnnConfig *config, const GnnPlanInput *input, const real *m,
                                GnnPlan *plan) {
    Choice c = {.config = config, .input = input, .m = m, .count = input->sets.set[input->sets.count - 1].x->rows};
    size_t room = c.count > input->node_count ? c.count : input->node_count;
    c.keys = tape_context(tape, (c.count + 1) * sizeof *c.keys);
    c.items = tape_context(tape, (2 * c.count + 1) * sizeof *c.items);
    c.node = tape_context(tape, (room + 1) * sizeof *c.node);
    if (tape->device->failed) return NULL;
    plan->nodes = choose_nodes(&c);
    int32_t *node = tape_memory(tape, plan->nodes, sizeof *node);
    if (!node) return NULL;
    tape->device->nn->upload(tape->device, node, c.node, plan->nodes * sizeof *node);
    plan->node = node;
    return c.node;
}
