// SPDX-License-Identifier: Apache-2.0
#include "motion/bodies_surface.h"

#include "motion/rigid.h"

#include <math.h>
#include <stdlib.h>

enum { PLANE = 9, PLANE_LEAST = 4 };    // points of a normal
static const double NEAR_MOVING = 0.06; // times X: pixels so near to moving ones are looked at
static const double FLAT = 0.03;        // share of the spread across a surface: it counts half there

// ---- grid

static uint64_t cell_key(const int64_t *cell) {
    uint64_t key = 0;
    for (int c = 0; c < 3; c++) key = key << 21 | ((uint64_t)cell[c] & 0x1fffff);
    return key;
}

static int32_t *key_bucket(const Surface *s, uint64_t key) {
    return &s->bucket[(key * 0x9e3779b97f4a7c15u >> 32) % s->buckets];
}

static void cell_of(const Surface *s, const real *x, int64_t *cell) {
    for (int c = 0; c < 3; c++) cell[c] = (int64_t)floor((double)x[c] / s->cell);
}

static void fill_grid(Surface *s) {
    for (size_t i = 0; i < s->buckets; i++) s->bucket[i] = -1;
    for (size_t i = s->count; i-- > 0;) {
        int64_t cell[3];
        cell_of(s, s->x + 3 * i, cell);
        s->key[i] = cell_key(cell);
        int32_t *bucket = key_bucket(s, s->key[i]);
        s->next[i] = *bucket;
        *bucket = (int32_t)i;
    }
}

Walk walk_begin(const Surface *s, const real *x) {
    Walk w = {.s = s, .step = -1, .index = -1};
    cell_of(s, x, w.cell);
    return w;
}

bool walk_next(Walk *w) {
    const Surface *s = w->s;
    if (w->index >= 0) w->index = s->next[w->index];
    for (;;) {
        while (w->index >= 0 && s->key[w->index] != w->at) w->index = s->next[w->index];
        if (w->index >= 0) return true;
        if (++w->step == 27) return false;
        int64_t cell[3];
        for (int c = 0, part = w->step; c < 3; c++, part /= 3) cell[c] = w->cell[c] + part % 3 - 1;
        w->at = cell_key(cell);
        w->index = *key_bucket(s, w->at);
    }
}

// ---- surfaces

Surface surface_make(size_t n) {
    Surface s = {.cell = 1, .buckets = 2 * n + 1};
    s.x = malloc((3 * n + 1) * sizeof *s.x);
    s.c = malloc((3 * n + 1) * sizeof *s.c);
    s.normal = malloc((3 * n + 1) * sizeof *s.normal);
    s.flat = malloc((n + 1) * sizeof *s.flat);
    s.label = malloc((n + 1) * sizeof *s.label);
    s.pixel = malloc((n + 1) * sizeof *s.pixel);
    s.bucket = malloc(s.buckets * sizeof *s.bucket);
    s.next = malloc((n + 1) * sizeof *s.next);
    s.key = malloc((n + 1) * sizeof *s.key);
    return s;
}

bool surface_ready(const Surface *s) {
    return s->x && s->c && s->normal && s->flat && s->label && s->pixel && s->bucket && s->next && s->key;
}

void surface_free(Surface *s) {
    free(s->x);
    free(s->c);
    free(s->normal);
    free(s->flat);
    free(s->label);
    free(s->pixel);
    free(s->bucket);
    free(s->next);
    free(s->key);
}

static void surface_add(Surface *s, const PointCloud *cloud, size_t i, double colour) {
    for (size_t d = 0; d < 3; d++) {
        s->x[3 * s->count + d] = cloud->position[3 * i + d];
        s->c[3 * s->count + d] = (real)(colour * (double)cloud->colour[3 * i + d]);
    }
    s->pixel[s->count++] = (int32_t)i;
}

static void measure_normal(Surface *s, size_t i) {
    double near[PLANE], mean[3] = {0}, spread[9] = {0}, wide = 0;
    size_t index[PLANE], k = 0;
    for (Walk w = walk_begin(s, s->x + 3 * i); walk_next(&w);) {
        size_t j = (size_t)w.index;
        double d2 = gap2(s->x + 3 * i, s->x + 3 * j) + gap2(s->c + 3 * i, s->c + 3 * j);
        if (k == PLANE && !(d2 < near[k - 1])) continue;
        size_t m = k < PLANE ? k++ : k - 1;
        for (; m > 0 && near[m - 1] > d2; m--) near[m] = near[m - 1], index[m] = index[m - 1];
        near[m] = d2, index[m] = j;
    }
    for (size_t m = 0; m < k; m++)
        for (size_t c = 0; c < 3; c++) mean[c] += (double)s->x[3 * index[m] + c] / (double)k;
    for (size_t m = 0; m < k; m++)
        for (size_t c = 0; c < 9; c++)
            spread[c] +=
                ((double)s->x[3 * index[m] + c / 3] - mean[c / 3]) * ((double)s->x[3 * index[m] + c % 3] - mean[c % 3]);
    for (size_t c = 0; c < 3; c++) wide += spread[4 * c];
    rigid_least_direction(spread, s->normal + 3 * i);
    double off = fmin(spread[0], fmin(spread[4], spread[8])); // eigenvalues are on the diagonal now
    s->flat[i] = k < PLANE_LEAST ? 0 : 1 / (1 + squared(off / (wide + 1e-12) / FLAT));
}

void surface_fill(Surface *s, const PointCloud *cloud, BodyLengths l) {
    double colour = SURFACE_COLOUR * l.colour_length;
    for (size_t i = 0; i < cloud->count; i++)
        if (cloud->moving[i] > 0) surface_add(s, cloud, i, colour);
    s->first_still = s->count;
    s->cell = NEAR_MOVING * l.extent;
    fill_grid(s);
    size_t moving = s->count;
    for (size_t i = 0; i < cloud->count; i++) {
        if (cloud->moving[i] > 0) continue;
        for (Walk w = walk_begin(s, cloud->position + 3 * i); walk_next(&w);)
            if ((size_t)w.index < moving &&
                gap2(s->x + 3 * (size_t)w.index, cloud->position + 3 * i) < squared(NEAR_MOVING * l.extent)) {
                surface_add(s, cloud, i, colour);
                break;
            }
    }
    s->cell = SURFACE_CELL * l.extent;
    fill_grid(s);
    for (size_t i = 0; i < s->count; i++) measure_normal(s, i);
}
