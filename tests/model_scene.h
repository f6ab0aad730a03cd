// SPDX-License-Identifier: Apache-2.0
// A small made-up scene for tests of the whole model: a floor and a ball that moves, seen by a few cameras. Everything
// is computed from formulas, in double, so that a shifted world gives exactly shifted points.
#ifndef VPD_TESTS_MODEL_SCENE_H
#define VPD_TESTS_MODEL_SCENE_H

#include "base/camera.h"
#include "base/observation.h"
#include "model/config.h"
#include "tests/test.h"

enum { SCENE_FRAMES = 2, SCENE_VIEWS = 2, SCENE_H = 12, SCENE_W = 15 };
enum { SCENE_IMAGES = SCENE_FRAMES * SCENE_VIEWS, SCENE_PIXELS = SCENE_H * SCENE_W };

typedef struct ModelScene {
    int views[SCENE_VIEWS];
    uint8_t rgb[SCENE_IMAGES * SCENE_PIXELS * 3];
    float depth[SCENE_IMAGES * SCENE_PIXELS];
    double intrinsics[SCENE_VIEWS * 9], pose[SCENE_IMAGES * 16], bounds[6];
    Observation observation;
} ModelScene;

// Nearest hit of a ray with the ball (radius .3 at `centre`) or the floor z = 0; 0 when it meets nothing.
static inline double scene_trace(const double eye[3], const double d[3], const double centre[3], bool *ball) {
    double o[3] = {eye[0] - centre[0], eye[1] - centre[1], eye[2] - centre[2]};
    double a = d[0] * d[0] + d[1] * d[1] + d[2] * d[2], b = o[0] * d[0] + o[1] * d[1] + o[2] * d[2];
    double c = o[0] * o[0] + o[1] * o[1] + o[2] * o[2] - 0.09, root = b * b - a * c;
    *ball = root > 0 && -b - sqrt(root) > 0;
    if (*ball) return (-b - sqrt(root)) / a;
    double z = d[2] < 0 ? -eye[2] / d[2] : 0;
    return z < 6 ? z : 0;
}

static inline void scene_draw(ModelScene *s, int frame, int view) {
    const double eye[2][3] = {{1.6, 0.2, 1.3}, {-0.4, -1.7, 1.2}}, target[3] = {0, 0, 0.2}, up[3] = {0, 0, 1};
    double centre[3] = {0.1 + 0.08 * frame, -0.05, 0.5 - 0.06 * frame}, *K = s->intrinsics + 9 * view;
    int image = frame * SCENE_VIEWS + view;
    double *pose = s->pose + 16 * image;
    camera_intrinsics_from_fov(0.9, SCENE_H, SCENE_W, K);
    camera_look_at(eye[view], target, up, pose);
    for (int p = 0; p < SCENE_PIXELS; p++) {
        double point[3], d[3];
        bool ball;
        camera_unproject_world(K, pose, p % SCENE_W + 0.5, p / SCENE_W + 0.5, 1, point);
        for (int c = 0; c < 3; c++) d[c] = point[c] - eye[view][c];
        double z = scene_trace(eye[view], d, centre, &ball);
        uint8_t *rgb = s->rgb + 3 * (image * SCENE_PIXELS + p);
        s->depth[image * SCENE_PIXELS + p] = (float)z;
        rgb[0] = ball ? 200 : (uint8_t)(90 + 40 * sin(5 * (eye[view][0] + z * d[0])));
        rgb[1] = ball ? 60 : 120;
        rgb[2] = z > 0 ? (uint8_t)(70 + 10 * z) : 240;
    }
}

// The same scene with the world moved by `shift`.
static inline void scene_make(ModelScene *s, const double shift[3]) {
    memset(s, 0, sizeof *s);
    for (int view = 0; view < SCENE_VIEWS; view++) {
        s->views[view] = view;
        for (int frame = 0; frame < SCENE_FRAMES; frame++) {
            scene_draw(s, frame, view);
            for (int c = 0; c < 3; c++) s->pose[16 * (frame * SCENE_VIEWS + view) + 4 * c + 3] += shift[c];
        }
    }
    const double bounds[6] = {-1, -1, -0.05, 1, 1, 1};
    for (int c = 0; c < 6; c++) s->bounds[c] = bounds[c] + shift[c % 3];
    s->observation = (Observation){.F = SCENE_FRAMES,
                                   .V = SCENE_VIEWS,
                                   .H = SCENE_H,
                                   .W = SCENE_W,
                                   .views = s->views,
                                   .rgb = s->rgb,
                                   .depth = s->depth,
                                   .intrinsics = s->intrinsics,
                                   .world_from_camera = s->pose,
                                   .bounds = s->bounds};
}

// A model small enough for finite differences. `pairs` are further options, NULL-terminated.
static inline void scene_config(Config *config, const char *const *pairs) {
    static const char *const small[] = {"model.C=8",
                                        "model.D=6",
                                        "encoder.N=60",
                                        "encoder.widths=[4,6]",
                                        "gnn.M=12",
                                        "gnn.L=2",
                                        "renderer.widths=[8,8]",
                                        "renderer.S=6",
                                        "data.extent=2",
                                        "gnn.length_scale=0.1",
                                        "gnn.displacement_scale=0.05",
                                        "gnn.colour_length=1",
                                        "gnn.moving_threshold=0.005",
                                        "renderer.radius=0.25"};
    Error err = {0};
    config_defaults(config);
    assert_status_ok(config_set(config, sizeof small / sizeof *small, small, &err), err);
    for (size_t i = 0; pairs && pairs[i]; i++) assert_status_ok(config_set(config, 1, &pairs[i], &err), err);
    assert_status_ok(config_resolve(config, &err), err);
}

#endif
