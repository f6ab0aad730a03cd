// SPDX-License-Identifier: Apache-2.0
// An analytic scene for tests of data: a checkered floor z = 0 (|x|, |y| < 2) and a ball that flies over it, seen by V
// cameras on a circle. Everything is exact, so unprojected points of all views lie on one surface.
#ifndef VPD_TESTS_DATASET_SCENE_H
#define VPD_TESTS_DATASET_SCENE_H

#include "base/camera.h"
#include "base/check.h"
#include "datasets/writer.h"
#include "tests/test.h"

typedef struct Scene {
    EpisodeInfo info;
    uint8_t *rgb;                                                // (F,V,H,W,3)
    float *depth;                                                // (F,V,H,W) metres, 0 beyond the floor
    uint16_t *mask;                                              // (F,V,H,W) 1 on the ball
    double *K, *poses, *time, *position, *quaternion, bounds[6]; // poses (F,V,4,4) when moving, else (V,4,4)
    float *actions;
    int heldout[1];
} Scene;

enum { SCENE_MOVING = 1 };
static const double SCENE_BALL_RADIUS = 0.3;

static inline void scene_free(Scene *scene) {
    void *all[] = {scene->rgb,  scene->depth,    scene->mask,       scene->K,      scene->poses,
                   scene->time, scene->position, scene->quaternion, scene->actions};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) free(all[i]);
    *scene = (Scene){0};
}

// Ray from the eye against floor and ball: depth along the camera's z axis, colour and mask.
static inline void scene_shade(const double *K, const double *pose, const double *ball, int x, int y, uint8_t *rgb,
                               float *depth, uint16_t *mask) {
    double camera[3], d[3], eye[3] = {pose[3], pose[7], pose[11]}, z = 0, b = 0, c = 0, a = 0;
    camera_unproject(K, x + 0.5, y + 0.5, 1, camera); // z = 1, so the ray's parameter is depth
    for (int i = 0; i < 3; i++)
        d[i] = pose[4 * i] * camera[0] + pose[4 * i + 1] * camera[1] + pose[4 * i + 2] * camera[2];
    *mask = 0;
    rgb[0] = rgb[1] = rgb[2] = 200;
    if (d[2] < 0) {
        double t = -eye[2] / d[2], px = eye[0] + t * d[0], py = eye[1] + t * d[1];
        if (fabs(px) < 2 && fabs(py) < 2) {
            z = t;
            rgb[0] = rgb[1] = rgb[2] = ((int)floor(4 * px) + (int)floor(4 * py)) & 1 ? 60 : 150;
        }
    }
    for (int i = 0; i < 3; i++) {
        double o = eye[i] - ball[i];
        a += d[i] * d[i];
        b += d[i] * o;
        c += o * o;
    }
    double root = b * b - a * (c - SCENE_BALL_RADIUS * SCENE_BALL_RADIUS);
    double t = root > 0 ? (-b - sqrt(root)) / a : 0;
    if (t > 0 && (z == 0 || t < z)) {
        z = t;
        *mask = 1;
        rgb[0] = 220, rgb[1] = 40, rgb[2] = 30;
    }
    *depth = (float)z;
}

static inline void scene_camera(const Scene *scene, int frame, int view, double *pose) {
    double angle = 6.283185307 * view / scene->info.V * 0.6 + (scene->info.moving_cameras ? 0.02 * frame : 0);
    // Rolled: a level camera sees a floor as its mirror image would.
    double eye[3] = {1.8 * cos(angle), 1.8 * sin(angle), 1.2}, target[3] = {0, 0, 0.2}, up[3] = {0.3, 0.2, 1};
    CHECK(camera_look_at(eye, target, up, pose));
}

static inline void scene_render(Scene *scene) {
    const EpisodeInfo *info = &scene->info;
    for (int f = 0; f < info->F; f++) {
        for (int v = 0; v < info->V; v++) {
            for (int i = 0; i < info->H * info->W; i++) {
                size_t at = ((size_t)f * (size_t)info->V + (size_t)v) * (size_t)(info->H * info->W) + (size_t)i;
                scene_shade(info->intrinsics + 9 * v, episode_pose(info, f, v), scene->position + 3 * f, i % info->W,
                            i / info->W, scene->rgb + 3 * at, scene->depth + at, scene->mask + at);
            }
        }
    }
}

static inline Scene scene_make(int F, int V, int H, int W, int flags) {
    Scene scene = {.info = {.F = F,
                            .V = V,
                            .H = H,
                            .W = W,
                            .A = 2,
                            .O = 1,
                            .source = "test",
                            .scene = "ball",
                            .has_mask = true,
                            .moving_cameras = flags & SCENE_MOVING,
                            .depth_scale = 1}};
    size_t images = (size_t)F * (size_t)V, pixels = images * (size_t)H * (size_t)W;
    scene.rgb = calloc(pixels, 3);
    scene.depth = calloc(pixels, sizeof(float));
    scene.mask = calloc(pixels, sizeof(uint16_t));
    scene.K = calloc(9 * (size_t)V, sizeof(double));
    scene.poses = calloc(16 * images, sizeof(double));
    scene.time = calloc((size_t)F, sizeof(double));
    scene.position = calloc(3 * (size_t)F, sizeof(double));
    scene.quaternion = calloc(4 * (size_t)F, sizeof(double));
    scene.actions = calloc(2 * (size_t)F, sizeof(float));
    CHECK(scene.rgb && scene.depth && scene.mask && scene.K && scene.poses && scene.time && scene.position &&
          scene.quaternion && scene.actions);
    for (int v = 0; v < V; v++) camera_intrinsics_from_fov(1.0, H, W, scene.K + 9 * v);
    for (int f = 0; f < F; f++) {
        scene.time[f] = 0.1 * f;
        scene.position[3 * f] = -0.3 + 0.1 * f, scene.position[3 * f + 2] = 0.5;
        scene.quaternion[4 * f] = 1;
        scene.actions[2 * f] = (float)f, scene.actions[2 * f + 1] = -1;
        for (int v = 0; v < V && (f == 0 || scene.info.moving_cameras); v++)
            scene_camera(&scene, f, v, scene.poses + 16 * (f * V + v));
    }
    memcpy(scene.bounds, (double[]){-1, -1, 0, 1, 1, 1}, sizeof scene.bounds);
    return scene;
}

// Points info at the arrays (a Scene may have been copied); then draws.
static inline void scene_finish(Scene *scene) {
    EpisodeInfo *info = &scene->info;
    info->intrinsics = scene->K, info->world_from_camera = scene->poses, info->time = scene->time;
    info->bounds = scene->bounds, info->actions = scene->actions;
    info->object_position = scene->position, info->object_quaternion = scene->quaternion;
    if (info->V > 2) {
        scene->heldout[0] = info->V - 1;
        info->heldout_views = scene->heldout, info->heldout_count = 1;
    }
    scene_render(scene);
}

static inline Status scene_put(DatasetWriter *writer, const Scene *scene, Error *err) {
    const EpisodeInfo *info = &scene->info;
    size_t pixels = (size_t)info->H * (size_t)info->W;
    uint16_t *units = calloc(pixels, sizeof *units);
    CHECK(units);
    Status status = dataset_writer_begin_episode(writer, info, err);
    for (size_t i = 0; !status && i < (size_t)info->F * (size_t)info->V; i++) {
        const float *depth = scene->depth + i * pixels;
        for (size_t p = 0; p < pixels && info->depth_is_u16; p++)
            units[p] = (uint16_t)(depth[p] / info->depth_scale + 0.5);
        PackedImage packed;
        status =
            dataset_writer_pack(writer, scene->rgb + 3 * i * pixels, info->depth_is_u16 ? (const void *)units : depth,
                                info->has_mask ? scene->mask + i * pixels : NULL, &packed, err);
        if (!status) status = dataset_writer_put_packed(writer, (int)i / info->V, (int)i % info->V, &packed, err);
        packed_image_free(&packed);
    }
    if (!status) status = dataset_writer_end_episode(writer, err);
    free(units);
    return status;
}

// `count` copies of the scene; the splits go train, val, test, train, ...
static inline Status scene_write(const char *path, Scene *scene, int count, Error *err) {
    WriterOptions options = {.name = "scene", .licence = "CC0-1.0", .missing_depth = MISSING_SKY};
    DatasetWriter *writer;
    Status status = dataset_writer_open(path, &options, &writer, err);
    for (int i = 0; !status && i < count; i++) {
        scene->info.split = (Split)(i % SPLIT_COUNT);
        status = scene_put(writer, scene, err);
    }
    if (!status) return dataset_writer_finish(writer, err);
    dataset_writer_discard(writer);
    return status;
}

#endif
