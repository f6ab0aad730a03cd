// SPDX-License-Identifier: Apache-2.0
// All frames of a scene that a test writes.
#ifndef VPD_TESTS_LAB_MOVIE_H
#define VPD_TESTS_LAB_MOVIE_H

#include "lab/gradcheck.h"
#include "lab/scene.h"
#include "tests/test.h"

typedef struct Movie {
    SimScene scene;
    size_t frames, row;          // numbers of a frame
    double *position, *velocity; // (frames,N,3)
} Movie;

// Files that the text names lie in tests/fuzz/corpus.
static inline SimScene movie_parse(const char *text) {
    SimScene scene;
    Error err;
    assert_status_ok(scene_parse(text, strlen(text), "s.yaml", "tests/fuzz/corpus", &scene, &err), err);
    return scene;
}

// Its time step has to be below the stable bound.
static inline void movie_play(Movie *m, const char *text) {
    Error err;
    Sim *sim;
    m->scene = movie_parse(text);
    SimRun run = scene_run(&m->scene);
    SimOptions options = scene_options(&m->scene);
    options.threads = 1;
    m->frames = sim_frames(&run);
    m->row = 3 * m->scene.model.particles;
    m->position = malloc(m->frames * m->row * sizeof(double));
    m->velocity = malloc(m->frames * m->row * sizeof(double));
    assert_true(m->position && m->velocity);
    SimArrays arrays = {m->row, m->position, m->velocity};
    run.keep = sim_keep_arrays, run.context = &arrays;
    assert_true(m->scene.model.dt < sim_stable_step(&m->scene.model, &m->scene.values));
    assert_status_ok(sim_open(&m->scene.model, &options, &sim, &err), err);
    assert_status_ok(sim_set(sim, &m->scene.values, &err), err);
    assert_status_ok(sim_rollout(sim, &run, &err), err);
    sim_close(sim);
}

// All gradients of the scene agree with differences.
static inline void movie_check_gradients(const char *text) {
    SimScene scene = movie_parse(text);
    Gradcheck out;
    Error err;
    assert_status_ok(gradcheck_run(&scene, &(SimOptions){.threads = 1}, &out, &err), err);
    for (size_t i = 0; i < out.rows; i++)
        if (out.row[i].verdict != GRADCHECK_RIGHT)
            fail_msg("%s: %g, error %g", sim_value_info[out.row[i].value].name, out.row[i].adjoint, out.row[i].error);
    scene_free(&scene);
}

static inline void movie_end(Movie *m) {
    scene_free(&m->scene);
    free(m->position);
    free(m->velocity);
}

#endif
