// SPDX-License-Identifier: Apache-2.0
// Bodies and surfaces of a scene from points on them.
#include "bodies/body_set.h"

#include "motion/plane_fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Farthest point sampling, from the first point on. `least` (count) is used.
static void choose_nodes(size_t count, const real *x, size_t nodes, double *least, size_t *chosen) {
    for (size_t i = 0; i < count; i++) least[i] = INFINITY;
    chosen[0] = 0;
    for (size_t n = 0; n + 1 < nodes; n++) {
        size_t farthest = 0;
        for (size_t i = 0; i < count; i++) {
            double d2 = squared_distance(x + 3 * i, x + 3 * chosen[n]);
            if (d2 < least[i]) least[i] = d2;
            if (least[i] > least[farthest]) farthest = i;
        }
        chosen[n + 1] = farthest;
    }
}

// At most BODY_NODES points, as far from each other as possible; *nodes: how many.
static Status spread_points(size_t count, const real *x, size_t *nodes, size_t chosen[BODY_NODES], Error *err) {
    double *least = malloc(count * sizeof *least);
    if (!least) return error_set(err, STATUS_FAILED, "out of memory for a body of %zu points", count);
    *nodes = count < BODY_NODES ? count : BODY_NODES;
    choose_nodes(count, x, *nodes, least, chosen);
    free(least);
    return STATUS_OK;
}

static void outward_normal(size_t count, const real *x, const double middle[3], size_t of, real normal[3]) {
    PlaneFit plane;
    double outwards = 0;
    plane_fit_near(x, count, of, &plane);
    for (size_t c = 0; c < 3; c++) outwards += (double)plane.normal[c] * ((double)x[3 * of + c] - middle[c]);
    for (size_t c = 0; c < 3; c++) normal[c] = outwards < 0 ? -plane.normal[c] : plane.normal[c];
}

Status body_set_add_points(BodySet *set, size_t count, const real *now, const real *before, size_t *index, Error *err) {
    size_t nodes = 0, chosen[BODY_NODES], row;
    double middle[3] = {0};
    for (size_t i = 0; i < 3 * count; i++) middle[i % 3] += (double)now[i] / (double)count;
    Status status = spread_points(count, now, &nodes, chosen, err);
    if (status == STATUS_OK) status = body_set_add_body(set, nodes, &row, err);
    for (size_t n = 0; n < nodes && status == STATUS_OK; n++) {
        memcpy(set->now + 3 * (row + n), now + 3 * chosen[n], 3 * sizeof *now);
        memcpy(set->before + 3 * (row + n), before + 3 * chosen[n], 3 * sizeof *before);
        outward_normal(count, now, middle, chosen[n], set->normal + 3 * (row + n));
        if (index) index[n] = chosen[n];
    }
    return status;
}

Status body_set_add_spread(BodySet *set, size_t count, const real *point, Error *err) {
    size_t nodes = 0, chosen[BODY_NODES];
    Status status = count ? spread_points(count, point, &nodes, chosen, err) : STATUS_OK;
    for (size_t n = 0; n < nodes && status == STATUS_OK; n++)
        status = body_set_add_hull(set, 1, point + 3 * chosen[n], err);
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
