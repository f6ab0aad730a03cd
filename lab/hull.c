// SPDX-License-Identifier: Apache-2.0
#include "lab/hull.h"

#include "base/vector.h"

#include <string.h>

static const double OUTSIDE = 2e-3; // times the extent: a point that is less far outside is left out
static const double FLAT = 1e-3;    // times the extent: less high is no tetrahedron

// Above 0 where x is on the outer side of a triangle: the distance from its plane.
static double height(const Hull *h, size_t triangle, const double x[3]) {
    const int32_t *t = h->triangle[triangle];
    double u[3], v[3], w[3], n[3];
    vector_between(h->corner[0], t[0], t[1], u);
    vector_between(h->corner[0], t[0], t[2], v);
    for (int i = 0; i < 3; i++) w[i] = x[i] - h->corner[t[0]][i];
    vector_cross(u, v, n);
    return vector_dot(n, w) / fmax(sqrt(vector_dot(n, n)), 1e-300);
}

// How far outside a point is.
static double outside(const Hull *h, const double x[3]) {
    double most = -INFINITY;
    for (size_t t = 0; t < h->triangles; t++) most = fmax(most, height(h, t, x));
    return most;
}

// ---- the first tetrahedron: each corner is the point that is farthest from those before, their line, their plane

static double apart(const double corner[4][3], int corners, const double x[3]) {
    double e[3][3], n[3];
    for (int k = 0; k < 3; k++) // from the first corner to the others, and to the point
        for (int i = 0; i < 3; i++) e[k][i] = (k + 1 < corners ? corner[k + 1] : x)[i] - corner[0][i];
    if (corners == 1) return vector_dot(e[0], e[0]);
    vector_cross(e[0], e[1], n);
    return corners == 2 ? vector_dot(n, n) : fabs(vector_dot(n, e[2])) / sqrt(vector_dot(n, n));
}

static bool begin(const double *x, size_t count, Hull *h, double *extent) {
    static const int32_t faces[4][3] = {{0, 1, 2}, {0, 3, 1}, {1, 3, 2}, {2, 3, 0}},
                         turned[4][3] = {{0, 2, 1}, {0, 1, 3}, {1, 2, 3}, {2, 0, 3}};
    double most = 0;
    memcpy(h->corner[0], x, sizeof h->corner[0]);
    for (int corners = 1; corners < 4; corners++) {
        most = 0;
        for (size_t i = 0; i < count; i++) {
            const double far = apart((const double(*)[3])h->corner, corners, x + 3 * i);
            if (far > most) most = far, memcpy(h->corner[corners], x + 3 * i, sizeof h->corner[0]);
        }
        if (!(most > 0)) return false;
        if (corners == 1) *extent = sqrt(most);
    }
    if (!(most > FLAT * *extent)) return false;
    memcpy(h->triangle, faces, sizeof faces);
    if (height(h, 0, h->corner[3]) > 0) memcpy(h->triangle, turned, sizeof turned);
    h->corners = h->triangles = 4;
    return true;
}

// ---- growth

// Puts a point into the place of all triangles that it is outside of. What was their rim is joined with it.
static bool add(const double x[3], Hull *h) {
    static const size_t next[3] = {1, 2, 0};
    bool seen[HULL_POINTS][HULL_POINTS] = {{false}}; // edges of triangles that go
    int32_t gone[HULL_TRIANGLES][3];
    size_t kept = 0, going = 0;
    for (size_t t = 0; t < h->triangles; t++) {
        const bool goes = height(h, t, x) > 0;
        memcpy(goes ? gone[going++] : h->triangle[kept++], h->triangle[t], sizeof *gone);
    }
    for (size_t t = 0; t < going; t++)
        for (int k = 0; k < 3; k++) seen[gone[t][k]][gone[t][next[k]]] = true;
    for (size_t t = 0; t < going; t++)
        for (int k = 0; k < 3; k++) {
            const int32_t a = gone[t][k], b = gone[t][next[k]];
            if (seen[b][a]) continue;
            if (kept == HULL_TRIANGLES) return false;
            memcpy(h->triangle[kept++], (const int32_t[]){a, b, (int32_t)h->corners}, sizeof *gone);
        }
    h->triangles = kept;
    memcpy(h->corner[h->corners++], x, sizeof h->corner[0]);
    return true;
}

// Corners that no triangle has any more go.
static void tidy(Hull *h) {
    int32_t number[HULL_POINTS];
    bool used[HULL_POINTS] = {false};
    size_t kept = 0;
    for (size_t t = 0; t < 3 * h->triangles; t++) used[h->triangle[t / 3][t % 3]] = true;
    for (size_t p = 0; p < h->corners; p++) {
        number[p] = (int32_t)kept;
        if (used[p]) memmove(h->corner[kept++], h->corner[p], sizeof h->corner[0]);
    }
    h->corners = kept;
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
    while (good && out->corners < HULL_POINTS) {
        double most = OUTSIDE * extent;
        size_t farthest = count;
        for (size_t i = 0; i < count; i++) {
            const double far = outside(out, x + 3 * i);
            if (far > most) most = far, farthest = i;
        }
        if (farthest == count) break;
        good = add(x + 3 * farthest, out);
    }
    tidy(out);
    if (!good || out->triangles != 2 * out->corners - 4) *out = (Hull){0}; // rounding made it no closed surface
}

bool hull_holds(const Hull *hull, const double x[3]) { return hull->corners > 0 && outside(hull, x) < 0; }

void hull_refine(Hull *h, double length) {
    while (h->corners < HULL_POINTS) {
        double most = length * length;
        int32_t ends[2] = {-1, -1};
        for (size_t i = 0; i < 3 * h->triangles; i++) {
            const int32_t a = h->triangle[i / 3][i % 3], b = h->triangle[i / 3][(i + 1) % 3];
            double e[3];
            vector_between(h->corner[0], a, b, e);
            if (vector_dot(e, e) > most) most = vector_dot(e, e), ends[0] = a, ends[1] = b;
        }
        if (ends[0] < 0) return;
        const int32_t middle = (int32_t)h->corners++;
        for (int c = 0; c < 3; c++) h->corner[middle][c] = (h->corner[ends[0]][c] + h->corner[ends[1]][c]) / 2;
        for (size_t t = 0, count = h->triangles; t < count; t++)
            for (int k = 0; k < 3; k++) {
                const int32_t a = h->triangle[t][k], b = h->triangle[t][(k + 1) % 3], c = h->triangle[t][(k + 2) % 3];
                if (!(a == ends[0] && b == ends[1]) && !(a == ends[1] && b == ends[0])) continue;
                memcpy(h->triangle[t], (const int32_t[]){a, middle, c}, sizeof h->triangle[t]);
                memcpy(h->triangle[h->triangles++], (const int32_t[]){middle, b, c}, sizeof h->triangle[t]);
                break;
            }
    }
}
