// SPDX-License-Identifier: Apache-2.0
#include "motion/bodies_surface.h"

#include "motion/rigid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 14, FIRST_STEPS = 9, COARSE_STEPS = 5, FEWEST_PIXELS = 12, FEWEST_POINTS = 6, ROUNDS = 2 };
static const double PLANE_SCALE = 0.00375; // times X: where a pair counts half, at first
static const double WIDE_SCALE = 0.01;     // times X: at the very first
static const double LEAST_SCALE = 0.0004;  // times X: and at last
static const double DAMPING = 0.005;       // times X: what a turn must move to be seen
static const double POINT_SHARE[2] = {0.02, 0.001};
static const double STILL_SCALE = 0.0002; // times X, at least
static const double EXPLAINS = 0.85;      // of the fit of a body's own motion: another does as well
static const double BEND = 0.0015;        // times X: motions that differ less agree
static const double MARGIN = 0.25;        // between the fits of two motions: the pixel tells them apart

enum { STILL = -1, UNKNOWN = -2 };

// ---- pairs of a motion

typedef struct Scene {
    Surface now, past;
    BodyLengths lengths;
    double scale;       // metres: where a plane distance counts half when motions are compared
    double still_scale; // the same of what stands
    double *errors;
} Scene;

// From now to before, and the other way.
typedef struct Way {
    real motion[RIGID_MOTION], centre[3];
} Way;

static Way way_back(const Body *b) {
    Way w;
    for (int c = 0; c < 3; c++) {
        w.centre[c] = b->centre[c];
        w.motion[9 + c] = -b->shift[c];
        for (int d = 0; d < 3; d++) w.motion[3 * c + d] = b->turn[3 * d + c];
    }
    return w;
}

static Way way_inverse(const Way *w) {
    Way out;
    for (int c = 0; c < 3; c++) {
        out.centre[c] = w->centre[c] + w->motion[9 + c];
        out.motion[9 + c] = -w->motion[9 + c];
        for (int d = 0; d < 3; d++) out.motion[3 * c + d] = w->motion[3 * d + c];
    }
    return out;
}

// Nearest in position and colour within the 27 cells; of a label, or any (UNKNOWN).
static int32_t nearest(const Surface *s, const real *x, const real *c, int32_t label, double *d2) {
    int32_t best = -1;
    *d2 = INFINITY;
    for (Walk w = walk_begin(s, x); walk_next(&w);) {
        size_t j = (size_t)w.index;
        if (label != UNKNOWN && s->label[j] != label) continue;
        double d = gap2(s->x + 3 * j, x) + gap2(s->c + 3 * j, c);
        if (d < *d2) *d2 = d, best = w.index;
    }
    return best;
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

// How well a pixel lies on the other frame's surface after a motion, 0 to 1.
static double pixel_fit(const Scene *s, const Way *w, const Surface *from, size_t i, const Surface *to, double scale) {
    real x[3], n[3], e[3];
    double d2, agree;
    rigid_place(w->motion, w->centre, from->x + 3 * i, x);
    int32_t j = nearest(to, x, from->c + 3 * i, UNKNOWN, &d2);
    if (j < 0) return 0;
    double off = pair_offset(w, from, i, to, (size_t)j, n, e, &agree);
    return rigid_fit(off, d2, scale, SURFACE_CELL * s->lengths.extent);
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
    double d2;
    real x[3];
    r->system = (RigidSystem){.weight = 0};
    r->error_count = 0;
    r->sum = r->weight = 0;
    for (size_t i = 0; i < s->now.count; i++) {
        if (s->now.label[i] != label) continue;
        rigid_place(r->way.motion, r->way.centre, s->now.x + 3 * i, x);
        int32_t j = nearest(&s->past, x, s->now.c + 3 * i, within ? label : UNKNOWN, &d2);
        if (j >= 0) add_pair(r, i, (size_t)j, d2);
    }
    for (size_t j = 0; j < s->past.count; j++) {
        if (s->past.label[j] != label) continue;
        rigid_place(ahead.motion, ahead.centre, s->past.x + 3 * j, x);
        int32_t i = nearest(&s->now, x, s->past.c + 3 * j, within ? label : UNKNOWN, &d2);
        if (i >= 0) add_pair(r, (size_t)i, j, d2);
    }
}

static int compare_errors(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// The scale of errors follows their median.
static double next_scale(Registration *r, int step) {
    double extent = r->scene->lengths.extent, most = PLANE_SCALE * extent;
    if (step < COARSE_STEPS || r->error_count == 0) return step < COARSE_STEPS / 2 ? WIDE_SCALE * extent : most;
    qsort(r->scene->errors, r->error_count, sizeof(double), compare_errors);
    double falling = most * pow(0.7, step - COARSE_STEPS);
    return fmin(most, fmax(fmax(LEAST_SCALE * extent, falling), 2 * r->scene->errors[r->error_count / 2]));
}

static size_t count_label(const Surface *s, int32_t label) {
    size_t count = 0;
    for (size_t i = 0; i < s->count; i++) count += s->label[i] == label;
    return count;
}

static void register_body(Scene *s, int32_t label, bool within, Body *b) {
    Registration r = {.scene = s, .way = way_back(b), .scale = WIDE_SCALE * s->lengths.extent};
    b->pixels = count_label(&s->now, label);
    if (b->pixels < FEWEST_PIXELS || count_label(&s->past, label) < FEWEST_PIXELS) return;
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

// ---- labels

// Body of the field's point nearest in position (before: where it was one step before) and colour.
static int32_t body_at(const MotionField *f, const Bodies *b, double colour, bool before, const real *x,
                       const real *c) {
    double best = INFINITY;
    int32_t body = STILL;
    for (size_t j = 0; j < f->count; j++) {
        double d2 = 0;
        for (size_t d = 0; d < 3; d++) {
            d2 += squared((double)(f->position[3 * j + d] - (before ? f->motion[3 * j + d] : 0) - x[d]));
            d2 += squared(colour * (double)f->colour[3 * j + d] - (double)c[d]);
        }
        if (d2 < best) best = d2, body = b->body[j];
    }
    return body;
}

static void label_first(const MotionField *f, const Bodies *b, double colour, bool before, Surface *s) {
    for (size_t i = 0; i < s->count; i++)
        s->label[i] = i < s->first_still ? body_at(f, b, colour, before, s->x + 3 * i, s->c + 3 * i) : UNKNOWN;
}

// What stands shows the noise of depth.
static double measure_noise(Scene *s) {
    static const Body still = {.turn = {1, 0, 0, 0, 1, 0, 0, 0, 1}};
    Way w = way_back(&still);
    size_t count = 0;
    for (size_t i = s->now.first_still; i < s->now.count; i++) {
        real n[3], e[3];
        double d2, agree;
        int32_t j = nearest(&s->past, s->now.x + 3 * i, s->now.c + 3 * i, UNKNOWN, &d2);
        if (j >= 0) s->errors[count++] = fabs(pair_offset(&w, &s->now, i, &s->past, (size_t)j, n, e, &agree));
    }
    qsort(s->errors, count, sizeof *s->errors, compare_errors);
    return fmax(STILL_SCALE * s->lengths.extent, count ? 3 * s->errors[count / 2] : 0);
}

// Mean fit of a body's pixels under another's motion.
static double explained(const Scene *s, int32_t label, const Body *by) {
    Way w = way_back(by);
    double sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < s->now.count; i++)
        if (s->now.label[i] == label) sum += pixel_fit(s, &w, &s->now, i, &s->past, s->scale), count++;
    return count ? sum / (double)count : 0;
}

static bool touch(const Surface *s, int32_t a, int32_t b) {
    for (size_t i = 0; i < s->count; i++) {
        if (s->label[i] != a) continue;
        for (Walk w = walk_begin(s, s->x + 3 * i); walk_next(&w);)
            if (s->label[w.index] == b && gap2(s->x + 3 * (size_t)w.index, s->x + 3 * i) < squared(s->cell) &&
                gap2(s->c + 3 * (size_t)w.index, s->c + 3 * i) < squared(s->cell))
                return true;
    }
    return false;
}

static void relabel(Surface *s, int32_t from, int32_t to) {
    for (size_t i = 0; i < s->count; i++)
        if (s->label[i] == from) s->label[i] = to;
}

// Joins a body with one that it touches and whose motion explains it, the best explained first.
// share (bodies, bodies): of the fit of i's pixels under its own motion, that under j's; -1: not known yet.
static bool merge_one(Scene *s, Bodies *b, const double *own, double *shares, int32_t *gone, int32_t *kept) {
    double best = EXPLAINS;
    for (size_t i = 0; i < b->count; i++)
        for (size_t j = 0; j < b->count; j++) {
            if (i == j || !b->list[i].count || !b->list[j].count || own[i] <= 0) continue;
            if (b->list[i].pixels > b->list[j].pixels) continue;
            double *share = shares + i * b->count + j;
            if (*share < 0)
                *share = touch(&s->now, (int32_t)i, (int32_t)j) ? explained(s, (int32_t)i, &b->list[j]) / own[i] : 0;
            if (*share > best) best = *share, *gone = (int32_t)i, *kept = (int32_t)j;
        }
    return best > EXPLAINS;
}

static void merge(Scene *s, Bodies *b, double *own) {
    double *shares = malloc((b->count * b->count + 1) * sizeof *shares);
    if (!shares) return;
    for (size_t i = 0; i < b->count * b->count; i++) shares[i] = -1;
    int32_t gone = 0, kept = 0;
    for (size_t i = 0; i < b->count; i++) own[i] = explained(s, (int32_t)i, &b->list[i]);
    while (merge_one(s, b, own, shares, &gone, &kept)) {
        relabel(&s->now, gone, kept);
        relabel(&s->past, gone, kept);
        for (size_t i = 0; i < b->points; i++)
            if (b->body[i] == gone) b->body[i] = kept;
        b->list[kept].count += b->list[gone].count;
        b->list[gone].count = 0;
        register_body(s, kept, false, &b->list[kept]);
        own[kept] = explained(s, kept, &b->list[kept]);
        for (size_t i = 0; i < b->count; i++)
            shares[i * b->count + (size_t)kept] = shares[(size_t)kept * b->count + i] = -1;
    }
    free(shares);
}

static double label_distance2(const Surface *s, size_t i, size_t j) {
    return gap2(s->x + 3 * j, s->x + 3 * i) + 4 * gap2(s->c + 3 * j, s->c + 3 * i);
}

// Which body's motion a pixel follows, or STILL, where that can be told from the others near to it; else UNKNOWN.
static int32_t sure_label(const Scene *s, const Bodies *b, const Surface *from, size_t i, const Surface *to,
                          bool back) {
    static const Body still = {.turn = {1, 0, 0, 0, 1, 0, 0, 0, 1}};
    double best = 0, second = 0;
    int32_t label = UNKNOWN;
    for (int32_t k = STILL; k < (int32_t)b->count; k++) {
        if (k >= 0) { // near to where the body is?
            if (!b->list[k].count) continue;
            double d2;
            if (nearest(from, from->x + 3 * i, from->c + 3 * i, k, &d2) < 0) continue;
        }
        Way w = way_back(k < 0 ? &still : &b->list[k]);
        if (!back) w = way_inverse(&w);
        double fit = pixel_fit(s, &w, from, i, to, k < 0 ? s->still_scale : s->scale);
        if (fit > best) second = best, best = fit, label = k;
        else if (fit > second) second = fit;
    }
    return best > 0.5 && best - second > MARGIN ? label : UNKNOWN;
}

// The others take the label of the nearest sure pixel in position and colour, or keep theirs.
static void label_again(const Scene *s, const Bodies *b, Surface *from, const Surface *to, bool back, int32_t *sure) {
    for (size_t i = 0; i < from->count; i++) sure[i] = sure_label(s, b, from, i, to, back);
    int32_t *old = from->label;
    from->label = sure; // nearest among labelled ones
    for (size_t i = 0; i < from->count; i++) {
        double best = INFINITY;
        if (sure[i] != UNKNOWN) {
            old[i] = sure[i];
            continue;
        }
        int32_t label = old[i];
        for (Walk w = walk_begin(from, from->x + 3 * i); walk_next(&w);) {
            size_t j = (size_t)w.index;
            if (sure[j] == UNKNOWN) continue;
            double d = label_distance2(from, i, j);
            if (d < best) best = d, label = sure[j];
        }
        old[i] = label == UNKNOWN ? STILL : label;
    }
    from->label = old;
}

// Of the pixels of body `a` beside `b`: how many, and the share at which both motions agree.
static double agreement(const Scene *s, const Bodies *b, int32_t i, int32_t j, size_t *beside) {
    const Surface *now = &s->now;
    Way a = way_back(&b->list[i]), o = way_back(&b->list[j]);
    double agree = 0;
    *beside = 0;
    for (size_t p = 0; p < now->count; p++) {
        double d2;
        if (now->label[p] != i) continue;
        int32_t q = nearest(now, now->x + 3 * p, now->c + 3 * p, j, &d2);
        if (q < 0 || d2 > squared(now->cell)) continue;
        real x[3], y[3];
        rigid_place(a.motion, a.centre, now->x + 3 * p, x);
        rigid_place(o.motion, o.centre, now->x + 3 * p, y);
        real d[3] = {x[0] - y[0], x[1] - y[1], x[2] - y[2]}; // flat pieces slide: across the surface alone
        agree += fabs((double)element_dot(d, now->normal + 3 * p)) < BEND * s->lengths.extent;
        ++*beside;
    }
    return *beside ? agree / (double)*beside : 0;
}

// Pieces of a body that bends: where they meet their motions agree, along much of their pixels.
static void merge_bending(Scene *s, Bodies *b, int32_t *parent) {
    for (size_t i = 0; i < b->count; i++) parent[i] = (int32_t)i;
    for (size_t i = 0; i < b->count; i++)
        for (size_t j = 0; j < b->count; j++) {
            size_t beside;
            if (i == j || !b->list[i].pixels || b->list[i].pixels > b->list[j].pixels) continue;
            if (agreement(s, b, (int32_t)i, (int32_t)j, &beside) < 0.5) continue;
            if ((double)beside < 0.15 * (double)b->list[i].pixels) continue;
            int32_t x = (int32_t)i, y = (int32_t)j;
            while (parent[x] != x) x = parent[x];
            while (parent[y] != y) y = parent[y];
            if (x == y) continue;
            bool first = b->list[x].pixels > b->list[y].pixels;
            parent[first ? y : x] = first ? x : y;
        }
    for (size_t i = 0; i < b->count; i++) {
        int32_t x = (int32_t)i;
        while (parent[x] != x) x = parent[x];
        if (x == (int32_t)i) continue;
        relabel(&s->now, (int32_t)i, x);
        relabel(&s->past, (int32_t)i, x);
        b->list[i].count = 0;
        b->list[i].pixels = 0;
        parent[i] = x;
        b->list[x].bends = true;
    }
    for (size_t i = 0; i < b->count; i++)
        if (b->list[i].bends && b->list[i].pixels) register_body(s, (int32_t)i, true, &b->list[i]);
}

static void settle(const MotionField *f, Scene *s, Bodies *b, double *own, int32_t *sure) {
    double colour = SURFACE_COLOUR * s->lengths.colour_length;
    s->still_scale = measure_noise(s);
    s->scale = fmax(s->scale, s->still_scale);
    label_first(f, b, colour, false, &s->now);
    label_first(f, b, colour, true, &s->past);
    for (size_t i = 0; i < b->count; i++) register_body(s, (int32_t)i, false, &b->list[i]);
    for (int round = 0; round < ROUNDS; round++) {
        merge(s, b, own);
        label_again(s, b, &s->now, &s->past, true, sure);
        label_again(s, b, &s->past, &s->now, false, sure);
        for (size_t i = 0; i < b->count; i++)
            if (b->list[i].count) register_body(s, (int32_t)i, true, &b->list[i]);
    }
    for (size_t i = 0; i < b->count; i++) {
        if (!b->list[i].count) b->list[i].pixels = 0;
        else b->list[i].pixels = count_label(&s->now, (int32_t)i);
    }
    merge_bending(s, b, sure);
    for (size_t i = 0; i < b->count; i++) b->list[i].fit = (real)explained(s, (int32_t)i, &b->list[i]);
}

// Pixels of bodies that could not be registered take the label of the nearest other pixel. Those far from all others
// stay.
static void join_crumbs(Scene *s, const Bodies *b, int32_t *label) {
    Surface *now = &s->now;
    for (size_t i = 0; i < now->count; i++)
        label[i] = now->label[i] >= 0 && b->list[now->label[i]].residual <= 0 ? UNKNOWN : now->label[i];
    for (size_t i = 0; i < now->count; i++) {
        double best = INFINITY;
        if (label[i] != UNKNOWN) continue;
        for (Walk w = walk_begin(now, now->x + 3 * i); walk_next(&w);) {
            double d2 = label_distance2(now, i, (size_t)w.index);
            if (label[w.index] != UNKNOWN && d2 < best) best = d2, now->label[i] = label[w.index];
        }
    }
}

// The field's points get the labels of their pixels; bodies without points go.
static void label_field(const MotionField *f, const Scene *s, Bodies *b, int32_t *number) {
    for (size_t j = 0; j < b->count; j++) b->list[j].count = 0;
    for (size_t j = 0; j < f->count; j++) {
        double best = INFINITY;
        int32_t label = STILL;
        for (Walk w = walk_begin(&s->now, f->position + 3 * j); walk_next(&w);) {
            double d = gap2(s->now.x + 3 * (size_t)w.index, f->position + 3 * j);
            if (d < best) best = d, label = s->now.label[w.index];
        }
        b->body[j] = label;
        if (label >= 0) b->list[label].count++;
    }
    size_t kept = 0;
    for (size_t j = 0; j < b->count; j++) {
        // Without registration and with few points, nothing is known of it.
        if (b->list[j].residual <= 0 && b->list[j].count < FEWEST_POINTS) b->list[j].count = 0;
        number[j] = b->list[j].count ? (int32_t)kept : -1;
        if (b->list[j].count) b->list[kept++] = b->list[j];
    }
    b->count = kept;
    for (size_t j = 0; j < f->count; j++)
        if (b->body[j] >= 0) b->body[j] = number[b->body[j]];
}

Status bodies_register(const MotionField *f, const PointCloud *now, const PointCloud *past, BodyLengths l,
                       Bodies *bodies, int32_t *body, Error *err) {
    Scene s = {surface_make(now->count), surface_make(past->count), l, 0.002 * l.extent, 0, NULL};
    size_t most = now->count + past->count + 1;
    s.errors = malloc(most * sizeof *s.errors);
    double *own = malloc((bodies->count + 1) * sizeof *own);
    int32_t *sure = malloc((most + bodies->count) * sizeof *sure);
    bool ok = surface_ready(&s.now) && surface_ready(&s.past) && s.errors && own && sure;
    if (ok) {
        surface_fill(&s.now, now, l);
        surface_fill(&s.past, past, l);
        settle(f, &s, bodies, own, sure);
        join_crumbs(&s, bodies, sure);
        label_field(f, &s, bodies, sure);
        for (size_t i = 0; i < now->count; i++) body[i] = -1;
        for (size_t i = 0; i < s.now.count; i++)
            if (s.now.label[i] >= 0) body[s.now.pixel[i]] = sure[s.now.label[i]];
    }
    surface_free(&s.now);
    surface_free(&s.past);
    free(s.errors);
    free(own);
    free(sure);
    return ok ? STATUS_OK : error_set(err, STATUS_FAILED, "out of memory for the pixels of bodies");
}
