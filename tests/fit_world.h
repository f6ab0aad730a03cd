// SPDX-License-Identifier: Apache-2.0
// A scene and a recording of it with other numbers, for tests of fits.
#ifndef VPD_TESTS_FIT_WORLD_H
#define VPD_TESTS_FIT_WORLD_H

#include "lab/fit.h"
#include "lab/footage.h"
#include "tests/test.h"

// A soft box slides and bounces on the ground. The comment has characters of two bytes before the numbers.
#define SCENE SCENE_OF("16")
#define SCENE_OF(frames)                                                                                               \
    "# m/s² and ±\nframes: " frames "\nfps: 30\nsubsteps: 20\nprecision: f64\n"                                        \
    "contacts: {g: {k_e: 300, k_d: 0.5, k_f: 5, mu: 0.3, fade: 0.02}}\nplanes: [{}]\nobjects:\n"                       \
    "  b: {box: {size: [0.2, 0.2, 0.2], cells: [1, 1, 1]}, density: 200, colour: [1, 2, 3],\n"                         \
    "      solid: {young: 2e3, poisson: 0.3, k_d: 1}, position: [0, 0, 0.12], velocity: [1, 0, -1]}\n"

typedef struct World {
    char folder[64], path[128];
    FitFree free;
    SimScene scene;
    FitData data;
} World;

static inline Status free_of(World *w, const char *text, const char *const *names, size_t count, Error *err) {
    test_make_folder(w->folder);
    snprintf(w->path, sizeof w->path, "%s/s.yaml", w->folder);
    FILE *file = fopen(w->path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    Status status = fit_free_read(w->path, names, count, &w->free, err);
    test_remove_folder(w->folder);
    return status;
}

static inline Status keep_positions(void *context, size_t frame, const double *position, const double *velocity,
                                    Error *err) {
    World *w = context;
    const size_t row = 3 * w->scene.model.particles;
    (void)velocity;
    (void)err;
    memcpy(w->data.position + frame * row, position, row * sizeof *position);
    return STATUS_OK;
}

// A recording of the scene with numbers x; the file says others.
static inline void open_world(World *w, const char *text, const char *const *names, size_t count, const double *truth) {
    *w = (World){0};
    Sim *sim;
    Error err;
    double x[FIT_VARIABLES_MAX];
    assert_status_ok(free_of(w, text, names, count, &err), err);
    for (size_t i = 0; i < w->free.count; i++) x[i] = truth ? truth[i] : w->free.variable[i].start;
    assert_status_ok(fit_free_scene(&w->free, x, &w->scene, &err), err);
    w->data =
        (FitData){.scene = &w->scene, .kinds = FIT_STATES, .size = {1, 1, 1, 1}, .frames = (size_t)w->scene.frames + 1};
    w->data.position = calloc(w->data.frames * 3 * w->scene.model.particles, sizeof(double));
    assert_non_null(w->data.position);
    const SimOptions options = {.precision = SIM_F64, .threads = 1};
    SimRun run = scene_run(&w->scene);
    run.keep = keep_positions;
    run.context = w;
    assert_status_ok(sim_open(&w->scene.model, &options, &sim, &err), err);
    assert_status_ok(sim_set(sim, &w->scene.values, &err), err);
    assert_status_ok(sim_rollout(sim, &run, &err), err);
    sim_close(sim);
}

static inline void close_world(World *w) {
    fit_data_close(&w->data);
    scene_free(&w->scene);
    fit_free_close(&w->free);
}

static inline FitResult fit(World *w, FitOptions options) {
    FitResult result;
    Error err;
    assert_status_ok(fit_run(&w->free, &w->data, &options, &result, &err), err);
    return result;
}

// A data set of the scene at other numbers, and the fit's own view of it.
static inline void open_pictures(World *w, const char *text, const char *const *names, size_t count,
                                 const double *truth, uint32_t kinds, bool smooth, Dataset **dataset) {
    Footage footage;
    Error err;
    char path[160];
    open_world(w, text, names, count, truth);
    test_make_folder(w->folder);
    snprintf(path, sizeof path, "%s/d.h5", w->folder);
    assert_status_ok(footage_run(&w->scene, &(SimOptions){.threads = 1}, &footage, &err), err);
    DatasetWriter *writer;
    assert_status_ok(footage_open(path, &writer, &err), err);
    assert_status_ok(
        footage_add(writer, &w->scene, &footage, SPLIT_TRAIN, &(FitFree){0}, NULL, &(SimOptions){.threads = 1}, &err),
        err);
    assert_status_ok(dataset_writer_finish(writer, &err), err);
    assert_status_ok(dataset_open(path, dataset, &err), err);
    footage_free(&footage);
    fit_data_close(&w->data);
    assert_status_ok(fit_data_open(*dataset, 0, kinds, &w->scene, smooth, 1, &w->data, &err), err);
    test_remove_folder(w->folder);
}

#endif
