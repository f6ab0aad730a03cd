// SPDX-License-Identifier: Apache-2.0
#include "motion/bodies.h"

#include "motion/rigid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LINKS = 8, FIT_PASSES = 6, FEWEST = 1 };
static const double TOLERANCE = 0.0015; // times X: how far motions of points of a body may be apart
static const double PAIR_COLOUR = 0.1;  // of the colour length: shading does not move with a body
static const double REACH = 3;          // times the usual distance of neighbours: how far a link goes
static const double TURN_LEVER = 0.025; // times X: what a point's own turn counts as

static double square(double x) { return x * x; }

static double distance2(const real *a, const real *b) {
    double sum = 0;
    for (int c = 0; c < 3; c++) sum += square((double)a[c] - (double)b[c]);
    return sum;
}

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_of(double *values, size_t count) {
    qsort(values, count, sizeof *values, compare_doubles);
    return count ? values[count / 2] : 0;
}

void bodies_free(Bodies *bodies) {
    free(bodies->body);
    free(bodies->list);
    *bodies = (Bodies){0};
}

// ---- links

// What point i says of the motion at x.
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

typedef struct Near {
    double d2;
    int32_t index;
} Near;

// The LINKS points nearest to each in position and colour; index -1 where there are fewer.
static void find_near(const MotionField *f, double colour, Near *near) {
    for (size_t i = 0; i < f->count; i++) {
        Near *row = near + i * LINKS;
        for (int k = 0; k < LINKS; k++) row[k] = (Near){INFINITY, -1};
        for (size_t j = 0; j < f->count; j++) {
            double d2 = distance2(f->position + 3 * i, f->position + 3 * j) +
                        square(colour) * distance2(f->colour + 3 * i, f->colour + 3 * j);
            if (j == i || !(d2 < row[LINKS - 1].d2)) continue;
            int k = LINKS - 1;
            for (; k > 0 && row[k - 1].d2 > d2; k--) row[k] = row[k - 1];
            row[k] = (Near){d2, (int32_t)j};
        }
    }
}

static int32_t find_root(int32_t *parent, int32_t i) {
    while (parent[i] != i) i = parent[i] = parent[parent[i]];
    return i;
}

// Usual distance of a point's third neighbour.
static double usual_distance(const Near *near, size_t count, double *values) {
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        if (near[i * LINKS + 2].index >= 0) values[found++] = sqrt(near[i * LINKS + 2].d2);
    return median_of(values, found);
}

// Motions of neighbours differ by noise too.
static double link_tolerance(const MotionField *f, BodyLengths l, const Near *near, double *values) {
    size_t count = 0;
    for (size_t i = 0; i < f->count; i++)
        if (near[i * LINKS].index >= 0) values[count++] = disagreement(f, i, (size_t)near[i * LINKS].index);
    return fmax(TOLERANCE * l.extent, median_of(values, count));
}

static void link_points(const MotionField *f, double tolerance, const Near *near, double reach, int32_t *parent) {
    for (size_t i = 0; i < f->count; i++) parent[i] = (int32_t)i;
    for (size_t i = 0; i < f->count; i++)
        for (int k = 0; k < LINKS; k++) {
            Near n = near[i * LINKS + (size_t)k];
            if (n.index < 0 || n.d2 > reach * reach) continue;
            if (disagreement(f, i, (size_t)n.index) > tolerance) continue;
            int32_t a = find_root(parent, (int32_t)i), b = find_root(parent, n.index);
            if (a != b) parent[a > b ? a : b] = a > b ? b : a;
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

// Where the body's motion says that x was.
static void place_before(const Body *b, const real *x, double *out) {
    double r[3];
    for (int c = 0; c < 3; c++) r[c] = (double)x[c] - (double)b->centre[c];
    for (int c = 0; c < 3; c++) {
        out[c] = (double)b->centre[c] - (double)b->shift[c];
        for (int d = 0; d < 3; d++) out[c] += (double)b->turn[3 * d + c] * r[d];
    }
}

static double point_error(const MotionField *f, const Body *b, size_t i) {
    double before[3], sum = 0;
    place_before(b, f->position + 3 * i, before);
    for (size_t c = 0; c < 3; c++)
        sum += square((double)f->position[3 * i + c] - (double)f->motion[3 * i + c] - before[c]);
    return sqrt(sum);
}

// Weighted fit of the turn and the shift to points and their own turns.
static void fit_once(const MotionField *f, BodyLengths l, const int32_t *index, size_t count, const double *weight,
                     Body *b) {
    double total = 1e-300, now[3] = {0}, was[3] = {0}, h[9] = {0}, lever = square(TURN_LEVER * l.extent);
    for (size_t k = 0; k < count; k++) {
        size_t i = 3 * (size_t)index[k];
        total += weight[k];
        for (size_t c = 0; c < 3; c++) {
            now[c] += weight[k] * (double)f->position[i + c];
            was[c] += weight[k] * (double)(f->position[i + c] - f->motion[i + c]);
        }
    }
    for (int c = 0; c < 3; c++) now[c] /= total, was[c] /= total;
    for (size_t k = 0; k < count; k++) {
        size_t i = (size_t)index[k];
        for (size_t c = 0; c < 9; c++) {
            size_t r = c / 3, d = c % 3; // R: from before to now
            double x = (double)f->position[3 * i + r] - now[r],
                   y = (double)(f->position[3 * i + d] - f->motion[3 * i + d]) - was[d];
            h[c] += weight[k] / total * (x * y + lever * ((r == d) - (double)f->gradient[9 * i + 3 * d + r]));
        }
    }
    for (int c = 0; c < 9; c++) h[c] /= lever;
    nearest_rotation(h);
    for (int c = 0; c < 9; c++) b->turn[c] = (real)h[c];
    for (int c = 0; c < 3; c++) {
        double before = was[c]; // of the centre
        for (int d = 0; d < 3; d++) before += h[3 * d + c] * ((double)b->centre[d] - now[d]);
        b->shift[c] = (real)((double)b->centre[c] - before);
    }
}

// Robust: weights fall with the square of the error. values (count) is used.
static void fit_body(const MotionField *f, BodyLengths l, const int32_t *index, size_t count, double *values, Body *b) {
    for (int c = 0; c < 3; c++) {
        double sum = 0;
        for (size_t k = 0; k < count; k++) sum += (double)f->position[3 * (size_t)index[k] + (size_t)c];
        b->centre[c] = (real)(sum / (double)count);
    }
    b->count = count;
    for (size_t k = 0; k < count; k++) values[k] = 1;
    for (int pass = 0; pass < FIT_PASSES; pass++) {
        fit_once(f, l, index, count, values, b);
        for (size_t k = 0; k < count; k++)
            values[k] = square(1 / (1 + square(point_error(f, b, (size_t)index[k]) / (0.5 * TOLERANCE * l.extent))));
    }
    for (size_t k = 0; k < count; k++) values[k] = point_error(f, b, (size_t)index[k]);
    b->field_residual = (real)median_of(values, count);
}

// ---- finding

typedef struct Work {
    Near *near;
    int32_t *parent, *index;
    double *values;
} Work;

static size_t gather(const Bodies *b, int32_t body, int32_t *index) {
    size_t count = 0;
    for (size_t i = 0; i < b->points; i++)
        if (b->body[i] == body) index[count++] = (int32_t)i;
    return count;
}

static size_t count_members(const int32_t *parent, size_t count, int32_t root) {
    size_t members = 0;
    for (size_t i = 0; i < count; i++) members += parent[i] == root;
    return members;
}

// Points of no body join the body of the nearest point whose motion explains theirs.
static void join_rest(const MotionField *f, BodyLengths l, Work *w, double reach, Bodies *out) {
    for (size_t i = 0; i < f->count; i++) w->parent[i] = out->body[i];
    for (size_t i = 0; i < f->count; i++)
        for (int k = 0; k < LINKS && w->parent[i] < 0; k++) {
            Near n = w->near[i * LINKS + (size_t)k];
            if (n.index < 0 || n.d2 > reach * reach) break;
            int32_t body = out->body[n.index];
            if (body >= 0 && point_error(f, &out->list[body], i) < 2 * TOLERANCE * l.extent) w->parent[i] = body;
        }
    memcpy(out->body, w->parent, f->count * sizeof *out->body);
}

static void find(const MotionField *f, BodyLengths l, Work *w, Bodies *out) {
    find_near(f, PAIR_COLOUR * l.colour_length, w->near);
    double reach = REACH * usual_distance(w->near, f->count, w->values);
    link_points(f, link_tolerance(f, l, w->near, w->values), w->near, reach, w->parent);
    for (size_t i = 0; i < f->count; i++) w->parent[i] = find_root(w->parent, (int32_t)i);
    for (size_t i = 0; i < f->count; i++) {
        if (w->parent[i] == (int32_t)i)
            w->index[i] = count_members(w->parent, f->count, (int32_t)i) >= FEWEST ? (int32_t)out->count++ : -1;
        out->body[i] = w->index[w->parent[i]];
    }
    for (size_t b = 0; b < out->count; b++)
        fit_body(f, l, w->index, gather(out, (int32_t)b, w->index), w->values, &out->list[b]);
    join_rest(f, l, w, reach, out);
    for (size_t b = 0; b < out->count; b++)
        fit_body(f, l, w->index, gather(out, (int32_t)b, w->index), w->values, &out->list[b]);
}

Status bodies_find(const MotionField *field, BodyLengths lengths, Bodies *out, Error *err) {
    size_t n = field->count;
    *out = (Bodies){n, 0, malloc((n + 1) * sizeof *out->body), calloc(n / FEWEST + 1, sizeof *out->list)};
    Work w = {malloc((n + 1) * LINKS * sizeof *w.near), malloc((n + 1) * sizeof *w.parent),
              malloc((n + 1) * sizeof *w.index), malloc((n + 1) * sizeof *w.values)};
    bool ok = out->body && out->list && w.near && w.parent && w.index && w.values;
    if (ok) find(field, lengths, &w, out);
    else bodies_free(out);
    free(w.near);
    free(w.parent);
    free(w.index);
    free(w.values);
    return ok ? STATUS_OK : error_set(err, STATUS_FAILED, "out of memory for the bodies of %zu points", n);
}

// ---- the field

static void put_motion(const Body *b, MotionField *f, size_t i) {
    double before[3];
    place_before(b, f->position + 3 * i, before);
    for (size_t c = 0; c < 3; c++) {
        f->motion[3 * i + c] = (real)((double)f->position[3 * i + c] - before[c]);
        for (size_t d = 0; d < 3; d++) f->gradient[9 * i + 3 * c + d] = (real)(c == d) - b->turn[3 * d + c];
    }
}

void bodies_put(const Bodies *b, MotionField *f) {
    for (size_t i = 0; i < b->points; i++) {
        f->body[i] = (real)b->body[i];
        memset(f->motion + 3 * i, 0, 3 * sizeof *f->motion);
        memset(f->gradient + 9 * i, 0, 9 * sizeof *f->gradient);
        if (b->body[i] >= 0) put_motion(&b->list[b->body[i]], f, i);
    }
}
