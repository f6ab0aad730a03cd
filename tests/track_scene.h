// SPDX-License-Identifier: Apache-2.0
// Motion fields of two rigid bodies that fly and turn over a floor, with exact motions.
#ifndef VPD_TESTS_TRACK_SCENE_H
#define VPD_TESTS_TRACK_SCENE_H

#include "base/random.h"
#include "tests/test.h"
#include "train/tracks.h"

enum { TRACK_FRAMES = 9, TRACK_POINTS = 60, TRACK_STILL = 300, TRACK_ALL = 2 * TRACK_POINTS + TRACK_STILL };

typedef struct TrackScene {
    MotionField field[TRACK_FRAMES]; // the first is {0}
} TrackScene;

static inline double track_random(int i) {
    return 2 * (double)random_uniform((RandomKey){.seed = 8, .purpose = RANDOM_TEST}, (uint64_t)i) - 1;
}

// Where the point x of frame 0 is at a frame. Body 0 is red and goes along x, body 1 is blue and goes the other way.
static inline void track_place(int body, int frame, const double *x, double *y) {
    double side = body ? -1 : 1, angle = side * 0.05 * frame, s = sin(angle), c = cos(angle);
    const double centre[3] = {-0.4 * side, 0.1 * side, 0.5}, velocity[3] = {0.03 * side, 0.01, -0.02};
    double d[3] = {x[0] - centre[0], x[1] - centre[1], x[2] - centre[2]};
    const double turned[3] = {d[0], c * d[1] - s * d[2], s * d[1] + c * d[2]};
    for (int k = 0; k < 3; k++) y[k] = centre[k] + turned[k] + frame * velocity[k];
}

// Number of a body in a frame's field: they change places.
static inline int track_number(int frame, int body) { return frame % 2 ? body : 1 - body; }

// Point i of a body in frame 0: a corner piece of its ball.
static inline void track_point(int body, int i, double *x) {
    double side = body ? -1 : 1, length = 1e-6;
    for (int c = 0; c < 3; c++) x[c] = track_random(3 * i + c + 1000 * body), length += x[c] * x[c];
    for (int c = 0; c < 3; c++) x[c] = 0.1 * x[c] / sqrt(length) + (c == 2 ? 0.5 : c == 1 ? 0.1 * side : -0.4 * side);
}

static inline void track_scene_frame(MotionField *field, int frame) {
    Error err = {0};
    assert_status_ok(motion_field_create(TRACK_ALL, field, &err), err);
    for (int i = 0; i < TRACK_ALL; i++) {
        int body = i / TRACK_POINTS;
        double x[3], now[3], before[3];
        if (body < 2) {
            track_point(body, i % TRACK_POINTS, x);
            track_place(body, frame, x, now);
            track_place(body, frame - 1, x, before);
            field->body[i] = (real)track_number(frame, body);
            field->colour[3 * i + 2 * body] = 1;
        } else {
            for (int c = 0; c < 3; c++) before[c] = now[c] = c == 2 ? 0 : track_random(5000 + 3 * i + c);
            field->body[i] = -1;
        }
        for (int c = 0; c < 3; c++) {
            field->position[3 * i + c] = (real)now[c];
            field->motion[3 * i + c] = (real)(now[c] - before[c]);
        }
    }
}

static inline void track_scene_make(TrackScene *scene) {
    *scene = (TrackScene){0};
    for (int f = 1; f < TRACK_FRAMES; f++) track_scene_frame(&scene->field[f], f);
}

static inline void track_scene_free(TrackScene *scene) {
    for (int f = 0; f < TRACK_FRAMES; f++) motion_field_free(&scene->field[f]);
}

#endif
