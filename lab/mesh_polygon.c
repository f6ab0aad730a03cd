// SPDX-License-Identifier: Apache-2.0
// Polygons as triangles.
#include "base/vector.h"
#include "lab/mesh.h"

#include <math.h>
#include <string.h>

// Twice the area by the square of the longest edge, below which a triangle is flat (mesh_check takes half of it).
#define FLAT 2e-6

typedef struct Polygon {
    double at[MESH_CORNERS_MAX][3]; // metres from the first corner
    double normal[3];               // of length 1, by Newell's sum over the sides; 0: the polygon has no area
    int count;
} Polygon;

static Polygon make_polygon(const Mesh *mesh, const int32_t *corners, int count) {
    Polygon out = {.count = count};
    for (int i = 0; i < count; i++) vector_between(mesh->position, corners[0], corners[i], out.at[i]);
    for (int i = 0; i < count; i++) {
        double side[3];
        vector_cross(out.at[i], out.at[(i + 1) % count], side);
        for (int c = 0; c < 3; c++) out.normal[c] += side[c];
    }
    const double length = sqrt(vector_dot(out.normal, out.normal));
    for (int c = 0; c < 3 && length > 0; c++) out.normal[c] /= length;
    return out;
}

// Twice the area of a triangle of corners, seen along the normal; negative: it turns the other way.
static double turn(const Polygon *polygon, int a, int b, int c) {
    double first[3], second[3], across[3];
    for (int i = 0; i < 3; i++) {
        first[i] = polygon->at[b][i] - polygon->at[a][i];
        second[i] = polygon->at[c][i] - polygon->at[a][i];
    }
    vector_cross(first, second, across);
    return vector_dot(across, polygon->normal);
}

static double distance2(const Polygon *polygon, int a, int b) {
    double sum = 0;
    for (int i = 0; i < 3; i++) sum += pow(polygon->at[a][i] - polygon->at[b][i], 2);
    return sum;
}

// `turn` by the square of the longest edge.
static double shape(const Polygon *polygon, int a, int b, int c) {
    const double longest2 = fmax(fmax(distance2(polygon, a, b), distance2(polygon, b, c)), distance2(polygon, c, a));
    return longest2 > 0 ? turn(polygon, a, b, c) / longest2 : 0;
}

static bool is_fan(const Polygon *polygon) {
    for (int i = 2; i < polygon->count; i++)
        if (!(shape(polygon, 0, i - 1, i) > FLAT)) return false;
    return true;
}

// Whether none of the corners left lies in the triangle, except those at the place of one of its own.
static bool is_empty(const Polygon *polygon, const int *left, int count, int a, int b, int c) {
    for (int i = 0; i < count; i++) {
        const int p = left[i];
        const bool own =
            distance2(polygon, p, a) <= 0 || distance2(polygon, p, b) <= 0 || distance2(polygon, p, c) <= 0;
        if (!own && turn(polygon, a, b, p) >= 0 && turn(polygon, b, c, p) >= 0 && turn(polygon, c, a, p) >= 0)
            return false;
    }
    return true;
}

// Place among the corners left of the ear of the best shape; -1: there is none.
static int best_ear(const Polygon *polygon, const int *left, int count) {
    double best = FLAT;
    int found = -1;
    for (int i = 0; i < count; i++) {
        const int a = left[(i + count - 1) % count], b = left[i], c = left[(i + 1) % count];
        const double now = shape(polygon, a, b, c);
        if (now > best && is_empty(polygon, left, count, a, b, c)) best = now, found = i;
    }
    return found;
}

bool mesh_polygon(const Mesh *mesh, const int32_t *corners, int count, int32_t (*out)[3]) {
    const Polygon polygon = make_polygon(mesh, corners, count);
    int left[MESH_CORNERS_MAX], made = 0;
    if (count == 3 || is_fan(&polygon)) {
        for (int i = 2; i < count; i++)
            memcpy(out[made++], (int32_t[]){corners[0], corners[i - 1], corners[i]}, sizeof *out);
        return true;
    }
    for (int i = 0; i < count; i++) left[i] = i;
    for (int n = count; n >= 3; n--) {
        const int ear = best_ear(&polygon, left, n);
        if (ear < 0) return false;
        memcpy(out[made++],
               (int32_t[]){corners[left[(ear + n - 1) % n]], corners[left[ear]], corners[left[(ear + 1) % n]]},
               sizeof *out);
        memmove(left + ear, left + ear + 1, (size_t)(n - 1 - ear) * sizeof *left);
    }
    return true;
}
