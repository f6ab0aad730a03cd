// SPDX-License-Identifier: Apache-2.0
#include "motion/flow.h"

#include "motion/backend.h"
#include "motion/flow_ops.h"
#include "motion/rigid.h"
#include "nn/backend.h"
#include "nn/knn.h"
#include "nn/row_ops.h"

enum { COLOUR = 3, NEIGHBOURS = 96, PASSES = 3, FEWEST_MOVING = 8 };
// Registration uses windows of every fourth of the 256 nearest points, normals from 10 points, and two rounds of
// hypothesis selection: each query compares the motions of 8 neighbours on the nearest 24 points of its window.
enum {
    WINDOW = 256,
    EVERY = 4,
    PLANE_NEIGHBOURS = 10,
    FIRST_STEPS = 4,
    MORE_STEPS = 3,
    ELECTIONS = 2,
    CANDIDATES = 8,
    VOTERS = 24
};
static const double PAIR_COLOUR = 0.1;     // of the colour length, because shading does not move with a body
static const double PLANE_SCALE = 0.00375; // times X: distance from the plane at which a pair has half its weight
static const double DISTANCE_SCALE = 0.015;
static const double DAMPING = 0.005;    // times X: damping of rotations that hardly move any point
static const double POINT_SHARE = 0.02; // weight of point-to-point distance relative to point-to-plane distance

static size_t min_size(size_t a, size_t b) { return a < b ? a : b; }

static int32_t *integers(Device *device, size_t count) {
    return device_scratch_bytes(device, (count + 1) * sizeof(int32_t));
}

// Colours rgb, scaled to metres.
static real *colour_coordinates(Device *device, size_t count, const real *colour, real length) {
    real *out = device_scratch(device, 3 * count + 1);
    RowGatherArgs args = {count, COLOUR, COLOUR, 0, colour, NULL, length, out};
    if (!device->failed) device->nn->row_gather(device, &args);
    return out;
}

// Search for the points nearest to queries in position and colour.
typedef struct Near {
    Device *device;
    const real *x;
    KnnIndex index;
    size_t k;
    int32_t *found;   // (queries, k)
    bool has_guesses; // `found` holds points near to the next queries
} Near;

static Near near_open(Device *device, const FlowPoints *points, real colour_length, size_t k, size_t queries) {
    Near near = {.device = device, .x = points->x, .k = k < points->count ? k : points->count};
    KnnArgs args = {.points = points->count,
                    .point = points->x,
                    .extra = COLOUR,
                    .point_extra = colour_coordinates(device, points->count, points->c, colour_length),
                    .guesses = k == 1};
    near.found = integers(device, queries * near.k);
    if (!device->failed && points->count) knn_index(device, &device->scratch, &args, &near.index);
    return near;
}

static void near_search(const Near *near, size_t queries, const real *x, const real *colour, real *distance2) {
    KnnArgs args = {.queries = queries,
                    .query = x,
                    .extra = COLOUR,
                    .query_extra = colour,
                    .guess = near->has_guesses ? near->found : NULL,
                    .k = (int)near->k,
                    .index = near->found,
                    .distance2 = distance2};
    if (!near->device->failed && queries && near->k) knn_search(near->device, &near->index, &args);
}

static void near_mean(const Near *near, size_t queries, const real *x, const real *colour, const real *value,
                      real *out) {
    near_search(near, queries, x, colour, NULL);
    RowMeanArgs args = {queries, near->k, near->found, value, out};
    if (!near->device->failed) near->device->nn->row_mean(near->device, &args);
}

// Rigid motions, one per query, fitted to the moving points around it by point-to-plane registration (Chen and Medioni
// 1992).
typedef struct Registration {
    Device *device;
    const FlowArgs *args;
    size_t queries, pairs;     // points of a query's window
    Near to, voter_to;         // the target surface, with the matches of windows and of voters
    const real *normal;        // of that surface
    real pair_length;          // metres per unit of rgb in the search for correspondences
    real *window, *look;       // (queries * pairs, 3) the windows' points and their colours
    real *place, *distance2;   // of the current pairs
    real *motion;              // (queries, 12)
    size_t voters, candidates; // points of a window that hypotheses are compared on; hypotheses per query
    real *voter, *voter_look;  // (queries * voters, 3)
    int32_t *candidate;        // (queries, candidates)
} Registration;

static void gather_pairs(Device *device, size_t queries, const Near *near, size_t pairs, const real *value, real scale,
                         real *out) {
    FlowPairPointsArgs args = {queries, near->k, EVERY, pairs, near->found, value, scale, out};
    if (!device->failed) device->motion->flow_pair_points(device, &args);
}

// Normals of the target surface, from its nearest points in position and colour.
static const real *measure_normals(Device *device, const FlowPoints *points, real colour_length) {
    real *normal = device_scratch(device, 3 * points->count + 1);
    const real *colour = colour_coordinates(device, points->count, points->c, colour_length);
    Near near = near_open(device, points, colour_length, PLANE_NEIGHBOURS, points->count);
    near_search(&near, points->count, points->x, colour, NULL);
    FlowNormalsArgs args = {points->count, near.k, near.found, points->x, normal};
    if (!device->failed) device->motion->flow_normals(device, &args);
    return normal;
}

// Correspondences of the first `pairs` points of every window: where a motion places them (the query's own, or that of
// query of[..]), and the target points nearest to there, near to which those of the time before are.
static FlowPairs match_pairs(Registration *r, Near *to, size_t pairs, const real *window, const real *look,
                             const int32_t *of, size_t of_stride) {
    Device *device = r->device;
    FlowPlaceArgs place = {r->queries, pairs, of, of_stride, r->motion, r->args->queries.x, window, r->place};
    if (!device->failed) device->motion->flow_place(device, &place);
    near_search(to, r->queries * pairs, r->place, look, r->distance2);
    to->has_guesses = true;
    double extent = (double)r->args->extent;
    return (FlowPairs){.queries = r->queries,
                       .pairs = pairs,
                       .place = r->place,
                       .match = to->found,
                       .distance2 = r->distance2,
                       .target = r->args->to_moving.x,
                       .normal = r->normal,
                       .plane_scale = PLANE_SCALE * extent,
                       .distance_scale = DISTANCE_SCALE * extent};
}

static void improve(Registration *r, int times) {
    double lever = DAMPING * (double)r->args->extent;
    for (int i = 0; i < times && !r->device->failed; i++) {
        FlowStepArgs step = {match_pairs(r, &r->to, r->pairs, r->window, r->look, NULL, 0), POINT_SHARE, lever * lever,
                             r->args->queries.x, r->motion};
        if (!r->device->failed) r->device->motion->flow_step(r->device, &step);
    }
}

// Prepares hypothesis selection: the nearest points of each window, and the nearest queries.
static void prepare_selection(Registration *r, const Near *from) {
    Device *device = r->device;
    size_t Q = r->queries;
    KnnArgs near = {.points = Q,
                    .queries = Q,
                    .point = r->args->queries.x,
                    .query = r->args->queries.x,
                    .k = (int)min_size(CANDIDATES, Q)};
    r->voters = min_size(VOTERS, r->pairs);
    r->voter_to = r->to;
    r->voter_to.found = integers(device, Q * r->voters);
    r->candidates = (size_t)near.k;
    r->voter = device_scratch(device, 3 * Q * r->voters);
    r->voter_look = device_scratch(device, 3 * Q * r->voters);
    near.index = r->candidate = integers(device, Q * r->candidates);
    if (!device->failed) knn(device, &near);
    gather_pairs(device, Q, from, r->voters, from->x, 1, r->voter);
    gather_pairs(device, Q, from, r->voters, r->args->from_moving.c, r->pair_length, r->voter_look);
}

// Hypothesis selection: each query takes, among the motions of the queries nearest to it, the one that fits its window
// best. This corrects wrong local minima and windows that contain two bodies.
static void select_hypotheses(Registration *r) {
    Device *device = r->device;
    size_t Q = r->queries;
    ArenaMark mark = arena_mark(&device->scratch);
    int32_t *chosen = integers(device, Q);
    real *best = device_scratch(device, Q), *motion = device_scratch(device, RIGID_MOTION * Q);
    if (device->failed) return;
    device->nn->zero(device, best, Q * sizeof *best);     // fits are positive; they are 0 if all motions place the
    device->nn->zero(device, chosen, Q * sizeof *chosen); // window far from the target, and then any motion is taken
    for (size_t i = 0; i < r->candidates && !device->failed; i++) {
        const int32_t *of = r->candidate + i;
        FlowVoteArgs vote = {match_pairs(r, &r->voter_to, r->voters, r->voter, r->voter_look, of, r->candidates), of,
                             r->candidates, best, chosen};
        if (!device->failed) device->motion->flow_vote(device, &vote);
    }
    FlowAdoptArgs adopt = {Q, chosen, r->args->queries.x, r->motion, motion};
    if (!device->failed) device->motion->flow_adopt(device, &adopt);
    if (!device->failed) device->nn->copy(device, r->motion, motion, RIGID_MOTION * Q * sizeof *motion);
    arena_release(&device->scratch, mark);
}

static void register_rigidly(Device *device, const FlowArgs *a, const real *colour) {
    size_t Q = a->queries.count;
    Near from = near_open(device, &a->from_moving, a->colour_length, WINDOW, Q);
    Registration r = {.device = device,
                      .args = a,
                      .queries = Q,
                      .pairs = (from.k + EVERY - 1) / EVERY,
                      .pair_length = (real)PAIR_COLOUR * a->colour_length};
    r.window = device_scratch(device, 3 * Q * r.pairs);
    r.look = device_scratch(device, 3 * Q * r.pairs);
    r.place = device_scratch(device, 3 * Q * r.pairs);
    r.distance2 = device_scratch(device, Q * r.pairs);
    r.motion = device_scratch(device, RIGID_MOTION * Q);
    r.normal = measure_normals(device, &a->to_moving, a->colour_length);
    r.to = near_open(device, &a->to_moving, r.pair_length, 1, Q * r.pairs);
    near_search(&from, Q, a->queries.x, colour, NULL);
    gather_pairs(device, Q, &from, r.pairs, from.x, 1, r.window);
    gather_pairs(device, Q, &from, r.pairs, a->from_moving.c, r.pair_length, r.look);
    if (!device->failed) device->motion->flow_motion(device, &(FlowMotionArgs){Q, a->u, r.motion, NULL, NULL});
    prepare_selection(&r, &from);
    improve(&r, FIRST_STEPS);
    for (int i = 0; i < ELECTIONS; i++) {
        select_hypotheses(&r);
        improve(&r, MORE_STEPS);
    }
    if (!device->failed) device->motion->flow_motion(device, &(FlowMotionArgs){Q, NULL, r.motion, a->u, a->g});
}

void flow_between(Device *device, const FlowArgs *a) {
    size_t Q = a->queries.count;
    if (device->failed || Q == 0) return;
    device->nn->zero(device, a->u, 3 * Q * sizeof *a->u);
    device->nn->zero(device, a->g, 9 * Q * sizeof *a->g);
    if (a->from.count == 0 || a->to.count == 0) return;
    const real *colour = colour_coordinates(device, Q, a->queries.c, a->colour_length);
    Near from = near_open(device, &a->from, a->colour_length, NEIGHBOURS, Q),
         to = near_open(device, &a->to, a->colour_length, NEIGHBOURS, Q);
    real *here = device_scratch(device, 3 * Q), *there = device_scratch(device, 3 * Q),
         *place = device_scratch(device, 3 * Q);
    if (device->failed) return;
    near_mean(&from, Q, a->queries.x, colour, from.x, here);
    for (int pass = 0; pass < PASSES && !device->failed; pass++) {
        RowAddArgs add = {3 * Q, a->queries.x, a->u, 1, place}, subtract = {3 * Q, there, here, -1, a->u};
        device->nn->row_add(device, &add);
        near_mean(&to, Q, place, colour, to.x, there);
        if (!device->failed) device->nn->row_add(device, &subtract);
    }
    if (a->from_moving.count >= FEWEST_MOVING && a->to_moving.count >= FEWEST_MOVING)
        register_rigidly(device, a, colour);
}
