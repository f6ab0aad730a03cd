// SPDX-License-Identifier: Apache-2.0
// For tests of bodies in a motion field: painted boxes whose pixels are drawn anew in each of two frames, and a field
// of some of these pixels.
#ifndef VPD_TESTS_MOTION_WORLD_H
#define VPD_TESTS_MOTION_WORLD_H

#include "base/random.h"
#include "motion/bodies.h"
#include "motion/rigid.h"
#include "tests/test.h"

enum { PIXELS = 400, SEEN = 60 };
static const BodyLengths LENGTHS = {2, 1};

typedef struct Thing {
    double centre[3], half[3], turn[3], shift[3], colour[3];
} Thing;

typedef struct World {
    MotionField field;
    PointCloud now, past;
} World;

static inline double noise(uint32_t stream, size_t index) {
    return 2 * (double)random_uniform((RandomKey){.seed = 8, .purpose = RANDOM_TEST, .step = stream}, index) - 1;
}

static inline PointCloud cloud_make(size_t count) {
    PointCloud cloud = {.count = count, .capacity = count};
    cloud.position = calloc(count + 1, 3 * sizeof *cloud.position);
    cloud.colour = calloc(count + 1, 3 * sizeof *cloud.colour);
    cloud.moving = calloc(count + 1, sizeof *cloud.moving);
    cloud.pixel = calloc(count + 1, sizeof *cloud.pixel);
    cloud.inside = calloc(count + 1, sizeof *cloud.inside);
    for (size_t i = 0; i < count; i++) cloud.moving[i] = 1;
    return cloud;
}

// A point of a thing's surface, with depth noise.
static inline void draw(const Thing *t, uint32_t stream, size_t i, double error, real *x, real *c) {
    for (size_t d = 0; d < 3; d++) {
        double on = d == i % 3 ? (noise(stream, 4 * i) < 0 ? -1 : 1) : noise(stream, 4 * i + 1 + d);
        x[d] = (real)(t->centre[d] + t->half[d] * on + error * noise(stream + 100, 3 * i + d));
        c[d] = (real)t->colour[d];
    }
}

static inline void motion_of(const Thing *t, real *motion) {
    double step[6] = {t->turn[0], t->turn[1], t->turn[2], t->shift[0], t->shift[1], t->shift[2]};
    for (size_t c = 0; c < RIGID_MOTION; c++) motion[c] = c < 9 && c % 4 == 0;
    rigid_compose(step, motion);
}

// Pixels of the frame before, moved by the thing's motion where `moved`.
static inline void draw_cloud(const Thing *t, size_t count, bool moved, double error, PointCloud *cloud) {
    for (size_t k = 0; k < count; k++)
        for (size_t i = 0; i < PIXELS; i++) {
            real motion[RIGID_MOTION], centre[3], x[3], *out = cloud->position + 3 * (k * PIXELS + i);
            motion_of(&t[k], motion);
            for (size_t c = 0; c < 3; c++) centre[c] = (real)t[k].centre[c];
            draw(&t[k], (uint32_t)(2 * k + moved), i, error, x, cloud->colour + 3 * (k * PIXELS + i));
            if (moved) rigid_place(motion, centre, x, out);
            else memcpy(out, x, sizeof x);
        }
}

// The field's points are some of the last frame's pixels; their motion has errors.
static inline void draw_field(const Thing *t, size_t count, double error, World *w) {
    for (size_t j = 0; j < count * SEEN; j++) {
        size_t k = j / SEEN, pixel = k * PIXELS + j % SEEN;
        real motion[RIGID_MOTION], *x = w->field.position + 3 * j;
        motion_of(&t[k], motion);
        memcpy(x, w->now.position + 3 * pixel, 3 * sizeof *x);
        memcpy(w->field.colour + 3 * j, w->now.colour + 3 * pixel, 3 * sizeof *x);
        for (size_t c = 0; c < 3; c++) {
            double before = t[k].centre[c];
            for (size_t d = 0; d < 3; d++) {
                before += (double)motion[3 * d + c] * ((double)x[d] - t[k].centre[d] - t[k].shift[d]);
                w->field.gradient[9 * j + 3 * c + d] = (real)(c == d) - motion[3 * d + c];
            }
            w->field.motion[3 * j + c] = (real)((double)x[c] - before + error * noise(50, 3 * j + c));
        }
    }
}

static inline World world_make(const Thing *t, size_t count, double depth_error, double motion_error) {
    World w = {{0}, cloud_make(count * PIXELS), cloud_make(count * PIXELS)};
    Error err = {0};
    draw_cloud(t, count, true, depth_error, &w.now);
    draw_cloud(t, count, false, depth_error, &w.past);
    assert_status_ok(motion_field_create(count * SEEN, &w.field, &err), err);
    draw_field(t, count, motion_error, &w);
    return w;
}

static inline void world_free(World *w) {
    motion_field_free(&w->field);
    point_cloud_free(&w->now);
    point_cloud_free(&w->past);
}

static const Thing RED = {{0, 0, 0.5}, {.1, .08, .09}, {.05, .1, -.08}, {.03, -.02, .01}, {.8, .1, .1}},
                   BLUE = {{.5, .1, .5}, {.09, .1, .07}, {-.1, .02, .05}, {-.02, .03, -.04}, {.1, .2, .9}};

// Writes a thing's pixels, without noise, behind those that a cloud has; returns how many there are now.
static inline size_t put_thing(const Thing *t, size_t pixels, bool moves, PointCloud *cloud, size_t at) {
    for (size_t i = 0; i < pixels; i++, at++) {
        draw(t, 0, i, 0, cloud->position + 3 * at, cloud->colour + 3 * at);
        cloud->moving[at] = moves;
        cloud->pixel[at] = (int32_t)at;
    }
    return at;
}

#endif
