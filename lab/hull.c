// SPDX-License-Identifier: Apache-2.0
#include "lab/hull.h"

#include "base/vector.h"

#include <stdbool.h>
#include <string.h>

static const double OUTSIDE = 2e-3; // times the extent: a point that is less far outside is left out
static const double FLAT = 1e-3;    // times the extent: less high is no tetrahedron

// Above 0 where x is on the outer side of a triangle: the distance from its plane.
static double height(const Hull *h, const double *x, size_t triangle, const double at[3]) {
    const int32_t *t = h->triangle[triangle];
    const double *a = x + 3 * h->point[t[0]], *b = x + 3 * h->point[t[1]], *c = x + 3 * h->point[t[2]];
    double u[3], v[3], w[3], n[3];
    for (int i = 0; i < 3; i++) u[i] = b[i] - a[i], v[i] = c[i] - a[i], w[i] = at[i] - a[i];
    vector_cross(u, v, n);
    return vector_dot(n, w) / fmax(sqrt(vector_dot(n, n)), 1e-300);
}

// How far outside a point is.
static double outside(const Hull *h, const double *x, const double at[3]) {
    double most = -INFINITY;
    for (size_t t = 0; t < h->triangles; t++) most = fmax(most, height(h, x, t, at));
    return most;
}

// ---- the first tetrahedron: each corner is the point that is farthest from those before, their line, their plane

static double apart(const double *x, const size_t *of, int corners, size_t point) {
    double e[3][3], n[3];
    for (int k = 0; k < 3; k++) // from the first corner to the others, and to the point
        for (int i = 0; i < 3; i++)
            e[k][i] = x[3 * (k + 1 < corners ? of[k + 1] : point) + (size_t)i] - x[3 * of[0] + (size_t)i];
    if (corners == 1) return vector_dot(e[0], e[0]);
    vector_cross(e[0], e[1], n);
    return corners == 2 ? vector_dot(n, n) : fabs(vector_dot(n, e[2])) / sqrt(vector_dot(n, n));
}

static bool begin(const double *x, size_t count, Hull *h, double *extent) {
    double most = 0;
    h->point[0] = 0;
    for (int corners = 1; corners < 4; corners++) {
        most = 0;
        for (size_t i = 0; i < count; i++) {
            const double far = apart(x, h->point, corners, i);
            if (far > most) most = far, h->point[corners] = i;
        }
        if (!(most > 0)) return false;
        if (corners == 1) *extent = sqrt(most);
    }
    if (!(most > FLAT * *extent)) return false;
    static const int32_t faces[4][3] = {{0, 1, 2}, {0, 3, 1}, {1, 3, 2}, {2, 3, 0}};
    memcpy(h->triangle, faces, sizeof faces);
    h->points = h->triangles = 4;
    if (height(h, x, 0, x + 3 * h->point[3]) < 0) return true;
    const size_t first = h->point[0];
    h->point[0] = h->point[1], h->point[1] = first;
    return true;
}

// ---- growth

// Puts a point into the place of all triangles that it is outside of. What was their rim is joined with it.
static bool add(const double *x, size_t point, Hull *h) {
    static const size_t next[3] = {1, 2, 0};
    bool seen[HULL_POINTS][HULL_POINTS] = {{false}}; // edges of triangles that go
    int32_t gone[HULL_TRIANGLES][3];
    size_t kept = 0, going = 0;
    for (size_t t = 0; t < h->triangles; t++) {
        const bool goes = height(h, x, t, x + 3 * point) > 0;
        memcpy(goes ? gone[going++] : h->triangle[kept++], h->triangle[t], sizeof *gone);
    }
    for (size_t t = 0; t < going; t++)
        for (int k = 0; k < 3; k++) seen[gone[t][k]][gone[t][next[k]]] = true;
    for (size_t t = 0; t < going; t++)
        for (int k = 0; k < 3; k++) {
            const int32_t a = gone[t][k], b = gone[t][next[k]];
            if (seen[b][a]) continue;
            if (kept == HULL_TRIANGLES) return false;
            memcpy(h->triangle[kept++], (const int32_t[]){a, b, (int32_t)h->points}, sizeof *gone);
        }
    h->triangles = kept;
    h->point[h->points++] = point;
    return true;
}

// Corners that no triangle has any more go.
static void tidy(Hull *h) {
    int32_t number[HULL_POINTS];
    bool used[HULL_POINTS] = {false};
    size_t kept = 0;
    for (size_t t = 0; t < 3 * h->triangles; t++) used[h->triangle[t / 3][t % 3]] = true;
    for (size_t p = 0; p < h->points; p++) {
        number[p] = (int32_t)kept;
        if (used[p]) h->point[kept++] = h->point[p];
    }
    h->points = kept;
    for (size_t t = 0; t < 3 * h->triangles; t++) {
        int32_t *corner = &h->triangle[t / 3][t % 3];
        *corner = number[*corner];
    }
}

void hull_make(const double *x, size_t count, Hull *out) {
    double extent = 0;
    *out = (Hull){0};
    if (count < 4 || !begin(x, count, out, &extent)) return;
    bool good = true;
    while (good && out->points < HULL_POINTS) {
        double most = OUTSIDE * extent;
        size_t farthest = count;
        for (size_t i = 0; i < count; i++) {
            const double far = outside(out, x, x + 3 * i);
            if (far > most) most = far, farthest = i;
        }
        if (farthest == count) break;
        good = add(x, farthest, out);
    }
    tidy(out);
    if (!good || out->triangles != 2 * out->points - 4) *out = (Hull){0}; // rounding made it no closed surface
}
