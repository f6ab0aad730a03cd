// SPDX-License-Identifier: Apache-2.0
// A scene to edit: a floor of 20 x 20 points 0.1 m apart at z = 0, and two blocks of 4 x 4 x 4 points 0.05 m apart that
// were 0.1 m less far along x one time step ago: the bodies RED and BLUE. Labels 0 background, 1 red, 2 blue.
#ifndef VPD_TESTS_EDIT_SCENE_H
#define VPD_TESTS_EDIT_SCENE_H

#include "base/camera.h"
#include "edit/edit.h"
#include "tests/test.h"

enum { FLOOR = 400, BLOCK = 64, ALL = FLOOR + 2 * BLOCK, FEATURES = 3, RED = 3, BLUE = 5 };

static inline void edit_scene_place(size_t i, bool past, float p[3], uint8_t rgb[3]) {
    bool red = i < FLOOR + BLOCK;
    size_t b = (i - FLOOR) % BLOCK;
    if (i < FLOOR) {
        p[0] = 0.1f * (float)(i % 20) - 1, p[1] = 0.1f * (float)(i / 20) - 1, p[2] = 0;
        rgb[0] = rgb[1] = rgb[2] = 100;
        return;
    }
    p[0] = 0.05f * (float)(b % 4) + (red ? -0.5f : 0.4f) - (past ? 0.1f : 0);
    p[1] = 0.05f * (float)(b / 4 % 4);
    p[2] = 0.05f * (float)(b / 16) + 0.2f;
    rgb[0] = red ? 200 : 10, rgb[1] = 20, rgb[2] = red ? 10 : 200;
}

static inline RolloutSet edit_scene_set(void) {
    RolloutSet set = {.N = ALL, .D = FEATURES};
    set.positions = malloc(ALL * 12);
    set.features = malloc(ALL * FEATURES * 4);
    set.colour = malloc(ALL * 3);
    set.radius = malloc(ALL * 4);
    set.labels = malloc(ALL * 2);
    set.before = malloc(ALL * 12);
    set.body = malloc(ALL * 4);
    set.moving = malloc(ALL);
    for (size_t i = 0; i < ALL; i++) {
        size_t kind = i < FLOOR ? 0 : i < FLOOR + BLOCK ? 1 : 2;
        edit_scene_place(i, true, set.before + 3 * i, set.colour + 3 * i);
        edit_scene_place(i, false, set.positions + 3 * i, set.colour + 3 * i);
        for (size_t d = 0; d < FEATURES; d++) set.features[FEATURES * i + d] = (float)i + 0.25f * (float)d;
        set.radius[i] = 0.06f;
        set.labels[i] = (uint16_t)kind;
        set.body[i] = (int32_t[]){-1, RED, BLUE}[kind];
        set.moving[i] = kind > 0;
    }
    return set;
}

static inline RolloutFile edit_scene(void) {
    RolloutFile file = {
        .set_count = 1, .sets = {edit_scene_set()}, .time_step = 0.05, .V = 1, .camera_frames = 1, .H = 48, .W = 64};
    const double eye[3] = {0, -3, 2}, target[3] = {0, 0, 0.2}, up[3] = {0, 0, 1};
    file.time = calloc(1, sizeof(double));
    file.intrinsics = malloc(9 * sizeof(double));
    file.world_from_camera = malloc(16 * sizeof(double));
    camera_intrinsics_from_fov(0.9, 48, 64, file.intrinsics);
    assert_true(camera_look_at(eye, target, up, file.world_from_camera));
    file.label_names = strdup("background\nred\nblue\n");
    snprintf(file.episode, sizeof file.episode, "7");
    file.frame_stride = 1;
    return file;
}

// Two steps behind it, in each of which the blocks go on by 0.1 m.
static inline void edit_scene_steps(RolloutFile *file) {
    file->steps = 2;
    file->positions = malloc(2 * ALL * 12);
    file->time = realloc(file->time, 3 * sizeof(double));
    for (int s = 1; s <= 2; s++) {
        file->time[s] = 0.05 * s;
        float *x = file->positions + (size_t)(s - 1) * ALL * 3;
        memcpy(x, file->sets[0].positions, ALL * 12);
        for (size_t i = FLOOR; i < ALL; i++) x[3 * i] += 0.1f * (float)s;
    }
}

static inline void edit_scene_drop_labels(RolloutFile *file) {
    free(file->sets[0].labels);
    file->sets[0].labels = NULL;
}

// Applies the edits, a text each, up to NULL.
static inline Status edit_scene_apply(RolloutFile *file, const char *const *edits, size_t step, EditReport *report,
                                      Error *err) {
    Device *device = NULL;
    EditList *list = edit_list_create();
    Status status = STATUS_OK;
    assert_non_null(list);
    for (; *edits && status == STATUS_OK; edits++) status = edit_list_add(list, "--do", *edits, err);
    if (status == STATUS_OK) status = device_open("cpu", 1, &device, err);
    if (status == STATUS_OK) status = edit_apply(list, device, NULL, step, file, report, err);
    device_close(device);
    edit_list_free(list);
    return status;
}
#define EDITS(...) ((const char *const[]){__VA_ARGS__, NULL})

#define RUN(file, ...)                                                                                                 \
    do {                                                                                                               \
        Error run_err;                                                                                                 \
        EditReport run_report;                                                                                         \
        assert_status_ok(edit_scene_apply(file, EDITS(__VA_ARGS__), 0, &run_report, &run_err), run_err);               \
    } while (0)

// Particles of a set whose colour is that of a block: 0 red, 2 blue.
static inline size_t edit_scene_coloured(const RolloutSet *set, int channel) {
    size_t sum = 0;
    for (size_t i = 0; i < set->N; i++) sum += set->colour[3 * i + (size_t)channel] == 200;
    return sum;
}

static inline size_t edit_scene_labelled(const RolloutSet *set, int label) {
    size_t count = 0;
    for (size_t i = 0; set->labels && i < set->N; i++) count += set->labels[i] == label;
    return count;
}

// Where the motions of a body take a point, which lies at `x` at the present, by the end of step `steps`; each step is
// there once.
static inline void follow(const RolloutFile *file, int32_t body, int32_t steps, const double x[3], double out[3]) {
    memcpy(out, x, 3 * sizeof *out);
    for (int32_t step = 1; step <= steps; step++) {
        size_t found = 0;
        for (size_t k = 0; k < file->drives.count; k++) {
            if (file->drives.body[k] != body || file->drives.step[k] != step) continue;
            pose_apply(file->drives.motion + 16 * k, out, out);
            found++;
        }
        assert_int_equal(found, 1);
    }
}

// In how many steps a body is driven.
static inline size_t steps_of(const RolloutFile *file, int32_t body) {
    size_t count = 0;
    for (size_t k = 0; k < file->drives.count; k++) count += file->drives.body[k] == body;
    return count;
}

#endif
