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

typedef struct Frame {
    Views views;
    Planes planes;
    Reach reach[PLANES_MOST];
    double way[2][AROUND]; // cosine and sine of the directions
    int32_t *plane;        // (points) of each that stands; -1: none
    bool *sees;            // (V) whether a view has points
} Frame;

// A hidden place.
typedef struct Place {
    double x[3];
    int32_t plane;
    int32_t behind; // the body's point before it
    int32_t like;   // a point of the plane that looks the same, or -1
} Place;

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

// `out` has room for all points that move.
static size_t find_places(const Frame *f, Place *out) {
    const PointCloud *now = f->views.now;
    size_t count = 0;
    for (size_t i = 0; i < now->count; i++) {
        if (!(now->moving[i] > 0)) continue;
        out[count] = look_behind(f, i);
        count += out[count].plane >= 0 && is_hidden(f, &out[count]);
    }
    return count;
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
static void add_plane(const Frame *f, int32_t plane, size_t count, Place *place, Looks *l) {
    const PointCloud *now = f->views.now;
    size_t hidden = l->hidden, seen = l->seen;
    for (size_t i = 0; i < count; i++) {
        if (place[i].plane != plane) continue;
        for (size_t c = 0; c < 3; c++) l->hidden_x[3 * hidden + c] = (real)place[i].x[c];
        l->place[hidden++] = &place[i];
    }
    if (hidden == l->hidden) return;
    for (size_t i = 0; i < now->count; i++) {
        if (f->plane[i] != plane || !is_clear(&f->views, (size_t)now->pixel[i])) continue;
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

// Hidden places of a frame in which something moves, in the tape's host memory.
typedef struct Places {
    size_t moving, count;
    Place *place; // (count)
} Places;

static Status find_frame(Tape *tape, const Observation *o, double extent, const PointCloud *now, Places *places,
                         Looks *looks, Error *err) {
    Frame frame = {.plane = tape_context(tape, (now->count + 1) * sizeof *frame.plane),
                   .sees = tape_context(tape, (size_t)o->V)};
    places->place = tape_context(tape, (places->moving + 1) * sizeof *places->place);
    if (tape->device->failed) return device_status(tape->device, err);
    Status status = views_make(o, now, &frame.views, err);
    if (status != STATUS_OK) return status;
    find_planes(extent, &frame);
    places->count = find_places(&frame, places->place);
    for (size_t k = 0; k < frame.planes.count; k++) add_plane(&frame, (int32_t)k, places->count, places->place, looks);
    views_free(&frame.views);
    return STATUS_OK;
}

Status hidden_add(Tape *tape, size_t count, const Observation *const *observations, bool crop, double extent,
                  PointCloud *now, Hidden *out, Error *err) {
    Places *places = tape_context(tape, (count + 1) * sizeof *places);
    size_t seen = 0, hidden = 0;
    for (size_t s = 0; places && s < count; s++) {
        places[s].moving = count_moving(&now[s]);
        out[s] = (Hidden){now[s].count, tape_context(tape, (places[s].moving + 1) * sizeof *out->like)};
        hidden += places[s].moving;
        seen += places[s].moving ? now[s].count : 0;
    }
    Looks looks = looks_make(tape, count, seen, hidden);
    Status status = device_status(tape->device, err);
    for (size_t s = 0; s < count && status == STATUS_OK; s++)
        if (places[s].moving) status = find_frame(tape, observations[s], extent, &now[s], &places[s], &looks, err);
    if (status != STATUS_OK) return status;
    find_looks(tape, &looks);
    status = device_status(tape->device, err);
    for (size_t s = 0; s < count && status == STATUS_OK; s++) {
        status = point_cloud_reserve(&now[s], now[s].count + places[s].count, err);
        if (status == STATUS_OK)
            add_points(observations[s], crop, places[s].count, places[s].place, &now[s], out[s].like);
    }
    return status;
}
