// SPDX-License-Identifier: Apache-2.0
// A scene to edit: a floor of 20 x 20 points 0.1 m apart at z = 0, and two blocks of 4 x 4 x 4 points 0.05 m apart that
// moved by 0.1 m along x since the past set, which is known at each point of theirs. Labels 0 background, 1 red, 2
// blue, in the present set alone.
#ifndef VPD_TESTS_EDIT_SCENE_H
#define VPD_TESTS_EDIT_SCENE_H

#include "base/camera.h"
#include "edit/edit.h"
#include "tests/test.h"

enum { FLOOR = 400, BLOCK = 64, ALL = FLOOR + 2 * BLOCK, FEATURES = 3 };

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

// `first` leaves out some rows, so that the past set has other rows than the present one.
static inline RolloutSet edit_scene_set(bool past, size_t first) {
    size_t n = ALL - first;
    RolloutSet set = {.N = n, .D = FEATURES};
    set.positions = malloc(n * 12);
    set.features = malloc(n * FEATURES * 4);
    set.colour = malloc(n * 3);
    set.moving = malloc(n);
    for (size_t i = 0; i < n; i++) {
        edit_scene_place(first + i, past, set.positions + 3 * i, set.colour + 3 * i);
        for (size_t d = 0; d < FEATURES; d++) set.features[FEATURES * i + d] = (float)(first + i) + 0.25f * (float)d;
        set.moving[i] = first + i >= FLOOR;
    }
    return set;
}

// Of the blocks, last particle first, with a gradient of 0.01, 0.02, ..
static inline MotionField edit_scene_motion(void) {
    MotionField field;
    Error err;
    assert_status_ok(motion_field_create(2 * BLOCK, &field, &err), err);
    for (size_t i = 0; i < field.count; i++) {
        uint8_t rgb[3];
        edit_scene_place(ALL - 1 - i, false, field.position + 3 * i, rgb);
        for (size_t c = 0; c < 3; c++) field.colour[3 * i + c] = (float)rgb[c] / 255;
        field.motion[3 * i] = 0.1f;
        for (size_t k = 0; k < 9; k++) field.gradient[9 * i + k] = 0.01f * (float)(k + 1);
    }
    return field;
}

static inline RolloutFile edit_scene(void) {
    RolloutFile file = {.set_count = 2, .time_step = 0.05, .V = 1, .camera_frames = 1, .H = 48, .W = 64};
    const double eye[3] = {0, -3, 2}, target[3] = {0, 0, 0.2}, up[3] = {0, 0, 1};
    file.sets[0] = edit_scene_set(false, 0);
    file.sets[1] = edit_scene_set(true, 3);
    file.motion = edit_scene_motion();
    file.has_motion = true;
    file.sets[0].labels = calloc(ALL, 2);
    file.sets[0].radius = malloc(ALL * 4);
    for (size_t i = 0; i < ALL; i++) {
        file.sets[0].radius[i] = 0.06f;
        file.sets[0].labels[i] = i < FLOOR ? 0 : i < FLOOR + BLOCK ? 1 : 2;
    }
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

// Applies the edits, a text each, up to NULL.
static inline Status edit_scene_apply(RolloutFile *file, const char *const *edits, size_t step, EditReport *report,
                                      Error *err) {
    Device *device = NULL;
    EditList *list = edit_list_create();
    Status status = STATUS_OK;
    assert_non_null(list);
    for (; *edits && status == STATUS_OK; edits++) status = edit_list_add(list, *edits, err);
    if (status == STATUS_OK) status = device_open("cpu", 1, &device, err);
    if (status == STATUS_OK) status = edit_apply(list, device, NULL, step, file, report, err);
    device_close(device);
    edit_list_free(list);
    return status;
}
#define EDITS(...) ((const char *const[]){__VA_ARGS__, NULL})

static inline size_t edit_scene_labelled(const RolloutSet *set, int label) {
    size_t count = 0;
    for (size_t i = 0; set->labels && i < set->N; i++) count += set->labels[i] == label;
    return count;
}

#endif
