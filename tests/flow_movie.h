// SPDX-License-Identifier: Apache-2.0
// A short made-up video for tests of motion: a painted ball flies over a floor, seen by two cameras that stand
// still.
#ifndef VPD_TESTS_FLOW_MOVIE_H
#define VPD_TESTS_FLOW_MOVIE_H

#include "tests/model_scene.h"

enum { MOVIE_FRAMES = 5, MOVIE_VIEWS = 2, MOVIE_SIDE = 40 };
enum { MOVIE_PIXELS = MOVIE_SIDE * MOVIE_SIDE, MOVIE_IMAGES = MOVIE_FRAMES * MOVIE_VIEWS };
static const double MOVIE_STEP[3] = {0.10, 0.04, -0.03}; // metres per frame

typedef struct Movie {
    int views[MOVIE_VIEWS];
    uint8_t rgb[3 * MOVIE_IMAGES * MOVIE_PIXELS];
    float depth[MOVIE_IMAGES * MOVIE_PIXELS];
    double intrinsics[9 * MOVIE_VIEWS], pose[16 * MOVIE_IMAGES];
    Observation observation;
} Movie;

static inline void movie_draw(Movie *m, int frame, int view) {
    const double eye[2][3] = {{1.6, 0.2, 1.3}, {-0.4, -1.7, 1.2}}, target[3] = {0, 0, 0.2}, up[3] = {0, 0, 1};
    double centre[3] = {-0.2, -0.1, 0.5}, *K = m->intrinsics + 9 * view;
    size_t image = (size_t)(frame * MOVIE_VIEWS + view);
    double *pose = m->pose + 16 * image;
    for (int c = 0; c < 3; c++) centre[c] += frame * MOVIE_STEP[c];
    camera_intrinsics_from_fov(0.9, MOVIE_SIDE, MOVIE_SIDE, K);
    camera_look_at(eye[view], target, up, pose);
    for (size_t p = 0; p < MOVIE_PIXELS; p++) {
        double point[3], d[3];
        bool ball;
        camera_unproject_world(K, pose, (double)(p % MOVIE_SIDE) + 0.5, (double)(p / MOVIE_SIDE) + 0.5, 1, point);
        for (int c = 0; c < 3; c++) d[c] = point[c] - eye[view][c];
        double z = scene_trace(eye[view], d, centre, &ball);
        uint8_t *rgb = m->rgb + 3 * (image * MOVIE_PIXELS + p);
        m->depth[image * MOVIE_PIXELS + p] = (float)z;
        for (int c = 0; c < 3; c++) {
            double normal = (eye[view][c] + z * d[c] - centre[c]) / 0.3; // the paint flies with the ball
            rgb[c] = (uint8_t)(ball ? 150 + 60 * sin(4 * normal + c) : 60 + 10 * c);
        }
    }
}

static inline void movie_make(Movie *m) {
    memset(m, 0, sizeof *m);
    for (int view = 0; view < MOVIE_VIEWS; view++) {
        m->views[view] = view;
        for (int frame = 0; frame < MOVIE_FRAMES; frame++) movie_draw(m, frame, view);
    }
    m->observation = (Observation){.F = MOVIE_FRAMES,
                                   .V = MOVIE_VIEWS,
                                   .H = MOVIE_SIDE,
                                   .W = MOVIE_SIDE,
                                   .views = m->views,
                                   .rgb = m->rgb,
                                   .depth = m->depth,
                                   .intrinsics = m->intrinsics,
                                   .world_from_camera = m->pose};
}

// `count` frames from `first` on.
static inline Observation movie_part(const Movie *m, int first, int count) {
    Observation part = m->observation;
    size_t image = (size_t)(first * MOVIE_VIEWS);
    part.F = count;
    part.rgb = m->rgb + 3 * MOVIE_PIXELS * image;
    part.depth = m->depth + MOVIE_PIXELS * image;
    part.world_from_camera = m->pose + 16 * image;
    return part;
}

#endif
