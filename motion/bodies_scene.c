// SPDX-License-Identifier: Apache-2.0
#include "motion/bodies_scene.h"

#include <math.h>
#include <stdlib.h>

enum { STEPS = 14, FIRST_STEPS = 9, COARSE_STEPS = 5, FEWEST_PIXELS = 12 };
static const double PLANE_SCALE = 0.00375; // times X: where a pair counts half, at first
static const double WIDE_SCALE = 0.01;     // times X: at the very first
static const double LEAST_SCALE = 0.0004;  // times X: and at last
static const double DAMPING = 0.005;       // times X: what a turn must move to be seen
static const double POINT_SHARE[2] = {0.02, 0.001};
static const double STILL_SCALE = 0.0002; // times X, at least

// ---- pairs of a motion

Way way_back(const Body *b) {
    Way w;
    for (int c = 0; c < 3; c++) {
        w.centre[c] = b->centre[c];
        w.motion[9 + c] = -b->shift[c];
        for (int d = 0; d < 3; d++) w.motion[3 * c + d] = b->turn[3 * d + c];
    }
    return w;
}

Way way_inverse(const Way *w) {
    Way out;
    for (int c = 0; c < 3; c++) {
        out.centre[c] = w->centre[c] + w->motion[9 + c];
        out.motion[9 + c] = -w->motion[9 + c];
        for (int d = 0; d < 3; d++) out.motion[3 * c + d] = w->motion[3 * d + c];
    }
    return out;
}

void way_difference(const Body *body, const Body *other, const real *x, real *out) {
    Way a = way_back(body), b = way_back(other);
    real p[3], q[3];
    rigid_place(a.motion, a.centre, x, p);
    rigid_place(b.motion, b.centre, x, q);
    for (int c = 0; c < 3; c++) out[c] = p[c] - q[c];
}

// A place that a nearest point is wanted of, the nearest so far, as its place in the grid's order, and how far the next
// one is, if `second`.
typedef struct Nearest {
    const Surface *s;
    double x[3], c[3], d2, second2;
    int32_t label, at;
    bool second;
} Nearest;

static inline double most_distance2(const Nearest *n) { return n->second ? n->second2 : n->d2; }

// Squared distances from the place to the cells before, of and behind it, in y or z; a little less for rounding.
static void side_gaps2(const Nearest *n, const Around *a, int c, double *out) {
    double low = n->x[c] - (double)a->cell[c] * n->s->cell, high = n->s->cell - low;
    out[0] = low > 0 ? squared(low) * (1 - 1e-9) : 0;
    out[1] = 0;
    out[2] = high > 0 ? squared(high) * (1 - 1e-9) : 0;
}

// To a point, or more than `most` if it is more.
static double row_distance2(const Nearest *n, const double *q, double most) {
    double d2 = squared(q[0] - n->x[0]) + squared(q[1] - n->x[1]) + squared(q[2] - n->x[2]);
    if (d2 > most) return d2;
    return d2 + (squared(q[3] - n->c[0]) + squared(q[4] - n->c[1]) + squared(q[5] - n->c[2]));
}

// Ties go to the point that comes first in the grid's order.
static void search_run(Nearest *n, const Run *run) {
    const Surface *s = n->s;
    for (int32_t p = run->first; p < run->last; p++) {
        double most = most_distance2(n), d2 = row_distance2(n, s->row + 6 * (size_t)p, most);
        if (d2 > most) continue;
        if (n->label != LABEL_UNKNOWN && s->label[s->order[p].index] != n->label) continue;
        if (d2 < n->d2 || (d2 == n->d2 && p < n->at)) n->second2 = n->d2, n->d2 = d2, n->at = p;
        else if (d2 < n->second2) n->second2 = d2;
    }
}

static void search_runs(Nearest *n, const real *x) {
    static const int near_first[RUNS] = {RUN_MIDDLE, 1, 3, 5, 7, 0, 2, 6, 8};
    Around around = surface_around(n->s, x);
    double y[3], z[3];
    side_gaps2(n, &around, 1, y);
    side_gaps2(n, &around, 2, z);
    for (int k = 0; k < RUNS; k++) {
        if (y[near_first[k] % 3] + z[near_first[k] / 3] > most_distance2(n)) continue;
        const Run *run = surface_run(n->s, &around, near_first[k]);
        if (run) search_run(n, run);
    }
}

static Nearest nearest_of(const Surface *s, const real *x, const real *c, int32_t label) {
    Nearest n = {.s = s, .d2 = INFINITY, .second2 = INFINITY, .label = label, .at = -1};
    for (int d = 0; d < 3; d++) n.x[d] = (double)x[d], n.c[d] = (double)c[d];
    return n;
}

int32_t scene_nearest(const Surface *s, const real *x, const real *c, int32_t label, double *d2) {
    Nearest n = nearest_of(s, x, c, label);
    search_runs(&n, x);
    *d2 = n.d2;
    return n.at < 0 ? -1 : s->order[n.at].index;
}

// A point other than the match was at least `safe` away, also one outside the 27 cells.
static bool still_matches(const Match *m, const Nearest *n, const real *x, double *d2) {
    if (m->at < 0) return false;
    *d2 = row_distance2(n, n->s->row + 6 * (size_t)m->at, INFINITY);
    return sqrt(*d2) + sqrt(squared_distance(x, m->x)) < m->safe;
}

// scene_nearest for a place near to that of the call before with the same match, and the same grid, colour and label.
static int32_t match_of(const Surface *s, const real *x, const real *c, int32_t label, Match *m, double *d2) {
    Nearest n = nearest_of(s, x, c, label);
    if (still_matches(m, &n, x, d2)) return s->order[m->at].index;
    n.second = true;
    search_runs(&n, x);
    *m = (Match){{x[0], x[1], x[2]}, n.at, fmin(sqrt(n.second2), s->cell) * (1 - 1e-9)};
    *d2 = n.d2;
    return n.at < 0 ? -1 : s->order[n.at].index;
}

// The offset of a pair along the mean of its normals (after the motion), which is exact on quadrics.
static double pair_offset(const Way *w, const Surface *from, size_t i, const Surface *to, size_t j, real *n, real *e,
                          double *agree) {
    real p[3], np[3];
    double dot = 0, length = 1e-30;
    rigid_place(w->motion, w->centre, from->x + 3 * i, p);
    for (int c = 0; c < 3; c++) np[c] = element_dot(w->motion + 3 * c, from->normal + 3 * i);
    dot = (double)element_dot(np, to->normal + 3 * j);
    for (size_t c = 0; c < 3; c++) {
        n[c] = to->normal[3 * j + c] + (dot < 0 ? -np[c] : np[c]);
        length += squared((double)n[c]);
        e[c] = to->x[3 * j + c] - p[c];
    }
    for (int c = 0; c < 3; c++) n[c] = (real)((double)n[c] / sqrt(length));
    *agree = squared(squared(dot));
    return (double)element_dot(n, e);
}

double scene_fit(const Scene *s, const Way *w, const Surface *from, size_t i, const Surface *to, double scale) {
    real x[3], n[3], e[3];
    double d2, agree;
    rigid_place(w->motion, w->centre, from->x + 3 * i, x);
    int32_t j = scene_nearest(to, x, from->c + 3 * i, LABEL_UNKNOWN, &d2);
    if (j < 0) return 0;
    double off = pair_offset(w, from, i, to, (size_t)j, n, e, &agree);
    return rigid_fit(off, d2, scale, SURFACE_CELL * s->lengths.extent);
}

// ---- labels

size_t scene_count(const Surface *s, int32_t label) {
    size_t count = 0;
    for (size_t i = 0; i < s->count; i++) count += s->label[i] == label;
    return count;
}

void scene_relabel(Scene *s, int32_t from, int32_t to) {
    for (size_t i = 0; i < s->now.count; i++)
        if (s->now.label[i] == from) s->now.label[i] = to;
    for (size_t i = 0; i < s->past.count; i++)
        if (s->past.label[i] == from) s->past.label[i] = to;
}

double scene_noise(Scene *s) {
    Way w = way_back(&STANDING);
    size_t count = 0;
    for (size_t i = s->now.first_still; i < s->now.count; i++) {
        real n[3], e[3];
        double d2, agree;
        int32_t j = scene_nearest(&s->past, s->now.x + 3 * i, s->now.c + 3 * i, LABEL_UNKNOWN, &d2);
        if (j >= 0) s->errors[count++] = fabs(pair_offset(&w, &s->now, i, &s->past, (size_t)j, n, e, &agree));
    }
    return fmax(STILL_SCALE * s->lengths.extent, 3 * bodies_median(s->errors, count));
}

double scene_explained(const Scene *s, int32_t label, const Body *by) {
    Way w = way_back(by);
    double sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < s->now.count; i++)
        if (s->now.label[i] == label) sum += scene_fit(s, &w, &s->now, i, &s->past, s->scale), count++;
    return count ? sum / (double)count : 0;
}

// ---- registration of one body

typedef struct Registration {
    Scene *scene;
    Way way;
    double scale, share;
    size_t error_count;
    RigidSystem system;
    double sum, weight;
} Registration;

static void add_pair(Registration *r, size_t i, size_t j, double d2) {
    Scene *s = r->scene;
    real n[3], e[3], arm[3];
    double agree, off = pair_offset(&r->way, &s->now, i, &s->past, j, n, e, &agree);
    for (size_t c = 0; c < 3; c++) arm[c] = s->past.x[3 * j + c] - e[c] - r->way.centre[c] - r->way.motion[9 + c];
    double fit = rigid_fit(off, d2, r->scale, SURFACE_CELL * s->lengths.extent);
    double weight = fit * fit * s->now.flat[i] * s->past.flat[j] * agree;
    RigidRow rows[RIGID_PAIR_ROWS];
    rigid_pair_rows(weight, r->share, arm, n, e, rows);
    rigid_add_pair(&r->system, rows);
    s->errors[r->error_count++] = fabs(off);
    r->sum += weight * off * off;
    r->weight += weight;
}

// `within`: pairs of the label alone; else of any pixel that moves.
static void add_pairs(Registration *r, int32_t label, bool within) {
    Scene *s = r->scene;
    Way ahead = way_inverse(&r->way);
    int32_t of = within ? label : LABEL_UNKNOWN;
    double d2;
    real x[3];
    Match *match = s->match, *past_match = s->match + s->now.count;
    r->system = (RigidSystem){.weight = 0};
    r->error_count = 0;
    r->sum = r->weight = 0;
    for (size_t i = 0; i < s->now.count; i++) {
        if (s->now.label[i] != label) continue;
        rigid_place(r->way.motion, r->way.centre, s->now.x + 3 * i, x);
        int32_t j = match_of(&s->past, x, s->now.c + 3 * i, of, match + i, &d2);
        if (j >= 0) add_pair(r, i, (size_t)j, d2);
    }
    for (size_t j = 0; j < s->past.count; j++) {
        if (s->past.label[j] != label) continue;
        rigid_place(ahead.motion, ahead.centre, s->past.x + 3 * j, x);
        int32_t i = match_of(&s->now, x, s->past.c + 3 * j, of, past_match + j, &d2);
        if (i >= 0) add_pair(r, (size_t)i, j, d2);
    }
}

// The scale of errors follows their median.
static double next_scale(Registration *r, int step) {
    double extent = r->scene->lengths.extent, most = PLANE_SCALE * extent;
    if (step < COARSE_STEPS || r->error_count == 0) return step < COARSE_STEPS / 2 ? WIDE_SCALE * extent : most;
    double falling = most * pow(0.7, step - COARSE_STEPS);
    return fmin(most, fmax(fmax(LEAST_SCALE * extent, falling), 2 * bodies_median(r->scene->errors, r->error_count)));
}

void scene_register(Scene *s, int32_t label, bool within, Body *b) {
    Registration r = {.scene = s, .way = way_back(b), .scale = WIDE_SCALE * s->lengths.extent};
    b->pixels = scene_count(&s->now, label);
    if (b->pixels < FEWEST_PIXELS || scene_count(&s->past, label) < FEWEST_PIXELS) return;
    for (size_t i = 0; i < s->now.count + s->past.count; i++) s->match[i].at = -1;
    for (int step = 0; step < (within ? STEPS : FIRST_STEPS); step++) {
        r.share = POINT_SHARE[step >= COARSE_STEPS || within];
        add_pairs(&r, label, within);
        rigid_solve(&r.system, squared(DAMPING * s->lengths.extent));
        rigid_compose(r.system.b, r.way.motion);
        r.scale = next_scale(&r, step);
    }
    for (int c = 0; c < 3; c++) {
        b->shift[c] = -r.way.motion[9 + c];
        for (int d = 0; d < 3; d++) b->turn[3 * c + d] = r.way.motion[3 * d + c];
    }
    b->residual = (real)sqrt(r.sum / (r.weight + 1e-300));
}
