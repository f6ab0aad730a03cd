// SPDX-License-Identifier: Apache-2.0
#include "train/tracks.h"

#include "base/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Patches of a window, at most. Points that show a rigid motion, at least.
enum { PATCHES = 256, LEAST_POINTS = 3 };

void tracks_free(Tracks *tracks) {
    body_set_free(&tracks->set);
    free(tracks->steps);
    free(tracks->motion);
    *tracks = (Tracks){0};
}

static double distance2(const real *a, const real *b) {
    double sum = 0;
    for (int c = 0; c < 3; c++) sum += ((double)a[c] - (double)b[c]) * ((double)a[c] - (double)b[c]);
    return sum;
}

static Status out_of_memory(Error *err) { return error_set(err, STATUS_FAILED, "out of memory for tracks of bodies"); }

// Room for the bodies of the set.
static Status reserve(Tracks *t, Error *err) {
    if (t->set.bodies <= t->room) return STATUS_OK;
    size_t room = 2 * t->set.bodies;
    int *steps = realloc(t->steps, room * sizeof *steps);
    if (steps) t->steps = steps;
    RigidMotion *motion = realloc(t->motion, room * (size_t)t->longest * sizeof *motion);
    if (motion) t->motion = motion;
    if (!steps || !motion) return out_of_memory(err);
    t->room = room;
    return STATUS_OK;
}

// ---- from a frame to the next

// A frame's field: its bodies have the numbers 0 .. bodies - 1. Arrays have room for its points.
typedef struct Frame {
    const MotionField *field;
    int number;
    size_t bodies;
    real *before;        // (points, 3) where they were one time step ago
    RigidMotion *motion; // (bodies) over the last time step
    bool *moves;         // (bodies) whether it has points enough
} Frame;

static size_t count_bodies(const MotionField *field) {
    double most = -1;
    for (size_t i = 0; i < field->count; i++) most = fmax(most, (double)field->body[i]);
    return (size_t)(most + 1);
}

// The points of body b, where they were, and their colours (count, 3); `colour` may be NULL.
static size_t points_of(const Frame *f, size_t b, real *now, real *before, real *colour) {
    size_t count = 0;
    for (size_t i = 0; i < f->field->count; i++) {
        if ((long)f->field->body[i] != (long)b) continue;
        memcpy(now + 3 * count, f->field->position + 3 * i, 3 * sizeof *now);
        if (colour) memcpy(colour + 3 * count, f->field->colour + 3 * i, 3 * sizeof *colour);
        memcpy(before + 3 * count++, f->before + 3 * i, 3 * sizeof *before);
    }
    return count;
}

static void frame_free(Frame *f) {
    free(f->before);
    free(f->motion);
    free(f->moves);
}

static Status frame_make(const MotionField *field, Frame *out, Error *err) {
    *out = (Frame){.field = field, .bodies = count_bodies(field)};
    out->before = malloc((9 * field->count + 1) * sizeof *out->before);
    out->motion = malloc((out->bodies + 1) * sizeof *out->motion);
    out->moves = malloc(out->bodies + 1);
    if (!out->before || !out->motion || !out->moves) return out_of_memory(err);
    real *now = out->before + 3 * field->count, *then = now + 3 * field->count;
    for (size_t i = 0; i < 3 * field->count; i++) out->before[i] = field->position[i] - field->motion[i];
    for (size_t b = 0; b < out->bodies; b++) {
        size_t count = points_of(out, b, now, then, NULL);
        out->moves[b] = count >= LEAST_POINTS;
        if (out->moves[b]) out->motion[b] = rigid_motion_fit(count, then, now);
    }
    return STATUS_OK;
}

// The point of the next frame that x belongs to: nearest in place and colour one time step ago; -1: none within reach.
static long nearest_point(const Frame *next, const TrackOptions *o, const real *x, const real *colour) {
    const MotionField *field = next->field;
    double least = INFINITY, scale = o->colour_length * o->colour_length;
    long best = -1;
    for (size_t j = 0; j < field->count; j++) {
        double place = distance2(x, next->before + 3 * j);
        if (place > o->reach * o->reach) continue;
        double d2 = place + scale * distance2(colour, field->colour + 3 * j);
        if (d2 < least) least = d2, best = (long)j;
    }
    return best;
}

// The body of the next frame that most nodes x (count, 3) belong to: its number, -1 if they stand still there, or LOST.
enum { LOST = -2 };
static long vote(const Frame *next, const TrackOptions *o, size_t count, const real *x, const real *colour) {
    long of[BODY_NODES], best = LOST;
    size_t most = 0;
    for (size_t i = 0; i < count; i++) {
        long point = nearest_point(next, o, x + 3 * i, colour + 3 * i);
        of[i] = point < 0 ? LOST : (long)next->field->body[point];
    }
    for (size_t i = 0; i < count; i++) {
        size_t votes = 0;
        for (size_t j = 0; j < count; j++) votes += of[i] != LOST && of[j] == of[i];
        if (votes > most) most = votes, best = of[i];
    }
    return 2 * most >= count ? best : LOST;
}

// Moves the nodes x (count, 3) to the next frame; false if they are lost.
static bool follow(const Frame *next, const TrackOptions *o, size_t count, real *x, const real *colour) {
    long body = vote(next, o, count, x, colour);
    if (body == LOST || (body >= 0 && !next->moves[body])) return false;
    for (size_t i = 0; i < count && body >= 0; i++) {
        real y[3];
        rigid_motion_apply(&next->motion[body], x + 3 * i, y);
        memcpy(x + 3 * i, y, sizeof y);
    }
    return true;
}

// ---- a window

// Fills steps and motions of body b of the set, number `number` of its frame, from the true poses of the object that it
// is; none if it is none of them.
static void pose_body(Tracks *t, const TrackOptions *o, size_t b, const Frame *frame, int number, int frames) {
    size_t first = t->set.first_node[b], count = t->set.first_node[b + 1] - first;
    const real *now = t->set.now + 3 * first;
    int here = frame->number, object = poses_find(o->poses, here, number, count, now, t->set.before + 3 * first);
    real x[3 * BODY_NODES];
    t->steps[b] = 0;
    for (int k = 0; object >= 0 && k < t->longest && k < frames; k++) {
        for (size_t i = 0; i < count; i++) poses_move(o->poses, object, here, here + 1 + k, now + 3 * i, x + 3 * i);
        t->motion[b * (size_t)t->longest + (size_t)k] = rigid_motion_fit(count, now, x);
        t->steps[b] = k + 1;
    }
}

// Fills steps and motions of body b of the set, whose nodes have these colours, from the frames after its own.
static void track_body(Tracks *t, const TrackOptions *o, size_t b, const Frame *after, int frames, const real *colour) {
    size_t first = t->set.first_node[b], count = t->set.first_node[b + 1] - first;
    real x[3 * BODY_NODES];
    memcpy(x, t->set.now + 3 * first, 3 * count * sizeof *x);
    t->steps[b] = 0;
    for (int k = 0; k < t->longest && k < frames; k++) {
        if (!follow(&after[k], o, count, x, colour)) return;
        t->motion[b * (size_t)t->longest + (size_t)k] = rigid_motion_fit(count, t->set.now + 3 * first, x);
        t->steps[b] = k + 1;
    }
}

// Adds body b of a frame; `x` has room for 9 numbers of each point.
static Status add_body(Tracks *t, const TrackOptions *o, const Frame *frame, size_t b, int after, real *x, Error *err) {
    size_t points = frame->field->count, chosen[BODY_NODES], body = t->set.bodies;
    real *before = x + 3 * points, *colours = before + 3 * points, colour[3 * BODY_NODES];
    size_t count = points_of(frame, b, x, before, colours);
    if (!count) return STATUS_OK;
    Status status = body_set_add_points(&t->set, count, x, before, chosen, err);
    if (status == STATUS_OK) status = reserve(t, err);
    if (status != STATUS_OK) return status;
    for (size_t n = 0; n < t->set.nodes - t->set.first_node[body]; n++)
        memcpy(colour + 3 * n, colours + 3 * chosen[n], 3 * sizeof *colour);
    if (o->poses) pose_body(t, o, body, frame, (int)b, after);
    else track_body(t, o, body, frame + 1, after, colour);
    return STATUS_OK;
}

static Status add_bodies(Tracks *t, const TrackOptions *o, const Frame *frame, int after, Error *err) {
    real *x = malloc(9 * frame->field->count * sizeof *x);
    Status status = x ? STATUS_OK : out_of_memory(err);
    for (size_t b = 0; b < frame->bodies && status == STATUS_OK; b++) status = add_body(t, o, frame, b, after, x, err);
    free(x);
    return status;
}

typedef struct Apart {
    double distance2;
    SurfacePatch patch;
} Apart;

static int by_distance(const void *a, const void *b) {
    double x = ((const Apart *)a)->distance2, y = ((const Apart *)b)->distance2;
    return (x > y) - (x < y);
}

// The least distance of x from a body's first node, wherever that goes.
static double distance2_of_path(const Tracks *t, size_t b, const real *x) {
    const real *node = t->set.now + 3 * t->set.first_node[b];
    double least = distance2(node, x);
    for (int k = 0; k < t->steps[b]; k++) {
        real y[3];
        rigid_motion_apply(&t->motion[b * (size_t)t->longest + (size_t)k], node, y);
        least = fmin(least, distance2(y, x));
    }
    return least;
}

// Of the last window's patches, those nearest to the paths of its bodies stay.
static Status keep_near_patches(Tracks *t, Error *err) {
    BodySet *set = &t->set;
    size_t w = set->windows - 1, first = set->first_patch[w], count = set->patches - first;
    if (count <= PATCHES) return STATUS_OK;
    Apart *apart = malloc(count * sizeof *apart);
    if (!apart) return out_of_memory(err);
    for (size_t p = 0; p < count; p++) {
        apart[p] = (Apart){INFINITY, set->patch[first + p]};
        for (size_t b = set->first_body[w]; b < set->bodies; b++)
            apart[p].distance2 = fmin(apart[p].distance2, distance2_of_path(t, b, apart[p].patch.position));
    }
    qsort(apart, count, sizeof *apart, by_distance);
    for (size_t p = 0; p < PATCHES; p++) set->patch[first + p] = apart[p].patch;
    free(apart);
    set->patches = set->first_patch[w + 1] = first + PATCHES;
    return STATUS_OK;
}

static Status add_patches(Tracks *t, const MotionField *field, Error *err) {
    real *still = malloc((3 * field->count + 1) * sizeof *still);
    size_t count = 0;
    if (!still) return out_of_memory(err);
    for (size_t i = 0; i < field->count; i++)
        if (field->body[i] < 0) memcpy(still + 3 * count++, field->position + 3 * i, 3 * sizeof *still);
    Status status = body_set_add_surface(&t->set, count, still, err);
    free(still);
    return status == STATUS_OK ? keep_near_patches(t, err) : status;
}

// ---- videos

Status tracks_add_video(Tracks *t, const TrackOptions *o, int frames, const MotionField *field, Error *err) {
    Frame *all = calloc((size_t)frames + 1, sizeof *all);
    Status status = all ? STATUS_OK : out_of_memory(err);
    t->longest = o->longest;
    for (int f = 0; f < frames && status == STATUS_OK; f++) status = frame_make(&field[f], &all[f], err);
    for (int f = 0; f < frames && status == STATUS_OK; f++) {
        all[f].number = f;
        if (!all[f].bodies) continue;
        status = body_set_add_window(&t->set, err);
        if (status == STATUS_OK) status = add_bodies(t, o, &all[f], frames - 1 - f, err);
        if (status == STATUS_OK) status = add_patches(t, &field[f], err);
    }
    for (int f = 0; all && f < frames; f++) frame_free(&all[f]);
    free(all);
    return status;
}

static Status append_body(Tracks *t, const Tracks *from, size_t b, Error *err) {
    size_t first = from->set.first_node[b], count = from->set.first_node[b + 1] - first, row, body = t->set.bodies,
           steps = (size_t)t->longest;
    Status status = body_set_add_body(&t->set, count, &row, err);
    if (status == STATUS_OK) status = reserve(t, err);
    if (status != STATUS_OK) return status;
    memcpy(t->set.now + 3 * row, from->set.now + 3 * first, 3 * count * sizeof *t->set.now);
    memcpy(t->set.before + 3 * row, from->set.before + 3 * first, 3 * count * sizeof *t->set.before);
    memcpy(t->set.normal + 3 * row, from->set.normal + 3 * first, 3 * count * sizeof *t->set.normal);
    memcpy(t->motion + steps * body, from->motion + steps * b, (size_t)from->steps[b] * sizeof *t->motion);
    t->steps[body] = from->steps[b];
    return STATUS_OK;
}

Status tracks_append(Tracks *t, const Tracks *from, Error *err) {
    const BodySet *set = &from->set;
    Status status = STATUS_OK;
    if (!t->set.windows) t->longest = from->longest;
    CHECK(t->longest == from->longest || !set->windows);
    for (size_t w = 0; w < set->windows && status == STATUS_OK; w++) {
        status = body_set_add_window(&t->set, err);
        for (size_t b = set->first_body[w]; b < set->first_body[w + 1] && status == STATUS_OK; b++)
            status = append_body(t, from, b, err);
        for (size_t p = set->first_patch[w]; p < set->first_patch[w + 1] && status == STATUS_OK; p++)
            status = body_set_add_patch(&t->set, set->patch[p], err);
    }
    return status;
}

int tracks_steps(const Tracks *t, size_t window) {
    int most = 0;
    for (size_t b = t->set.first_body[window]; b < t->set.first_body[window + 1]; b++)
        if (t->steps[b] > most) most = t->steps[b];
    return most;
}
