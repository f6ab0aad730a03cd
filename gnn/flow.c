// SPDX-License-Identifier: Apache-2.0
#include "gnn/flow.h"

#include "gnn/backend.h"
#include "gnn/plan_ops.h"
#include "nn/backend.h"
#include "nn/knn.h"

enum { COLOUR = 3, NEIGHBOURS = 128, PASSES = 3, EVERY = 2, FEWEST_MOVING = 8 };
static const double PAIR_SHARE = 0.7, PAIR_COLOUR = 0.3;

static int32_t *integers(Device *device, size_t count) { return device_scratch_bytes(device, (count + 1) * sizeof(int32_t)); }

// rgb in metres.
static real *colour_coordinates(Device *device, size_t count, const real *colour, real length) {
    real *out = device_scratch(device, 3 * count + 1);
    PlanGatherArgs args = {count, COLOUR, COLOUR, 0, colour, NULL, length, out};
    if (!device->failed) device->gnn->plan_gather(device, &args);
    return out;
}

// Points that queries look for their neighbours among.
typedef struct Near {
    Device *device;
    const real *x;
    KnnIndex index;
    size_t k;
    int32_t *found; // (queries, k)
} Near;

static Near near_open(Device *device, const GnnPoints *points, real colour_length, size_t k, size_t queries) {
    Near near = {.device = device, .x = points->x, .k = k < points->count ? k : points->count};
    KnnArgs args = {.points = points->count,
                    .point = points->x,
                    .extra = COLOUR,
                    .point_extra = colour_coordinates(device, points->count, points->c, colour_length)};
    near.found = integers(device, queries * near.k);
    if (!device->failed && points->count) knn_index(device, &device->scratch, &args, &near.index);
    return near;
}

static void near_search(const Near *near, size_t queries, const real *x, const real *colour, real *distance2) {
    KnnArgs args = {.queries = queries,
                    .query = x,
                    .extra = COLOUR,
                    .query_extra = colour,
                    .k = (int)near->k,
                    .index = near->found,
                    .distance2 = distance2};
    if (!near->device->failed && queries && near->k) knn_search(near->device, &near->index, &args);
}

static void near_mean(const Near *near, size_t queries, const real *x, const real *colour, const real *value, real *out) {
    near_search(near, queries, x, colour, NULL);
    PlanMeanArgs args = {queries, near->k, near->found, value, out};
    if (!near->device->failed) near->device->gnn->plan_mean(near->device, &args);
}

static void refine(Device *device, const FlowArgs *a, const real *colour) {
    size_t Q = a->queries.count;
    Near from = near_open(device, &a->from_moving, a->colour_length, NEIGHBOURS, Q);
    size_t pairs = (from.k + EVERY - 1) / EVERY, kept = (size_t)(PAIR_SHARE * (double)pairs);
    real pair_length = (real)PAIR_COLOUR * a->colour_length, *start = device_scratch(device, 3 * Q * pairs + 1),
         *place = device_scratch(device, 3 * Q * pairs + 1), *look = device_scratch(device, 3 * Q * pairs + 1),
         *distance2 = device_scratch(device, Q * pairs + 1);
    Near to = near_open(device, &a->to_moving, pair_length, 1, Q * pairs);
    near_search(&from, Q, a->queries.x, colour, NULL);
    if (device->failed) return;
    PlanPairsArgs pair = {Q, from.k, EVERY, pairs, from.found, from.x, NULL, 1, start};
    device->gnn->plan_pairs(device, &pair);
    pair.value = a->from_moving.c, pair.scale = pair_length, pair.out = look;
    device->gnn->plan_pairs(device, &pair);
    pair.value = from.x, pair.scale = 1, pair.shift = a->u, pair.out = place;
    PlanTrimmedMeanArgs mean = {Q, pairs, kept ? kept : 1, start, to.x, to.found, distance2, a->u};
    for (long i = 0; i < a->refine && !device->failed; i++) {
        device->gnn->plan_pairs(device, &pair);
        near_search(&to, Q * pairs, place, look, distance2);
        device->gnn->plan_trimmed_mean(device, &mean);
    }
}

void flow_between(Device *device, const FlowArgs *a) {
    size_t Q = a->queries.count;
    if (device->failed || Q == 0) return;
    device->nn->zero(device, a->u, 3 * Q * sizeof *a->u);
    if (a->from.count == 0 || a->to.count == 0) return;
    const real *colour = colour_coordinates(device, Q, a->queries.c, a->colour_length);
    Near from = near_open(device, &a->from, a->colour_length, NEIGHBOURS, Q), to = near_open(device, &a->to, a->colour_length, NEIGHBOURS, Q);
    real *here = device_scratch(device, 3 * Q), *there = device_scratch(device, 3 * Q), *place = device_scratch(device, 3 * Q);
    if (device->failed) return;
    near_mean(&from, Q, a->queries.x, colour, from.x, here);
    for (int pass = 0; pass < PASSES && !device->failed; pass++) {
        PlanAddArgs add = {3 * Q, a->queries.x, a->u, 1, place}, subtract = {3 * Q, there, here, -1, a->u};
        device->gnn->plan_add(device, &add);
        near_mean(&to, Q, place, colour, to.x, there);
        if (!device->failed) device->gnn->plan_add(device, &subtract);
    }
    if (a->refine > 0 && a->from_moving.count >= FEWEST_MOVING && a->to_moving.count >= FEWEST_MOVING) refine(device, a, colour);
}

void flow_at(Device *device, const GnnPoints *points, const real *flow, const GnnPoints *queries, real colour_length, size_t k, real *u) {
    if (device->failed || queries->count == 0) return;
    device->nn->zero(device, u, 3 * queries->count * sizeof *u);
    if (points->count == 0) return;
    Near near = near_open(device, points, colour_length, k, queries->count);
    const real *colour = colour_coordinates(device, queries->count, queries->c, colour_length);
    near_mean(&near, queries->count, queries->x, colour, flow, u);
}
