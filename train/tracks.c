// SPDX-License-Identifier: Apache-2.0
#include "train/tracks.h"

#include "base/array.h"
#include "base/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Patches of a window, at most. Points that show a rigid motion, at least.
enum { PATCHES = 256, LEAST_POINTS = 3 };
// Share of a body's nodes that make all of them follow one body of the next frame.
enum { WHOLE = 3, WHOLE_PART = 4 };
// Frames for which a body that rests is seen to stand still, at least.
enum { REST_FRAMES = 3 };

void tracks_free(Tracks *tracks) {
    body_set_free(&tracks->set);
    free(tracks->steps);
    free(tracks->place);
    *tracks = (Tracks){0};
}

// Room for the bodies and nodes of the set.
static Status reserve(Tracks *t, Error *err) {
    size_t bodies = 2 * t->set.bodies, nodes = 2 * t->set.nodes;
    if (t->set.bodies > t->room[0]) {
        if (!array_grow(&t->steps, bodies, sizeof *t->steps)) return error_no_memory(err, "tracks of bodies");
        t->room[0] = bodies;
    }
    if (t->set.nodes > t->room[1]) {
        if (!array_grow(&t->place, 3 * nodes * (size_t)t->longest, sizeof *t->place))
            return error_no_memory(err, "tracks of bodies");
        t->room[1] = nodes;
    }
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
    size_t *sighting;    // (bodies) that of each, in the video
} Frame;

static size_t count_bodies(const MotionField *field) {
    double most = -1;
    for (size_t i = 0; i < field->count; i++) most = fmax(most, (double)field->body[i]);
    return (size_t)(most + 1);
}

// The points of body b that are seen, or its mirror images, where they were, and their colours (count, 3); `colour` may
// be NULL.
static size_t points_of(const Frame *f, size_t b, bool images, real *now, real *before, real *colour) {
    size_t count = 0;
    for (size_t i = 0; i < f->field->count; i++) {
        if ((long)f->field->body[i] != (long)b || (f->field->mirrored[i] > 0) != images) continue;
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
    free(f->sighting);
}

static Status frame_make(const MotionField *field, Frame *out, Error *err) {
    *out = (Frame){.field = field, .bodies = count_bodies(field)};
    out->before = malloc((9 * field->count + 1) * sizeof *out->before);
    out->motion = malloc((out->bodies + 1) * sizeof *out->motion);
    out->moves = malloc(out->bodies + 1);
    out->sighting = malloc((out->bodies + 1) * sizeof *out->sighting);
    if (!out->before || !out->motion || !out->moves || !out->sighting) return error_no_memory(err, "tracks of bodies");
    real *now = out->before + 3 * field->count, *then = now + 3 * field->count;
    for (size_t i = 0; i < 3 * field->count; i++) out->before[i] = field->position[i] - field->motion[i];
    for (size_t b = 0; b < out->bodies; b++) {
        size_t count = points_of(out, b, false, now, then, NULL);
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
        double place = squared_distance(x, next->before + 3 * j);
        if (field->mirrored[j] > 0) continue;
        if (place > o->reach * o->reach) continue;
        double d2 = place + scale * squared_distance(colour, field->colour + 3 * j);
        if (d2 < least) least = d2, best = (long)j;
    }
    return best;
}

// What is known of a body's nodes beside their places.
typedef struct Look {
    size_t seen; // how many are no mirror images
    bool image[BODY_NODES];
    real colour[3 * BODY_NODES];
} Look;

// Where nodes go to in the next frame: a body's number, -1 where they stand still, or LOST.
enum { LOST = -2 };

// The body that most of `of` (count) name, and how many of them.
static long most_named(size_t count, const long *of, size_t *most) {
    long best = LOST;
    *most = 0;
    for (size_t i = 0; i < count; i++) {
        size_t votes = 0;
        for (size_t j = 0; j < count; j++) votes += of[i] != LOST && of[j] == of[i];
        if (votes > *most) *most = votes, best = of[i];
    }
    return best;
}

// Of the nodes x (count, 3) that know where to go, the one nearest to node i.
static long nearest_known(size_t count, const real *x, const long *of, size_t i) {
    double least = INFINITY;
    long best = LOST;
    for (size_t j = 0; j < count; j++)
        if (of[j] != LOST && squared_distance(x + 3 * i, x + 3 * j) < least)
            least = squared_distance(x + 3 * i, x + 3 * j), best = of[j];
    return best;
}

// Where each of the nodes x (count, 3) goes; returns how many of them know. Mirror images do not.
static size_t ways_of(const Frame *next, const TrackOptions *o, size_t count, const real *x, const Look *look,
                      long *of) {
    size_t known = 0;
    for (size_t i = 0; i < count; i++) {
        long point = look->image[i] ? -1 : nearest_point(next, o, x + 3 * i, look->colour + 3 * i);
        of[i] = point < 0 ? LOST : (long)next->field->body[point];
        if (of[i] >= 0 && !next->moves[of[i]]) of[i] = LOST;
        known += of[i] != LOST;
    }
    return known;
}

// Moves the nodes x (count, 3) to the next frame, in pieces if they may bend; returns the body of most, or LOST.
static long follow(const Frame *next, const TrackOptions *o, bool bends, size_t count, real *x, const Look *look) {
    long of[BODY_NODES];
    size_t most, known = ways_of(next, o, count, x, look, of);
    long body = most_named(count, of, &most);
    if (2 * (bends ? known : most) < look->seen || !known) return LOST;
    bool whole = !bends || WHOLE_PART * most >= WHOLE * look->seen;
    real from[3 * BODY_NODES];
    memcpy(from, x, 3 * count * sizeof *x);
    for (size_t i = 0; i < count; i++) {
        long own = whole ? body : nearest_known(count, from, of, i);
        if (own >= 0) rigid_motion_apply(&next->motion[own], from + 3 * i, x + 3 * i);
    }
    return body;
}

// ---- a window

// How far places x (count, 3) are from the best rigid motion of the nodes: root mean square, metres.
static double bent(size_t count, const real *node, const real *x) {
    RigidMotion best = rigid_motion_fit(count, node, x);
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        real y[3];
        rigid_motion_apply(&best, node + 3 * i, y);
        sum += squared_distance(x + 3 * i, y);
    }
    return sqrt(sum / (double)count);
}

// Fills the track of body b of the set from the true poses of the object that it is; none if it is none of them.
static void pose_body(Tracks *t, const TrackOptions *o, size_t b, const Frame *frame, int number, int frames) {
    size_t first = t->set.first_node[b], count = t->set.first_node[b + 1] - first;
    const real *now = t->set.now + 3 * first;
    int object = poses_find(o->poses, frame->number, number, count, now, t->set.before + 3 * first);
    int here = frame->number;
    t->steps[b] = 0;
    for (int k = 0; object >= 0 && k < t->longest && k < frames; k++) {
        for (size_t i = 0; i < count; i++)
            poses_move(o->poses, object, here, here + 1 + k, now + 3 * i, tracks_places(t, b, (size_t)k) + 3 * i);
        t->steps[b] = k + 1;
    }
}

// A body of a frame as it was seen there.
typedef struct Sighting {
    size_t body;  // of the set
    int frame;    // of the video
    long next;    // body of the next frame that most nodes belong to; LOST: none
    bool bends;   // its nodes leave every rigid motion
    size_t thing; // an earlier sighting of the same thing, or this one
    Look look;    // of its nodes
} Sighting;

// A video on its way to tracks.
typedef struct Video {
    const TrackOptions *options;
    int frames;
    Frame *frame; // (frames)
    Sighting *sighting;
    size_t sightings;
} Video;

// Fills the track of a body of the set from the frames after its own.
static void track_body(Tracks *t, const Video *v, Sighting *seen, bool bends) {
    size_t b = seen->body, first = t->set.first_node[b], count = t->set.first_node[b + 1] - first;
    const real *now = t->set.now + 3 * first;
    real x[3 * BODY_NODES];
    double most = 0;
    memcpy(x, now, 3 * count * sizeof *x);
    t->steps[b] = 0;
    for (int k = 0; k < t->longest && seen->frame + 1 + k < v->frames; k++) {
        long body = follow(&v->frame[seen->frame + 1 + k], v->options, bends, count, x, &seen->look);
        if (k == 0) seen->next = body;
        if (body == LOST) break;
        memcpy(tracks_places(t, b, (size_t)k), x, 3 * count * sizeof *x);
        if (bends) most = fmax(most, bent(count, now, x));
        t->steps[b] = k + 1;
    }
    seen->bends = most > v->options->stiff;
}

// Adds body b of a frame; `x` has room for 9 numbers of each point.
static Status add_body(Tracks *t, Video *v, const Frame *frame, size_t b, real *x, Error *err) {
    size_t points = frame->field->count, chosen[BODY_NODES];
    real *before = x + 3 * points, *colours = before + 3 * points;
    size_t seen_points = points_of(frame, b, false, x, before, colours), at = 3 * seen_points,
           count = seen_points + points_of(frame, b, true, x + at, before + at, colours + at);
    Sighting *seen = &v->sighting[v->sightings];
    frame->sighting[b] = v->sightings;
    *seen = (Sighting){.body = t->set.bodies, .frame = frame->number, .next = LOST, .thing = v->sightings};
    if (!seen_points) return STATUS_OK;
    Status status = body_set_add_points(&t->set, count, x, before, chosen, err);
    if (status == STATUS_OK) status = reserve(t, err);
    if (status != STATUS_OK) return status;
    status = body_set_add_spread(&t->set, count - seen_points, x + at, err);
    if (status != STATUS_OK) return status;
    v->sightings++;
    for (size_t n = 0; n < t->set.nodes - t->set.first_node[seen->body]; n++) {
        memcpy(seen->look.colour + 3 * n, colours + 3 * chosen[n], 3 * sizeof *colours);
        seen->look.image[n] = chosen[n] >= seen_points;
        seen->look.seen += !seen->look.image[n];
    }
    if (v->options->poses) pose_body(t, v->options, seen->body, frame, (int)b, v->frames - 1 - frame->number);
    else track_body(t, v, seen, true);
    return STATUS_OK;
}

static Status add_bodies(Tracks *t, Video *v, const Frame *frame, Error *err) {
    real *x = malloc(9 * frame->field->count * sizeof *x);
    Status status = x ? STATUS_OK : error_no_memory(err, "tracks of bodies");
    for (size_t b = 0; b < frame->bodies && status == STATUS_OK; b++) status = add_body(t, v, frame, b, x, err);
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
    double least = squared_distance(node, x);
    for (int k = 0; k < t->steps[b]; k++) least = fmin(least, squared_distance(tracks_places(t, b, (size_t)k), x));
    return least;
}

// Of the last window's patches, those nearest to the paths of its bodies stay.
static Status keep_near_patches(Tracks *t, Error *err) {
    BodySet *set = &t->set;
    size_t w = set->windows - 1, first = set->first_patch[w], count = set->patches - first;
    if (count <= PATCHES) return STATUS_OK;
    Apart *apart = malloc(count * sizeof *apart);
    if (!apart) return error_no_memory(err, "tracks of bodies");
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
    if (!still) return error_no_memory(err, "tracks of bodies");
    for (size_t i = 0; i < field->count; i++)
        if (field->body[i] < 0) memcpy(still + 3 * count++, field->position + 3 * i, 3 * sizeof *still);
    Status status = body_set_add_surface(&t->set, count, still, err);
    free(still);
    return status == STATUS_OK ? keep_near_patches(t, err) : status;
}

// ---- windows of other tracks

static Status append_body(Tracks *t, const Tracks *from, size_t b, Error *err) {
    size_t first = from->set.first_node[b], count = from->set.first_node[b + 1] - first, row, body = t->set.bodies;
    Status status = body_set_add_body(&t->set, count, &row, err);
    if (status == STATUS_OK) status = reserve(t, err);
    if (status != STATUS_OK) return status;
    memcpy(t->set.now + 3 * row, from->set.now + 3 * first, 3 * count * sizeof *t->set.now);
    memcpy(t->set.before + 3 * row, from->set.before + 3 * first, 3 * count * sizeof *t->set.before);
    memcpy(t->set.normal + 3 * row, from->set.normal + 3 * first, 3 * count * sizeof *t->set.normal);
    memcpy(tracks_places(t, body, 0), tracks_places(from, b, 0), 3 * count * (size_t)from->steps[b] * sizeof *t->place);
    t->steps[body] = from->steps[b];
    for (size_t i = from->set.first_hull[b]; i < from->set.first_hull[b + 1] && status == STATUS_OK; i++) {
        real x[3]; // a copy, because `from` may be `t`
        memcpy(x, from->set.hull + 3 * i, sizeof x);
        status = body_set_add_hull(&t->set, 1, x, err);
    }
    return status;
}

static void scale_all(size_t count, real *values, real scale) {
    for (size_t i = 0; i < count; i++) values[i] *= scale;
}

void tracks_scale(Tracks *t, real scale) {
    BodySet *set = &t->set;
    scale_all(3 * set->nodes, set->now, scale);
    scale_all(3 * set->nodes, set->before, scale);
    scale_all(3 * set->hulls, set->hull, scale);
    scale_all(3 * set->nodes * (size_t)t->longest, t->place, scale);
    for (size_t p = 0; p < set->patches; p++) {
        scale_all(3, set->patch[p].position, scale);
        set->patch[p].radius *= scale;
        set->patch[p].rough *= scale;
    }
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

// ---- bodies at rest

bool tracks_moves(const Tracks *t, size_t b) {
    const BodySet *set = &t->set;
    size_t first = 3 * set->first_node[b], end = 3 * set->first_node[b + 1];
    return memcmp(set->now + first, set->before + first, (end - first) * sizeof *set->now) != 0;
}

// Whether the body, which still moves, moves no farther than `still` for as long as it is followed.
static bool comes_to_rest(const Tracks *t, const TrackOptions *o, size_t b) {
    size_t first = t->set.first_node[b], count = t->set.first_node[b + 1] - first;
    if (t->steps[b] < REST_FRAMES || !tracks_moves(t, b)) return false;
    for (int k = 0; k < t->steps[b]; k++)
        for (size_t i = 0; i < count; i++)
            if (squared_distance(tracks_places(t, b, (size_t)k) + 3 * i, t->set.now + 3 * (first + i)) >
                o->still * o->still)
                return false;
    return true;
}

// Body b did not move before, and never will.
static void stop_body(Tracks *t, size_t b) {
    size_t first = t->set.first_node[b], count = t->set.first_node[b + 1] - first;
    const real *now = t->set.now + 3 * first;
    memcpy(t->set.before + 3 * first, now, 3 * count * sizeof *now);
    for (int k = 0; k < t->longest; k++) memcpy(tracks_places(t, b, (size_t)k), now, 3 * count * sizeof *now);
    t->steps[b] = t->longest;
}

// The bodies of the last window that come to rest are added as a window in which they rest.
static Status add_rest(Tracks *t, const TrackOptions *o, Error *err) {
    const BodySet *set = &t->set;
    size_t w = set->windows - 1, first = set->first_body[w], end = set->bodies, stopped = 0;
    Status status = STATUS_OK;
    for (size_t b = first; b < end && status == STATUS_OK; b++) {
        if (!comes_to_rest(t, o, b)) continue;
        if (!stopped++) status = body_set_add_window(&t->set, err);
        if (status == STATUS_OK) status = append_body(t, t, b, err);
        if (status == STATUS_OK) stop_body(t, set->bodies - 1);
    }
    for (size_t p = set->first_patch[w]; stopped && p < set->first_patch[w + 1] && status == STATUS_OK; p++)
        status = body_set_add_patch(&t->set, set->patch[p], err);
    return status;
}

// ---- things that do not bend

static size_t first_sighting(const Video *v, size_t i) {
    while (v->sighting[i].thing != i) i = v->sighting[i].thing;
    return i;
}

// Sightings of a body and of what most of its nodes belong to a frame later are of one thing.
static void join_sightings(Video *v) {
    for (size_t i = 0; i < v->sightings; i++) {
        const Sighting *seen = &v->sighting[i];
        if (seen->next < 0) continue;
        size_t a = first_sighting(v, i), b = first_sighting(v, v->frame[seen->frame + 1].sighting[seen->next]);
        v->sighting[a > b ? a : b].thing = a > b ? b : a;
    }
}

// Noise divides a rigid body now and then. A thing that bends in fewer than half of its sightings is followed again, as
// a rigid body.
static Status follow_rigid(Tracks *t, Video *v, Error *err) {
    size_t(*bends)[2] = calloc(v->sightings + 1, sizeof *bends); // in these sightings, of these
    if (!bends) return error_no_memory(err, "tracks of bodies");
    join_sightings(v);
    for (size_t i = 0; i < v->sightings; i++) {
        size_t *of = bends[first_sighting(v, i)];
        of[0] += v->sighting[i].bends;
        of[1]++;
    }
    for (size_t i = 0; i < v->sightings; i++) {
        const size_t *of = bends[first_sighting(v, i)];
        if (2 * of[0] < of[1]) track_body(t, v, &v->sighting[i], false);
    }
    free(bends);
    return STATUS_OK;
}

// ---- videos

static Status add_window(Tracks *t, Video *v, int f, Error *err) {
    Status status = body_set_add_window(&t->set, err);
    if (status == STATUS_OK) status = add_bodies(t, v, &v->frame[f], err);
    if (status == STATUS_OK) status = add_patches(t, v->frame[f].field, err);
    if (status == STATUS_OK) status = add_rest(t, v->options, err);
    return status;
}

static Status open_video(Video *v, const MotionField *field, Error *err) {
    Status status = STATUS_OK;
    size_t bodies = 0;
    v->frame = calloc((size_t)v->frames + 1, sizeof *v->frame);
    if (!v->frame) return error_no_memory(err, "tracks of bodies");
    for (int f = 0; f < v->frames && status == STATUS_OK; f++) {
        status = frame_make(&field[f], &v->frame[f], err);
        v->frame[f].number = f;
        bodies += v->frame[f].bodies;
    }
    v->sighting = malloc((bodies + 1) * sizeof *v->sighting);
    return v->sighting || status != STATUS_OK ? status : error_no_memory(err, "tracks of bodies");
}

// Shows all bodies of the video to the states.
static Status look_at_poses(const Video *v, Poses *poses, Error *err) {
    Status status = poses_open(poses, err);
    for (int f = 0; f < v->frames && status == STATUS_OK; f++) {
        const Frame *frame = &v->frame[f];
        real *x = malloc((6 * frame->field->count + 1) * sizeof *x), *before = x + 3 * frame->field->count;
        if (!x) return error_no_memory(err, "tracks of bodies");
        for (size_t b = 0; b < frame->bodies; b++) {
            size_t count = points_of(frame, b, false, x, before, NULL);
            if (count) poses_look(poses, f, count, x, before);
        }
        free(x);
    }
    return status;
}

static void close_video(Video *v) {
    if (v->options->poses) poses_close(v->options->poses);
    for (int f = 0; v->frame && f < v->frames; f++) frame_free(&v->frame[f]);
    free(v->frame);
    free(v->sighting);
}

Status tracks_add_video(Tracks *t, const TrackOptions *o, int frames, const MotionField *field, Error *err) {
    Video video = {.options = o, .frames = frames};
    t->longest = o->longest;
    Status status = open_video(&video, field, err);
    if (status == STATUS_OK && o->poses) status = look_at_poses(&video, o->poses, err);
    for (int f = 0; f < frames && status == STATUS_OK; f++)
        if (video.frame[f].bodies) status = add_window(t, &video, f, err);
    if (status == STATUS_OK && !o->poses) status = follow_rigid(t, &video, err);
    close_video(&video);
    return status;
}

int tracks_steps(const Tracks *t, size_t window) {
    int most = 0;
    for (size_t b = t->set.first_body[window]; b < t->set.first_body[window + 1]; b++)
        if (t->steps[b] > most) most = t->steps[b];
    return most;
}
