// SPDX-License-Identifier: Apache-2.0
#include "bodies/body_set.h"

#include "base/array.h"
#include "base/check.h"

#include <stdlib.h>
#include <string.h>

enum { WINDOWS, BODIES, NODES, HULLS, PATCHES };

void body_set_free(BodySet *set) {
    free(set->first_body);
    free(set->first_patch);
    free(set->first_node);
    free(set->before);
    free(set->now);
    free(set->normal);
    free(set->first_hull);
    free(set->given);
    free(set->hull);
    free(set->patch);
    *set = (BodySet){0};
}

void body_set_clear(BodySet *set) { set->windows = set->bodies = set->nodes = set->hulls = set->patches = 0; }

// Room for `count` of a kind, and one more where lists end with a total.
static Status reserve(BodySet *set, int kind, size_t count, Error *err) {
    bool good = true;
    if (count <= set->room[kind]) return STATUS_OK;
    size_t room = 2 * count;
    if (kind == WINDOWS)
        good = array_grow(&set->first_body, room + 1, sizeof *set->first_body) &&
               array_grow(&set->first_patch, room + 1, sizeof *set->first_patch);
    if (kind == BODIES)
        good = array_grow(&set->first_node, room + 1, sizeof *set->first_node) &&
               array_grow(&set->first_hull, room + 1, sizeof *set->first_hull) &&
               array_grow(&set->given, room, sizeof *set->given);
    if (kind == HULLS) good = array_grow(&set->hull, 3 * room, sizeof *set->hull);
    if (kind == NODES)
        good = array_grow(&set->before, 3 * room, sizeof *set->before) &&
               array_grow(&set->now, 3 * room, sizeof *set->now) &&
               array_grow(&set->normal, 3 * room, sizeof *set->normal);
    if (kind == PATCHES) good = array_grow(&set->patch, room, sizeof *set->patch);
    if (!good) return error_set(err, STATUS_FAILED, "out of memory for bodies");
    set->room[kind] = room;
    return STATUS_OK;
}

Status body_set_add_window(BodySet *set, Error *err) {
    Status status = reserve(set, WINDOWS, set->windows + 1, err);
    if (status != STATUS_OK) return status;
    size_t w = set->windows++;
    set->first_body[w] = set->first_body[w + 1] = set->bodies;
    set->first_patch[w] = set->first_patch[w + 1] = set->patches;
    return STATUS_OK;
}

Status body_set_add_body(BodySet *set, size_t count, size_t *row, Error *err) {
    CHECK(set->windows > 0 && count > 0);
    Status status = reserve(set, BODIES, set->bodies + 1, err);
    if (status == STATUS_OK) status = reserve(set, NODES, set->nodes + count, err);
    if (status != STATUS_OK) return status;
    *row = set->nodes;
    memset(set->normal + 3 * set->nodes, 0, 3 * count * sizeof *set->normal);
    set->first_hull[set->bodies] = set->first_hull[set->bodies + 1] = set->hulls;
    set->given[set->bodies] = NULL;
    set->first_node[set->bodies++] = set->nodes;
    set->nodes += count;
    set->first_node[set->bodies] = set->nodes;
    set->first_body[set->windows] = set->bodies;
    return STATUS_OK;
}

Status body_set_add_hull(BodySet *set, size_t count, const real *point, Error *err) {
    CHECK(set->bodies > 0);
    Status status = reserve(set, HULLS, set->hulls + count, err);
    if (status != STATUS_OK || !count) return status;
    memcpy(set->hull + 3 * set->hulls, point, 3 * count * sizeof *point);
    set->first_hull[set->bodies] = set->hulls += count;
    return STATUS_OK;
}

Status body_set_add_patch(BodySet *set, SurfacePatch patch, Error *err) {
    CHECK(set->windows > 0 && set->patches < set->first_patch[set->windows - 1] + BODY_PATCHES);
    Status status = reserve(set, PATCHES, set->patches + 1, err);
    if (status != STATUS_OK) return status;
    set->patch[set->patches++] = patch;
    set->first_patch[set->windows] = set->patches;
    return STATUS_OK;
}

void body_set_move(BodySet *set, int threads, const RigidMotion *motion) {
    real *before = set->before;
    set->before = set->now, set->now = before;
#pragma omp parallel for schedule(static) num_threads(threads) if (set->bodies > 1)
    for (size_t b = 0; b < set->bodies; b++) {
        for (size_t i = set->first_node[b]; i < set->first_node[b + 1]; i++) {
            rigid_motion_apply(&motion[b], set->before + 3 * i, set->now + 3 * i);
            rigid_motion_rotate(&motion[b], set->normal + 3 * i);
        }
        for (size_t i = set->first_hull[b]; i < set->first_hull[b + 1]; i++) {
            const real x[3] = {set->hull[3 * i], set->hull[3 * i + 1], set->hull[3 * i + 2]};
            rigid_motion_apply(&motion[b], x, set->hull + 3 * i);
        }
    }
}
