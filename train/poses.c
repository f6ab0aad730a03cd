// SPDX-License-Identifier: Apache-2.0
#include "train/poses.h"

#include "base/camera.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct Pose {
    double position[3], rotation[9]; // world from object
} Pose;

static Pose pose_of(const Poses *p, int object, int frame, bool turns) {
    const EpisodeInfo *e = p->episode;
    size_t at = (size_t)(p->first + frame * p->stride) * (size_t)e->O + (size_t)object;
    Pose out = {.rotation = {1, 0, 0, 0, 1, 0, 0, 0, 1}};
    for (int c = 0; c < 3; c++) out.position[c] = e->object_position[3 * at + (size_t)c];
    if (turns && e->object_quaternion) rotation_from_quaternion(e->object_quaternion + 4 * at, out.rotation);
    return out;
}

static bool turns(const Poses *p, int object) { return !p->error || p->error[object][0] >= p->error[object][1]; }

static void move(const Poses *p, int object, bool turned, int from, int to, const real x[3], real y[3]) {
    Pose a = pose_of(p, object, from, turned), b = pose_of(p, object, to, turned);
    double own[3] = {0}, there[3];
    for (int i = 0; i < 9; i++) own[i % 3] += a.rotation[i] * ((double)x[i / 3] - a.position[i / 3]);
    for (int c = 0; c < 3; c++) there[c] = b.position[c];
    for (int i = 0; i < 9; i++) there[i / 3] += b.rotation[i] * own[i % 3];
    for (int c = 0; c < 3; c++) y[c] = (real)there[c];
}

void poses_move(const Poses *p, int object, int from, int to, const real x[3], real y[3]) {
    move(p, object, turns(p, object), from, to, x, y);
}

// Points that were seen in a frame and one before it.
typedef struct Seen {
    int frame;
    size_t count;
    const real *now, *before; // (count, 3)
} Seen;

// Mean distance of the points from where the object's motion since the frame before takes them.
static double error_of(const Poses *p, int object, bool turned, const Seen *seen) {
    double sum = 0;
    for (size_t i = 0; i < seen->count; i++) {
        real y[3];
        move(p, object, turned, seen->frame, seen->frame - 1, seen->now + 3 * i, y);
        sum += sqrt(squared_distance(seen->before + 3 * i, y));
    }
    return sum / (double)seen->count;
}

// How far the middle of the points is from where the object's motion takes it.
static double middle_error(const Poses *p, int object, bool turned, const Seen *seen) {
    real off[3] = {0}, none[3] = {0};
    for (size_t i = 0; i < seen->count; i++) {
        real y[3];
        move(p, object, turned, seen->frame, seen->frame - 1, seen->now + 3 * i, y);
        for (size_t c = 0; c < 3; c++) off[c] += (seen->before[3 * i + c] - y[c]) / (real)seen->count;
    }
    return sqrt(squared_distance(off, none));
}

// The nearest object that moves as the points do, turned or not; -1: none.
static int object_of(const Poses *p, const Seen *seen) {
    double nearest2 = INFINITY;
    real middle[3] = {0};
    int best = -1;
    for (size_t i = 0; i < 3 * seen->count; i++) middle[i % 3] += seen->now[i] / (real)seen->count;
    for (int k = 0; k < p->episode->O; k++) {
        Pose pose = pose_of(p, k, seen->frame, false);
        const real centre[3] = {(real)pose.position[0], (real)pose.position[1], (real)pose.position[2]};
        double apart2 = squared_distance(middle, centre);
        double error = fmin(middle_error(p, k, true, seen), middle_error(p, k, false, seen));
        if (apart2 < nearest2 && error <= p->tolerance) nearest2 = apart2, best = k;
    }
    return best;
}

Status poses_open(Poses *p, Error *err) {
    p->error = calloc((size_t)p->episode->O + 1, sizeof *p->error);
    return p->error ? STATUS_OK : error_set(err, STATUS_FAILED, "out of memory for the states of an episode");
}

void poses_close(Poses *p) {
    p->objects = p->plain = 0;
    for (int k = 0; p->error && k < p->episode->O; k++) {
        p->objects += p->error[k][0] + p->error[k][1] > 0;
        p->plain += !turns(p, k);
    }
    free(p->error);
    p->error = NULL;
}

void poses_look(Poses *p, int frame, size_t count, const real *now, const real *before) {
    Seen seen = {frame, count, now, before};
    int object = object_of(p, &seen);
    for (int turned = 0; object >= 0 && turned < 2; turned++)
        p->error[object][turned] += error_of(p, object, turned, &seen);
}

static void note_strange(Poses *p, int frame, int body, size_t count, const real *now, const real *before) {
    if (p->strange++) return;
    p->frame = p->first + frame * p->stride, p->body = body;
    for (size_t c = 0; c < 3; c++) p->place[c] = p->way[c] = 0;
    for (size_t i = 0; i < 3 * count; i++) {
        p->place[i % 3] += (double)now[i] / (double)count;
        p->way[i % 3] += ((double)now[i] - (double)before[i]) / (double)count;
    }
}

int poses_find(Poses *p, int frame, int body, size_t count, const real *now, const real *before) {
    Seen seen = {frame, count, now, before};
    int object = object_of(p, &seen);
    if (object < 0) note_strange(p, frame, body, count, now, before);
    else p->known++;
    return object;
}

void poses_tell(const Poses *p, char *out, size_t size) {
    snprintf(
        out, size,
        "%s:/episodes/%s: frame %d, body %d at (%.3f, %.3f, %.3f) m moved by (%.3f, %.3f, %.3f) m in the video, and "
        "no object of state/* does within %.3g m",
        p->episode->file, p->episode->name, p->frame, p->body, p->place[0], p->place[1], p->place[2], p->way[0],
        p->way[1], p->way[2], p->tolerance);
}

Status poses_check(const Poses *p, Error *err) {
    char first[POSES_TEXT];
    if (p->strange <= p->known) return STATUS_OK;
    poses_tell(p, first, sizeof first);
    return error_set(err, STATUS_BAD_INPUT,
                     "%s; so it is with %d of %d bodies: check units, axes and times of the states, or set "
                     "train.labels=video",
                     first, p->strange, p->strange + p->known);
}
