// SPDX-License-Identifier: Apache-2.0
#include "motion/bodies.h"

#include "base/union_find.h"
#include "motion/nearest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LINKS = 8, FIT_PASSES = 6, FEWEST = 6 }; // FEWEST: points of a body that is split off
static const double TOLERANCE = 0.0015;         // times X: how far motions of points of a body may be apart
static const double FOLLOWS = 2;                // tolerances: how far a point's motion may be from its body's
static const double PAIR_COLOUR = 0.1;          // of the colour length: shading does not move with a body
static const double REACH = 3;                  // times the usual distance of neighbours: how far a link goes
static const double TURN_LEVER = 0.025;         // times X: what a point's own turn counts as

static double square(double x) { return x * x; }

static void swap(double *a, double *b) {
    double held = *a;
    *a = *b, *b = held;
}

// Halves the part that holds the place until one value is left (Hoare 1961).
double bodies_median(double *values, size_t count) {
    size_t middle = count / 2, first = 0, end = count;
    while (end - first > 1) {
        double pivot = values[first + (end - 1 - first) / 2]; // never the last
        size_t i = first, j = end - 1;
        while (true) {
            while (values[i] < pivot) i++;
            while (pivot < values[j]) j--;
            if (i >= j) break;
            swap(&values[i++], &values[j--]);
        }
        size_t split = j + 1; // values before it are at most the pivot, the others at least
        if (middle < split) end = split;
        else first = split;
    }
    return count ? values[middle] : 0;
}

void bodies_free(Bodies *bodies) {
    free(bodies->body);
    free(bodies->list);
    *bodies = (Bodies){0};
}

// ---- links

// The motion at x, from point i's motion and its gradient.
static void motion_at(const MotionField *f, size_t i, const real *x, double *out) {
    for (size_t c = 0; c < 3; c++) {
        out[c] = (double)f->motion[3 * i + c];
        for (size_t d = 0; d < 3; d++)
            out[c] += (double)f->gradient[9 * i + 3 * c + d] * ((double)x[d] - (double)f->position[3 * i + d]);
    }
}

static double disagreement(const MotionField *f, size_t i, size_t j) {
    double sum = 0;
    for (int way = 0; way < 2; way++) {
        size_t a = way ? i : j, b = way ? j : i;
        double said[3];
        motion_at(f, a, f->position + 3 * b, said);
        for (size_t c = 0; c < 3; c++) sum += square(said[c] - (double)f->motion[3 * b + c]) / 2;
    }
    return sqrt(sum);
}

// The LINKS points nearest to each; index -1 where there are fewer.
typedef struct Near {
    double *d2;     // (count, LINKS)
    int32_t *index; // (count, LINKS)
} Near;

// In position and colour.
static void find_near(const MotionField *f, double colour, const Near *near) {
    for (size_t i = 0; i < f->count; i++) {
        double *d2 = near->d2 + i * LINKS;
        int32_t *index = near->index + i * LINKS;
        size_t found = 0;
        for (size_t j = 0; j < f->count; j++) {
            double apart2 = squared_distance(f->position + 3 * i, f->position + 3 * j);
            if (j == i || (found == LINKS && !(apart2 < d2[LINKS - 1]))) continue; // most: colours need not be read
            apart2 += square(colour) * squared_distance(f->colour + 3 * i, f->colour + 3 * j);
            found = nearest_keep(d2, index, found, LINKS, apart2, j);
        }
        for (; found < LINKS; found++) index[found] = -1;
    }
}

// Usual distance of a point's third neighbour.
static double usual_distance(const Near *near, size_t count, double *values) {
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        if (near->index[i * LINKS + 2] >= 0) values[found++] = sqrt(near->d2[i * LINKS + 2]);
    return bodies_median(values, found);
}

// Motions of neighbours differ by noise too.
static double link_tolerance(const MotionField *f, BodyLengths l, const Near *near, double *values) {
    size_t count = 0;
    for (size_t i = 0; i < f->count; i++)
        if (near->index[i * LINKS] >= 0) values[count++] = disagreement(f, i, (size_t)near->index[i * LINKS]);
    return fmax(TOLERANCE * l.extent, bodies_median(values, count));
}

static void link_points(const MotionField *f, double tolerance, const Near *near, double reach, int32_t *parent) {
    for (size_t i = 0; i < f->count; i++) parent[i] = (int32_t)i;
    for (size_t k = 0; k < f->count * LINKS; k++) {
        int32_t other = near->index[k];
        if (other < 0 || near->d2[k] > reach * reach) continue;
        if (disagreement(f, k / LINKS, (size_t)other) > tolerance) continue;
        union_find_join(parent, (int32_t)(k / LINKS), other);
    }
}

// ---- fits

// The rotation nearest to a matrix of positive determinant (Higham 1986).
static void nearest_rotation(double *m) {
    for (int pass = 0; pass < 30; pass++) {
        double inv[9], det = 0, change = 0;
        for (int i = 0; i < 9; i++) {
            int r = i / 3, c = i % 3, r1 = (r + 1) % 3, r2 = (r + 2) % 3, c1 = (c + 1) % 3, c2 = (c + 2) % 3;
            inv[i] = m[3 * r1 + c1] * m[3 * r2 + c2] - m[3 * r1 + c2] * m[3 * r2 + c1]; // inverse transposed, times det
        }
        for (int c = 0; c < 3; c++) det += m[c] * inv[c];
        if (!(det > 1e-300)) break;
        for (int i = 0; i < 9; i++) {
            double next = (m[i] + inv[i] / det) / 2;
            change += square(next - m[i]);
            m[i] = next;
        }
        if (change < 1e-24) break;
    }
}

void body_place_before(const Body *b, const real *x, double out[3]) {
    double r[3];
    for (int c = 0; c < 3; c++) r[c] = (double)x[c] - (double)b->centre[c];
    for (int c = 0; c < 3; c++) {
        out[c] = (double)b->centre[c] - (double)b->shift[c];
        for (int d = 0; d < 3; d++) out[c] += (double)b->turn[3 * d + c] * r[d];
    }
}

static double point_error(const MotionField *f, const Body *b, size_t i) {
    double before[3], sum = 0;
    body_place_before(b, f->position + 3 * i, before);
    for (size_t c = 0; c < 3; c++)
        sum += square((double)f->position[3 * i + c] - (double)f->motion[3 * i + c] - before[c]);
    return sqrt(sum);
}

// Some points of a field, with weights, and their weighted means now and before.
typedef struct Weighted {
    const MotionField *field;
    const int32_t *index;
    size_t count;
    const double *weight;
    double total, now[3], was[3];
} Weighted;

static void add_means(Weighted *w) {
    const MotionField *f = w->field;
    w->total = 1e-300;
    for (size_t c = 0; c < 3; c++) w->now[c] = w->was[c] = 0;
    for (size_t k = 0; k < w->count; k++) {
        size_t i = 3 * (size_t)w->index[k];
        w->total += w->weight[k];
        for (size_t c = 0; c < 3; c++) {
            w->now[c] += w->weight[k] * (double)f->position[i + c];
            w->was[c] += w->weight[k] * (double)(f->position[i + c] - f->motion[i + c]);
        }
    }
    for (int c = 0; c < 3; c++) w->now[c] /= w->total, w->was[c] /= w->total;
}

// What a point of weight 1 adds to entry (r, d) of the rotation from before to now: by its place, and by the gradient
// of its motion.
static double turn_entry(const Weighted *w, size_t i, size_t r, size_t d, double lever) {
    const MotionField *f = w->field;
    double x = (double)f->position[3 * i + r] - w->now[r],
           y = (double)(f->position[3 * i + d] - f->motion[3 * i + d]) - w->was[d];
    return x * y + lever * ((r == d) - (double)f->gradient[9 * i + 3 * d + r]);
}

// Weighted fit of rotation and shift to the points and the gradients of their motion.
static void fit_once(Weighted *w, BodyLengths l, Body *b) {
    double h[9] = {0}, lever = square(TURN_LEVER * l.extent);
    add_means(w);
    for (size_t k = 0; k < w->count; k++)
        for (size_t c = 0; c < 9; c++)
            h[c] += w->weight[k] / w->total * turn_entry(w, (size_t)w->index[k], c / 3, c % 3, lever);
    for (int c = 0; c < 9; c++) h[c] /= lever;
    nearest_rotation(h);
    for (int c = 0; c < 9; c++) b->turn[c] = (real)h[c];
    for (int c = 0; c < 3; c++) {
        double before = w->was[c]; // of the centre
        for (int d = 0; d < 3; d++) before += h[3 * d + c] * ((double)b->centre[d] - w->now[d]);
        b->shift[c] = (real)((double)b->centre[c] - before);
    }
}

static void set_centre(const MotionField *f, const int32_t *index, size_t count, Body *b) {
    for (int c = 0; c < 3; c++) {
        double sum = 0;
        for (size_t k = 0; k < count; k++) sum += (double)f->position[3 * (size_t)index[k] + (size_t)c];
        b->centre[c] = (real)(sum / (double)count);
    }
}

// Robust: weights fall with the square of the error. values (count) is used.
static void fit_body(const MotionField *f, BodyLengths l, const int32_t *index, size_t count, double *values, Body *b) {
    Weighted w = {.field = f, .index = index, .count = count, .weight = values};
    set_centre(f, index, count, b);
    b->count = count;
    for (size_t k = 0; k < count; k++) values[k] = 1;
    for (int pass = 0; pass < FIT_PASSES; pass++) {
        fit_once(&w, l, b);
        for (size_t k = 0; k < count; k++)
            values[k] = square(1 / (1 + square(point_error(f, b, (size_t)index[k]) / (0.5 * TOLERANCE * l.extent))));
    }
}

// ---- finding

typedef struct Work {
    Near near;
    int32_t *parent, *index;
    double *values;
} Work;

static size_t gather(const Bodies *b, int32_t body, int32_t *index) {
    size_t count = 0;
    for (size_t i = 0; i < b->points; i++)
        if (b->body[i] == body) index[count++] = (int32_t)i;
    return count;
}

// Points that do not follow their body's motion become the last body. False if they or those that do are few.
static bool split_off(const MotionField *f, BodyLengths l, Work *w, size_t b, Bodies *out) {
    size_t all = gather(out, (int32_t)b, w->index), off = 0;
    for (size_t k = 0; k < all; k++)
        if (point_error(f, &out->list[b], (size_t)w->index[k]) > FOLLOWS * TOLERANCE * l.extent)
            w->index[off++] = w->index[k];
    if (off < FEWEST || all - off < FEWEST) return false;
    for (size_t k = 0; k < off; k++) out->body[w->index[k]] = (int32_t)out->count;
    out->count++;
    return true;
}

static void fit_one(const MotionField *f, BodyLengths l, Work *w, size_t b, Bodies *out) {
    fit_body(f, l, w->index, gather(out, (int32_t)b, w->index), w->values, &out->list[b]);
}

// Two bodies that touch may be linked: the motion of one is fitted, and the other is split off.
static void fit_all(const MotionField *f, BodyLengths l, Work *w, Bodies *out) {
    for (size_t b = 0; b < out->count; b++) {
        fit_one(f, l, w, b, out);
        if (split_off(f, l, w, b, out)) fit_one(f, l, w, b, out);
    }
}

static void find(const MotionField *f, BodyLengths l, Work *w, Bodies *out) {
    find_near(f, PAIR_COLOUR * l.colour_length, &w->near);
    double reach = REACH * usual_distance(&w->near, f->count, w->values);
    link_points(f, link_tolerance(f, l, &w->near, w->values), &w->near, reach, w->parent);
    // A root is the first point of its body.
    for (size_t i = 0; i < f->count; i++) {
        int32_t root = union_find_root(w->parent, (int32_t)i);
        out->body[i] = root == (int32_t)i ? (int32_t)out->count++ : out->body[root];
    }
    fit_all(f, l, w, out);
}

Status bodies_find(const MotionField *field, BodyLengths lengths, Bodies *out, Error *err) {
    size_t n = field->count;
    *out = (Bodies){n, 0, malloc((n + 1) * sizeof *out->body), calloc(n + 1, sizeof *out->list)};
    Work w = {{malloc((n + 1) * LINKS * sizeof *w.near.d2), malloc((n + 1) * LINKS * sizeof *w.near.index)},
              malloc((n + 1) * sizeof *w.parent),
              malloc((n + 1) * sizeof *w.index),
              malloc((n + 1) * sizeof *w.values)};
    bool ok = out->body && out->list && w.near.d2 && w.near.index && w.parent && w.index && w.values;
    if (ok) find(field, lengths, &w, out);
    else bodies_free(out);
    free(w.near.d2);
    free(w.near.index);
    free(w.parent);
    free(w.index);
    free(w.values);
    return ok ? STATUS_OK : error_set(err, STATUS_FAILED, "out of memory for the bodies of %zu points", n);
}

// ---- the field

static void put_motion(const Body *b, MotionField *f, size_t i) {
    double before[3];
    body_place_before(b, f->position + 3 * i, before);
    for (size_t c = 0; c < 3; c++) {
        f->motion[3 * i + c] = (real)((double)f->position[3 * i + c] - before[c]);
        for (size_t d = 0; d < 3; d++) f->gradient[9 * i + 3 * c + d] = (real)(c == d) - b->turn[3 * d + c];
    }
}

void bodies_put(const Bodies *b, MotionField *f) {
    for (size_t i = 0; i < f->count; i++) {
        if (i < b->points) f->body[i] = (real)b->body[i];
        memset(f->motion + 3 * i, 0, 3 * sizeof *f->motion);
        memset(f->gradient + 9 * i, 0, 9 * sizeof *f->gradient);
        if (f->body[i] >= 0 && f->body[i] < (real)b->count) put_motion(&b->list[(size_t)f->body[i]], f, i);
    }
}
