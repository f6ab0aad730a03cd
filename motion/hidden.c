// SPDX-License-Identifier: Apache-2.0
#include "motion/hidden.h"

#include "base/vector.h"
#include "motion/bodies_planes.h"
#include "motion/views.h"
#include "nn/knn.h"

#include <math.h>
#include <string.h>

enum {
    AROUND = 64, // directions in which a plane's end is known
    CLEAR = 2    // pixels: so near to a body, colours are mixed
};

// How far the points of a plane reach.
typedef struct Reach {
    double u[3], v[3];   // axes in the plane
    double most[AROUND]; // metres along each direction, from where u and v are 0
} Reach;

// A hidden place.
typedef struct Place {
    double x[3];
    int32_t plane;
    int32_t behind; // the body's point before it
    int32_t like;   // a point of the plane that looks the same, or -1
} Place;

typedef struct Frame {
    Views views;
    Planes planes;
    Reach reach[PLANES_MOST];
    double way[2][AROUND]; // cosine and sine of the directions
    int32_t *plane;        // (points) of each that stands; -1: none
    bool *sees;            // (V) whether a view has points
    size_t moving, count;  // points that move; hidden places
    Place *place;          // (count), with room for `moving`
} Frame;

static void position_of(const PointCloud *now, size_t point, double x[3]) {
    for (size_t c = 0; c < 3; c++) x[c] = (double)now->position[3 * point + c];
}

// ---- planes

static void reach_begin(const double normal[3], Reach *r) {
    vector_across(normal, r->u, r->v);
    for (size_t k = 0; k < AROUND; k++) r->most[k] = -INFINITY;
}

static void reach_add(double (*way)[AROUND], const double *x, Reach *r) {
    double a = vector_dot(r->u, x), b = vector_dot(r->v, x);
    for (size_t k = 0; k < AROUND; k++) {
        double along = way[0][k] * a + way[1][k] * b;
        r->most[k] = along > r->most[k] ? along : r->most[k]; // fmax is a call, this is an instruction
    }
}

static bool is_within(const double (*way)[AROUND], const double *x, const Reach *r) {
    double a = vector_dot(r->u, x), b = vector_dot(r->v, x);
    for (size_t k = 0; k < AROUND; k++)
        if (way[0][k] * a + way[1][k] * b > r->most[k]) return false;
    return true;
}

static void find_planes(double extent, Frame *f) {
    const PointCloud *now = f->views.now;
    f->planes = planes_find(now, extent);
    for (size_t k = 0; k < AROUND; k++) {
        f->way[0][k] = cos(2 * acos(-1) * (double)k / AROUND);
        f->way[1][k] = sin(2 * acos(-1) * (double)k / AROUND);
    }
    for (size_t k = 0; k < f->planes.count; k++) reach_begin(f->planes.plane[k].normal, &f->reach[k]);
    for (size_t i = 0; i < now->count; i++) {
        double x[3];
        position_of(now, i, x);
        f->sees[views_of(&f->views, i)] = true;
        f->plane[i] = now->moving[i] > 0 ? -1 : planes_of(&f->planes, now->position + 3 * i);
        if (f->plane[i] >= 0) reach_add(f->way, x, &f->reach[f->plane[i]]);
    }
}

// ---- hidden places

// Height above a plane, on the side of the eye.
static double height(const Plane *plane, const double *x, const double *eye) {
    return copysign(1, plane_height(plane, eye)) * plane_height(plane, x);
}

// Where the ray from the camera through a body's point meets the first plane behind it.
static Place look_behind(const Frame *f, size_t point) {
    const double *eye = f->views.eye + 3 * views_of(&f->views, point);
    Place out = {.plane = -1, .behind = (int32_t)point, .like = -1};
    double x[3], first = INFINITY;
    position_of(f->views.now, point, x);
    for (size_t k = 0; k < f->planes.count; k++) {
        const Plane *plane = &f->planes.plane[k];
        double low = height(plane, x, eye), high = height(plane, eye, eye), there[3],
               times = high / (high - low); // of the way from the eye to x
        if (!(low > plane->within && high > low && times < first)) continue;
        for (int c = 0; c < 3; c++) there[c] = eye[c] + times * (x[c] - eye[c]);
        if (!is_within(f->way, there, &f->reach[k])) continue;
        first = times, out.plane = (int32_t)k;
        memcpy(out.x, there, sizeof there);
    }
    return out;
}

// Whether something is in front of it in every view that has points.
static bool is_hidden(const Frame *f, const Place *place) {
    for (size_t v = 0; v < (size_t)f->views.o->V; v++) {
        const Plane *plane = &f->planes.plane[place->plane];
        size_t pixel;
        double shown[3];
        if (!f->sees[v] || !(views_project(&f->views, v, place->x, &pixel) > 0)) continue;
        if (f->views.at[pixel] < 0) return false;
        position_of(f->views.now, (size_t)f->views.at[pixel], shown);
        if (!(height(plane, shown, f->views.eye + 3 * v) > plane->within)) return false;
    }
    return true;
}

static void find_places(Frame *f) {
    const PointCloud *now = f->views.now;
    for (size_t i = 0; i < now->count; i++) {
        if (!(now->moving[i] > 0)) continue;
        f->place[f->count] = look_behind(f, i);
        f->count += f->place[f->count].plane >= 0 && is_hidden(f, &f->place[f->count]);
    }
}

// ---- their look

// Whether no pixel around one shows a body.
static bool is_clear(const Views *f, size_t pixel) {
    int H = f->o->H, W = f->o->W, row = (int)pixel / W % H, column = (int)pixel % W;
    for (int dy = -CLEAR; dy <= CLEAR; dy++)
        for (int dx = -CLEAR; dx <= CLEAR; dx++) {
            if (row + dy < 0 || row + dy >= H || column + dx < 0 || column + dx >= W) continue;
            int32_t point = f->at[(ptrdiff_t)pixel + dy * W + dx];
            if (point >= 0 && f->now->moving[point] > 0) return false;
        }
    return true;
}

// Points near to bodies are of no plane any more.
static void leave_unclear(Frame *f) {
    const PointCloud *now = f->views.now;
    for (size_t i = 0; i < now->count && f->count; i++)
        if (f->plane[i] >= 0 && !is_clear(&f->views, (size_t)now->pixel[i])) f->plane[i] = -1;
}

// Hidden places and points in sight of the planes of all frames, which are searched at once. Each plane is a set, whose
// places see its own points alone.
typedef struct Looks {
    size_t sets, seen, hidden;
    int32_t *first_seen, *first_hidden; // (sets + 1)
    int32_t *point;                     // (seen) number in its frame
    Place **place;                      // (hidden)
    real *seen_x, *hidden_x;            // (seen, 3), (hidden, 3)
} Looks;

static Looks looks_make(Tape *tape, size_t frames, size_t seen, size_t hidden) {
    size_t sets = frames * PLANES_MOST + 1;
    return (Looks){.first_seen = tape_context(tape, sizeof(int32_t) * sets),
                   .first_hidden = tape_context(tape, sizeof(int32_t) * sets),
                   .point = tape_context(tape, sizeof(int32_t) * (seen + 1)),
                   .place = tape_context(tape, sizeof(Place *) * (hidden + 1)),
                   .seen_x = tape_context(tape, 3 * sizeof(real) * (seen + 1)),
                   .hidden_x = tape_context(tape, 3 * sizeof(real) * (hidden + 1))};
}

// A plane's hidden places, and its points in sight, unless there are none of one kind.
static void add_plane(const Frame *f, int32_t plane, Looks *l) {
    const PointCloud *now = f->views.now;
    size_t hidden = l->hidden, seen = l->seen;
    for (size_t i = 0; i < f->count; i++) {
        if (f->place[i].plane != plane) continue;
        for (size_t c = 0; c < 3; c++) l->hidden_x[3 * hidden + c] = (real)f->place[i].x[c];
        l->place[hidden++] = &f->place[i];
    }
    if (hidden == l->hidden) return;
    for (size_t i = 0; i < now->count; i++) {
        if (f->plane[i] != plane) continue;
        memcpy(l->seen_x + 3 * seen, now->position + 3 * i, 3 * sizeof *l->seen_x);
        l->point[seen++] = (int32_t)i;
    }
    if (seen == l->seen) return;
    l->hidden = hidden, l->seen = seen;
    l->sets++;
    l->first_hidden[l->sets] = (int32_t)hidden;
    l->first_seen[l->sets] = (int32_t)seen;
}

// Each place looks as the nearest point of its plane.
static void find_looks(Tape *tape, const Looks *l) {
    int32_t *near = tape_context(tape, (l->hidden + 1) * sizeof *near);
    KnnArgs args = {.points = l->seen,
                    .queries = l->hidden,
                    .point = l->seen_x,
                    .query = l->hidden_x,
                    .point_scenes = {l->sets, l->first_seen},
                    .query_scenes = {l->sets, l->first_hidden},
                    .k = 1,
                    .index = near};
    if (!tape->device->failed && l->sets) knn_host(tape->device, &args);
    for (size_t i = 0; i < l->hidden && !tape->device->failed; i++) l->place[i]->like = l->point[near[i]];
}

// ---- all of it

// Those with a look. like (count): its pixel.
static void add_points(const Observation *o, bool crop, size_t count, const Place *place, PointCloud *now,
                       int32_t *like) {
    for (size_t k = 0; k < count; k++) {
        double x[3];
        size_t i = now->count;
        observation_turn_back(o, place[k].x, x);
        if (place[k].like < 0 || (crop && !observation_inside(o, x))) continue;
        for (size_t c = 0; c < 3; c++) now->position[3 * i + c] = (real)place[k].x[c];
        memcpy(now->colour + 3 * i, now->colour + 3 * (size_t)place[k].like, 3 * sizeof *now->colour);
        now->moving[i] = 0;
        now->pixel[i] = now->pixel[place[k].behind];
        now->inside[i] = observation_inside(o, x);
        *like++ = now->pixel[place[k].like];
        now->count++;
    }
}

static size_t count_moving(const PointCloud *now) {
    size_t count = 0;
    for (size_t i = 0; i < now->count; i++) count += now->moving[i] > 0;
    return count;
}

// Finds the hidden places of all frames in which something moves, by all threads.
static Status find_frames(Tape *tape, size_t count, const Observation *const *observations, double extent,
                          const PointCloud *now, Frame *frames, Error *err) {
    bool whole = true; // each error is one of memory
#pragma omp parallel for schedule(dynamic) num_threads(tape->device->threads) if (count > 1)
    for (size_t s = 0; s < count; s++) {
        Frame *f = &frames[s];
        Error own;
        if (!f->moving) continue;
        if (views_make(observations[s], &now[s], &f->views, &own) == STATUS_OK) {
            find_planes(extent, f);
            find_places(f);
            leave_unclear(f);
            continue;
        }
#pragma omp critical(hidden_error)
        whole = false, *err = own;
    }
    return whole ? STATUS_OK : STATUS_FAILED;
}

Status hidden_add(Tape *tape, size_t count, const Observation *const *observations, bool crop, double extent,
                  PointCloud *now, Hidden *out, Error *err) {
    Frame *frames = tape_context(tape, (count + 1) * sizeof *frames);
    size_t seen = 0, hidden = 0;
    if (!frames) return device_status(tape->device, err);
    for (size_t s = 0; s < count; s++) {
        Frame *f = &frames[s];
        size_t moving = count_moving(&now[s]), points = moving ? now[s].count : 0;
        *f = (Frame){.moving = moving,
                     .plane = tape_context(tape, (points + 1) * sizeof *f->plane),
                     .sees = tape_context(tape, (size_t)observations[s]->V),
                     .place = tape_context(tape, (moving + 1) * sizeof *f->place)};
        out[s] = (Hidden){now[s].count, tape_context(tape, (moving + 1) * sizeof *out->like)};
        hidden += moving;
        seen += points;
    }
    Looks looks = looks_make(tape, count, seen, hidden);
    Status status = device_status(tape->device, err);
    if (status == STATUS_OK) status = find_frames(tape, count, observations, extent, now, frames, err);
    for (size_t s = 0; s < count && status == STATUS_OK; s++)
        for (size_t k = 0; k < frames[s].planes.count; k++) add_plane(&frames[s], (int32_t)k, &looks);
    for (size_t s = 0; s < count; s++) views_free(&frames[s].views);
    if (status != STATUS_OK) return status;
    find_looks(tape, &looks);
    status = device_status(tape->device, err);
    for (size_t s = 0; s < count && status == STATUS_OK; s++) {
        status = point_cloud_reserve(&now[s], now[s].count + frames[s].count, err);
        if (status == STATUS_OK)
            add_points(observations[s], crop, frames[s].count, frames[s].place, &now[s], out[s].like);
    }
    return status;
}
