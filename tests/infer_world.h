// SPDX-License-Identifier: Apache-2.0
// For tests of rollouts and evaluation: a data set of a ball that flies over a floor, and a tiny model of any form.
#ifndef VPD_TESTS_INFER_WORLD_H
#define VPD_TESTS_INFER_WORLD_H

#define Scene MovieScene // model/vpd.h has a Scene of its own
#include "tests/dataset_scene.h"
#undef Scene
#include "base/random.h"
#include "infer/rollout.h"

typedef struct WorldShape {
    int F, V, H, W, episodes; // splits go train, val, test, train, ...; with V > 2 the last view is held out
    bool moving_cameras, no_depth, no_mask, no_state, at_rest;
} WorldShape;

static const WorldShape WORLD_PLAIN = {.F = 8, .V = 3, .H = 24, .W = 28, .episodes = 3};
#define WORLD_STEP 0.1 // seconds between frames, in the data and as the models learned

typedef struct World {
    char folder[64], data[128];
    MovieScene scene;
    Dataset *dataset;
    Device *device;
    Vpd *model;
    RolloutWorkspace workspace;
} World;

static inline void world_open(World *world, WorldShape shape) {
    Error err = {0};
    *world = (World){0};
    test_make_folder(world->folder);
    snprintf(world->data, sizeof world->data, "%s/data.h5", world->folder);
    world->scene = scene_make(shape.F, shape.V, shape.H, shape.W, shape.moving_cameras ? SCENE_MOVING : 0);
    for (int i = 3; i < 3 * shape.F && shape.at_rest; i++) world->scene.position[i] = world->scene.position[i - 3];
    scene_finish(&world->scene);
    world->scene.info.has_mask = !shape.no_mask;
    if (shape.no_state) world->scene.info.object_position = world->scene.info.object_quaternion = NULL;
    size_t pixels = (size_t)shape.F * (size_t)shape.V * (size_t)shape.H * (size_t)shape.W;
    if (shape.no_depth) memset(world->scene.depth, 0, pixels * sizeof(float));
    assert_status_ok(scene_write(world->data, &world->scene, shape.episodes, &err), err);
    assert_status_ok(dataset_open(world->data, &world->dataset, &err), err);
    assert_status_ok(device_open("cpu", 1, &world->device, &err), err);
}

// `pairs`: further options, NULL-terminated; NULL: none.
static inline void world_config(Config *config, const char *const *pairs) {
    static const char *const small[] = {"model.C=8",
                                        "model.D=6",
                                        "encoder.N=300",
                                        "encoder.widths=[4,6]",
                                        "gnn.M=16",
                                        "gnn.L=1",
                                        "renderer.widths=[8,8]",
                                        "renderer.S=8",
                                        "data.extent=2",
                                        "data.time_step=0.1",
                                        "gnn.length_scale=0.1",
                                        "gnn.displacement_scale=0.05",
                                        "gnn.colour_length=1",
                                        "gnn.moving_threshold=0.005",
                                        "renderer.radius=0.2",
                                        "train.motion_steps=0"};
    Error err = {0};
    config_defaults(config);
    assert_status_ok(config_set(config, sizeof small / sizeof *small, small, &err), err);
    for (size_t i = 0; pairs && pairs[i]; i++) assert_status_ok(config_set(config, 1, &pairs[i], &err), err);
    assert_status_ok(config_resolve(config, &err), err);
}

// A model as training begins; `stirred` moves all weights away from there, so that particles move.
static inline void world_model(World *world, const char *const *pairs, bool stirred) {
    Config config;
    Error err = {0};
    RandomKey key = {.seed = 9, .purpose = RANDOM_TEST};
    rollout_workspace_free(&world->workspace);
    vpd_free(world->model);
    world_config(&config, pairs);
    assert_status_ok(vpd_create(&config, world->device, &world->model, &err), err);
    for (size_t i = 0; stirred && i < world->model->parameters.size; i++)
        world->model->parameters.values[i] += (real)(0.2 * (2 * (double)random_uniform(key, i) - 1));
    rollout_workspace_init(&world->workspace, world->model);
}

static inline void world_close(World *world) {
    rollout_workspace_free(&world->workspace);
    vpd_free(world->model);
    device_close(world->device);
    dataset_close(world->dataset);
    scene_free(&world->scene);
    test_remove_folder(world->folder);
}

static inline Status world_rollout(World *world, int episode, int start, int steps, RolloutFile *out, Error *err) {
    RolloutRequest request = {.history = {.episode = episode, .start = start}, .steps = steps};
    return rollout_run(&world->workspace, world->dataset, &request, out, err);
}

// Largest distance along an axis between the particles of two steps, metres.
static inline double world_motion(const RolloutFile *r, size_t from, size_t to) {
    const float *a = rollout_positions(r, from), *b = rollout_positions(r, to);
    double largest = 0;
    // no fmax: GCC 12 for arm64 stops with an internal error where it vectorises one of a difference
    for (size_t i = 0; i < 3 * r->sets[0].N; i++) {
        double off = fabs((double)a[i] - (double)b[i]);
        if (off > largest) largest = off;
    }
    return largest;
}

#endif
