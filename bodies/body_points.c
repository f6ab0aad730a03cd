// SPDX-License-Identifier: Apache-2.0
// Bodies and surfaces of a scene from points on them.
#include "bodies/body_set.h"

#include "motion/rigid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double distance2(const real *a, const real *b) {
    double sum = 0;
    for (int c = 0; c < 3; c++) sum += ((double)a[c] - (double)b[c]) * ((double)a[c] - (double)b[c]);
    return sum;
}

// Farthest point sampling, from the first point on. `least` (count) is used.
static void choose_nodes(size_t count, const real *x, size_t nodes, double *least, size_t *chosen) {
    for (size_t i = 0; i < count; i++) least[i] = INFINITY;
    chosen[0] = 0;
    for (size_t n = 0; n + 1 < nodes; n++) {
        size_t farthest = 0;
        for (size_t i = 0; i < count; i++) {
            least[i] = fmin(least[i], distance2(x + 3 * i, x + 3 * chosen[n]));
            if (least[i] > least[farthest]) farthest = i;
        }
        chosen[n + 1] = farthest;
    }
}

Status body_set_add_points(BodySet *set, size_t count, const real *now, const real *before, Error *err) {
    size_t nodes = count < BODY_NODES ? count : BODY_NODES, chosen[BODY_NODES], row;
    double *least = malloc(count * sizeof *least);
    if (!least) return error_set(err, STATUS_FAILED, "out of memory for a body of %zu points", count);
    choose_nodes(count, now, nodes, least, chosen);
    free(least);
    Status status = body_set_add_body(set, nodes, &row, err);
    for (size_t n = 0; n < nodes && status == STATUS_OK; n++) {
        memcpy(set->now + 3 * (row + n), now + 3 * chosen[n], 3 * sizeof *now);
        memcpy(set->before + 3 * (row + n), before + 3 * chosen[n], 3 * sizeof *before);
    }
    return status;
}

// ---- surfaces

// Points that a patch's plane is fitted to, with its own; its radius is the distance to the farthest of them.
enum { NEAR = 9 };

typedef struct Near {
    double distance2;
    size_t index;
} Near;

static size_t nearest_points(size_t count, const real *point, size_t of, Near *near) {
    size_t found = 0;
    for (size_t j = 0; j < count; j++) {
        double d2 = distance2(point + 3 * of, point + 3 * j);
        size_t at = found;
        while (at > 0 && d2 < near[at - 1].distance2) at--;
        if (at == NEAR) continue;
        if (found < NEAR) found++;
        memmove(near + at + 1, near + at, (found - at - 1) * sizeof *near);
        near[at] = (Near){d2, j};
    }
    return found;
}

static SurfacePatch patch_at(size_t count, const real *point, size_t of) {
    Near near[NEAR];
    SurfacePatch patch;
    size_t found = nearest_points(count, point, of, near);
    double mean[3] = {0}, spread[9] = {0};
    for (size_t k = 0; k < 3 * found; k++) mean[k % 3] += (double)point[3 * near[k / 3].index + k % 3] / (double)found;
    for (size_t k = 0; k < 9 * found; k++) {
        const real *x = point + 3 * near[k / 9].index;
        size_t a = k % 9 / 3, b = k % 3;
        spread[k % 9] += ((double)x[a] - mean[a]) * ((double)x[b] - mean[b]);
    }
    rigid_least_direction(spread, patch.normal);
    memcpy(patch.position, point + 3 * of, sizeof patch.position);
    patch.radius = (real)sqrt(near[found - 1].distance2);
    return patch;
}

Status body_set_add_surface(BodySet *set, size_t count, const real *point, Error *err) {
    Status status = STATUS_OK;
    if (count > BODY_PATCHES) count = BODY_PATCHES;
    for (size_t i = 0; i < count && status == STATUS_OK; i++)
        status = body_set_add_patch(set, patch_at(count, point, i), err);
    return status;
}
