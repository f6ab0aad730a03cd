// SPDX-License-Identifier: Apache-2.0
// Bodies and surfaces of a scene from points on them.
#include "bodies/body_set.h"

#include "motion/nearest.h"
#include "motion/plane_fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Points that are chosen as nodes. near[n] (PLANE_FIT_NEAR, `nears` of them): the points nearest to node n.
typedef struct Nodes {
    size_t count, nears, chosen[BODY_NODES];
    int32_t near[BODY_NODES][PLANE_FIT_NEAR];
} Nodes;

// d2 (count): the squared distances from x.
static size_t nearest_of(size_t count, const double *d2, int32_t *index) {
    double near[PLANE_FIT_NEAR];
    size_t found = 0;
    for (size_t i = 0; i < count; i++) found = nearest_keep(near, index, found, PLANE_FIT_NEAR, d2[i], i);
    return found;
}

// Farthest point sampling, from the first point on. `least` and `d2` (count) are used.
static void choose_nodes(size_t count, const real *x, double *least, double *d2, Nodes *out) {
    for (size_t i = 0; i < count; i++) least[i] = INFINITY;
    out->chosen[0] = 0;
    for (size_t n = 0; n < out->count; n++) {
        const real *from = x + 3 * out->chosen[n];
        size_t farthest = 0;
        for (size_t i = 0; i < count; i++) d2[i] = squared_distance(x + 3 * i, from);
        for (size_t i = 0; i < count; i++) {
            if (d2[i] < least[i]) least[i] = d2[i];
            if (least[i] > least[farthest]) farthest = i;
        }
        out->nears = nearest_of(count, d2, out->near[n]);
        if (n + 1 < out->count) out->chosen[n + 1] = farthest;
    }
}

// At most BODY_NODES points, as far from each other as possible.
static Status spread_points(size_t count, const real *x, Nodes *out, Error *err) {
    double *room = malloc(2 * count * sizeof *room);
    if (!room) return error_set(err, STATUS_FAILED, "out of memory for a body of %zu points", count);
    out->count = count < BODY_NODES ? count : BODY_NODES;
    choose_nodes(count, x, room, room + count, out);
    free(room);
    return STATUS_OK;
}

static void outward_normal(const real *x, const double middle[3], const Nodes *nodes, size_t n, real normal[3]) {
    PlaneFit plane;
    double outwards = 0;
    plane_fit(x, nodes->near[n], nodes->nears, &plane);
    for (size_t c = 0; c < 3; c++)
        outwards += (double)plane.normal[c] * ((double)x[3 * nodes->chosen[n] + c] - middle[c]);
    for (size_t c = 0; c < 3; c++) normal[c] = outwards < 0 ? -plane.normal[c] : plane.normal[c];
}

Status body_set_add_points(BodySet *set, size_t count, const real *now, const real *before, size_t *index, Error *err) {
    size_t row;
    Nodes nodes = {0};
    double middle[3] = {0};
    for (size_t i = 0; i < 3 * count; i++) middle[i % 3] += (double)now[i] / (double)count;
    Status status = spread_points(count, now, &nodes, err);
    if (status == STATUS_OK) status = body_set_add_body(set, nodes.count, &row, err);
    for (size_t n = 0; n < nodes.count && status == STATUS_OK; n++) {
        memcpy(set->now + 3 * (row + n), now + 3 * nodes.chosen[n], 3 * sizeof *now);
        memcpy(set->before + 3 * (row + n), before + 3 * nodes.chosen[n], 3 * sizeof *before);
        outward_normal(now, middle, &nodes, n, set->normal + 3 * (row + n));
        if (index) index[n] = nodes.chosen[n];
    }
    return status;
}

Status body_set_add_spread(BodySet *set, size_t count, const real *point, Error *err) {
    Nodes nodes = {0};
    Status status = count ? spread_points(count, point, &nodes, err) : STATUS_OK;
    for (size_t n = 0; n < nodes.count && status == STATUS_OK; n++)
        status = body_set_add_hull(set, 1, point + 3 * nodes.chosen[n], err);
    return status;
}

// ---- surfaces

Status body_set_add_surface(BodySet *set, size_t count, const real *point, Error *err) {
    Status status = STATUS_OK;
    if (count > BODY_PATCHES) count = BODY_PATCHES;
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        PlaneFit plane;
        SurfacePatch patch;
        patch.radius = (real)plane_fit_near(point, count, i, &plane);
        patch.rough = (real)sqrt(fmax(0, plane.off) / (double)plane.count);
        memcpy(patch.normal, plane.normal, sizeof patch.normal);
        memcpy(patch.position, point + 3 * i, sizeof patch.position);
        status = body_set_add_patch(set, patch, err);
    }
    return status;
}
