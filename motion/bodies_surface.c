// SPDX-License-Identifier: Apache-2.0
#include "motion/bodies_surface.h"

#include "motion/nearest.h"
#include "motion/plane_fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Points of a normal, at most and at least; points of a known flatness; points whose nearest is searched.
enum { PLANE = 9, PLANE_POINTS = 3, PLANE_LEAST = 4, GAPS_SEEN = 64 };
enum { PAIRS = 500000 }; // of pixels of the same cell, at most: the time of the search follows their number
static const double NEAR_MOVING = 0.06; // times X: pixels so near to moving ones are looked at
static const double CELL_GAPS = 2;      // a cell spans so many usual distances at least
static const double FLAT = 0.03;        // share of the spread across a surface: it counts half there

// ---- grid

enum { CELL_BITS = 21 };

// z stands highest. Cells far outside share the outermost.
static uint64_t cell_key(const int64_t *cell) {
    const int64_t half = 1 << (CELL_BITS - 1);
    uint64_t key = 0;
    for (int c = 2; c >= 0; c--) {
        int64_t place = cell[c] < 2 - half ? 2 - half : cell[c] > half - 2 ? half - 2 : cell[c];
        key = key << CELL_BITS | (uint64_t)(place + half);
    }
    return key;
}

Around surface_around(const Surface *s, const real *x) {
    Around a;
    for (int c = 0; c < 3; c++) {
        double place = (double)x[c] / s->cell;
        a.cell[c] = (int64_t)place;
        a.cell[c] -= (double)a.cell[c] > place; // down, without a call of floor
    }
    a.key = cell_key(a.cell);
    return a;
}

// The slot of a cell's run, or an empty one.
static Run *find_slot(const Surface *s, uint64_t key) {
    size_t at = (size_t)(key * 0x9e3779b97f4a7c15u >> 32) & (s->runs - 1);
    while (s->run[at].last && s->run[at].key != key) at = (at + 1) & (s->runs - 1);
    return &s->run[at];
}

const Run *surface_run(const Surface *s, const Around *a, int number) {
    int64_t y = number % 3 - 1, z = number / 3 - 1;
    const Run *run = find_slot(s, a->key + (uint64_t)(y * (1 << CELL_BITS)) + (uint64_t)(z * (1ll << 2 * CELL_BITS)));
    return run->last ? run : NULL;
}

// The smallest power of two of at least `count`.
static size_t table_size(size_t count) {
    size_t size = 1;
    while (size < count) size *= 2;
    return size;
}

static void sort_points(Surface *s) {
    for (size_t i = 0; i < s->count; i++) s->order[i] = (Keyed){surface_around(s, s->x + 3 * i).key, (int32_t)i};
    choose_sort(s->order, s->count);
    for (size_t p = 0; p < 6 * s->count; p++) {
        size_t i = 3 * (size_t)s->order[p / 6].index + p % 3;
        s->row[p] = (double)(p % 6 < 3 ? s->x[i] : s->c[i]);
    }
}

// The place in the grid's order behind the cell that begins at `first`.
static size_t cell_end(const Surface *s, size_t first) {
    size_t last = first + 1;
    while (last < s->count && s->order[last].key == s->order[first].key) last++;
    return last;
}

// A cell belongs to its own run and to those of the two beside it. The table is at most three quarters full.
static void fill_grid(Surface *s) {
    size_t cells = 0;
    sort_points(s);
    for (size_t p = 0; p < s->count; p++) cells += p == 0 || s->order[p].key != s->order[p - 1].key;
    s->runs = table_size(4 * cells + 1);
    memset(s->run, 0, s->runs * sizeof *s->run);
    for (size_t first = 0, last; first < s->count; first = last) {
        uint64_t key = s->order[first].key;
        last = cell_end(s, first);
        for (uint64_t near = key - 1; near <= key + 1; near++) {
            Run *run = find_slot(s, near);
            *run = (Run){near, run->last ? run->first : (int32_t)first, (int32_t)last};
        }
    }
}

// ---- surfaces

Surface surface_make(size_t n) {
    Surface s = {.cell = 1};
    s.x = malloc((3 * n + 1) * sizeof *s.x);
    s.c = malloc((3 * n + 1) * sizeof *s.c);
    s.normal = malloc((3 * n + 1) * sizeof *s.normal);
    s.flat = malloc((n + 1) * sizeof *s.flat);
    s.label = malloc((n + 1) * sizeof *s.label);
    s.pixel = malloc((n + 1) * sizeof *s.pixel);
    s.outside = malloc(n + 1);
    s.order = malloc((n + 1) * sizeof *s.order);
    s.row = malloc((6 * n + 1) * sizeof *s.row);
    s.run = malloc(table_size(4 * n + 1) * sizeof *s.run);
    return s;
}

bool surface_ready(const Surface *s) {
    return s->x && s->c && s->normal && s->flat && s->label && s->pixel && s->outside && s->order && s->row && s->run;
}

void surface_free(Surface *s) {
    free(s->x);
    free(s->c);
    free(s->normal);
    free(s->flat);
    free(s->label);
    free(s->pixel);
    free(s->outside);
    free(s->order);
    free(s->row);
    free(s->run);
}

static void surface_add(Surface *s, const PointCloud *cloud, size_t i, double colour) {
    for (size_t d = 0; d < 3; d++) {
        s->x[3 * s->count + d] = cloud->position[3 * i + d];
        s->c[3 * s->count + d] = (real)(colour * (double)cloud->colour[3 * i + d]);
    }
    s->pixel[s->count++] = (int32_t)i;
}

static void measure_normal(Surface *s, size_t i) {
    double near[PLANE];
    int32_t index[PLANE];
    size_t k = 0;
    PlaneFit plane;
    for (Walk w = walk_begin(s, s->x + 3 * i); walk_next(&w);) {
        size_t j = (size_t)w.index;
        double d2 = surface_apart2(s, i, j);
        k = nearest_keep(near, index, k, PLANE, d2, j);
    }
    plane_fit(s->x, index, k, &plane);
    for (size_t c = 0; c < 3; c++) s->normal[3 * i + c] = k < PLANE_POINTS ? 0 : plane.normal[c];
    s->flat[i] = k < PLANE_LEAST ? 0 : 1 / (1 + squared(plane.off / (plane.apart + 1e-12) / FLAT));
}

// Usual distance of a point to its nearest: the median of some points.
static double usual_gap(const Surface *s) {
    double gap2s[GAPS_SEEN];
    size_t seen = s->count < GAPS_SEEN ? s->count : GAPS_SEEN, found = 0;
    for (size_t k = 0; k < seen; k++) {
        size_t i = k * s->count / seen;
        double least = INFINITY;
        for (Walk w = walk_begin(s, s->x + 3 * i); walk_next(&w);)
            if ((size_t)w.index != i) least = fmin(least, squared_distance(s->x + 3 * (size_t)w.index, s->x + 3 * i));
        if (isfinite(least)) gap2s[found++] = least;
    }
    return sqrt(bodies_median(gap2s, found));
}

void surface_grid(Surface *s, double cell) {
    s->cell = cell;
    fill_grid(s);
}

static bool near_moving(const Surface *s, const real *x, double reach) {
    for (Walk w = walk_begin(s, x); walk_next(&w);)
        if ((size_t)w.index < s->first_still && squared_distance(s->x + 3 * (size_t)w.index, x) < squared(reach))
            return true;
    return false;
}

// ---- dense pictures

// Pairs of points of the same cell, a point with itself too, if cells keep `most` points at most.
static size_t count_pairs(const Surface *s, size_t most) {
    size_t pairs = 0;
    for (size_t first = 0, last; first < s->count; first = last) {
        last = cell_end(s, first);
        size_t kept = last - first < most ? last - first : most;
        pairs += kept * kept;
    }
    return pairs;
}

// The largest number of points that cells may keep, at least 1.
static size_t most_of_cell(const Surface *s) {
    size_t most = 1, too_many = s->count + 1;
    if (count_pairs(s, s->count) <= PAIRS) return s->count;
    while (too_many - most > 1) {
        size_t middle = most + (too_many - most) / 2;
        if (count_pairs(s, middle) <= PAIRS) most = middle;
        else too_many = middle;
    }
    return most;
}

// Sets s->label to 1 for points beyond the `most` of their cell whose pixels have the smallest keys, which are the same
// in all frames; 0 for others. Spoils the order.
static void mark_left_out(Surface *s, const PointCloud *cloud, size_t most) {
    const RandomKey key = {.seed = 1, .purpose = RANDOM_THIN};
    for (size_t first = 0, last; first < s->count; first = last) {
        last = cell_end(s, first);
        for (size_t p = first; p < last; p++)
            s->order[p].key = choose_key(key, (uint64_t)cloud->pixel[s->pixel[s->order[p].index]]);
        choose_sort(s->order + first, last - first);
        for (size_t p = first; p < last; p++) s->label[s->order[p].index] = p - first >= most;
    }
}

// Points that are left out go behind the others; else all stay in order.
static void thin(Surface *s, const PointCloud *cloud, double colour) {
    size_t most = most_of_cell(s), all = s->count, moving = s->first_still, kept = 0;
    if (most >= all) return;
    mark_left_out(s, cloud, most);
    s->first_still = 0;
    for (size_t i = 0; i < all; i++)
        if (!s->label[i]) s->order[kept++].index = s->pixel[i], s->first_still += i < moving;
    for (size_t i = 0, at = kept; i < all; i++)
        if (s->label[i]) s->order[at++].index = s->pixel[i];
    s->count = 0;
    for (size_t p = 0; p < all; p++) surface_add(s, cloud, (size_t)s->order[p].index, colour);
    s->count = kept;
    surface_grid(s, s->cell);
}

void surface_fill(Surface *s, const PointCloud *cloud, const Planes *planes, BodyLengths l) {
    double colour = SURFACE_COLOUR * l.colour_length, reach = NEAR_MOVING * l.extent;
    for (size_t i = 0; i < cloud->count; i++)
        if (cloud->moving[i] > 0) surface_add(s, cloud, i, colour);
    s->first_still = s->count;
    surface_grid(s, reach);
    double gap = usual_gap(s);
    for (size_t i = 0; i < cloud->count; i++)
        if (!(cloud->moving[i] > 0) &&
            (planes_outside(planes, cloud->position + 3 * i) || near_moving(s, cloud->position + 3 * i, reach)))
            surface_add(s, cloud, i, colour);
    surface_grid(s, fmax(SURFACE_CELL * l.extent, CELL_GAPS * gap));
    s->all = s->count;
    thin(s, cloud, colour);
    for (size_t i = 0; i < s->count; i++) {
        s->outside[i] = planes_outside(planes, s->x + 3 * i);
        measure_normal(s, i);
    }
}
