// SPDX-License-Identifier: Apache-2.0
// A small scene of particles and a model of any form, for tests of whole rollout steps.
#ifndef VPD_TESTS_GNN_SCENE_H
#define VPD_TESTS_GNN_SCENE_H

#include "base/random.h"
#include "gnn/dynamics.h"
#include "nn/backend.h"
#include "tests/test.h"

// Forms that the tests go through.
typedef struct SceneForm {
    const char *name;
    GnnGraph graph;
    bool feature_change, keep;
    size_t T;
} SceneForm;

static const SceneForm scene_forms[] = {
    {"hierarchical", GRAPH_HIERARCHICAL, false, true, 2},
    {"hierarchical, features, nothing kept", GRAPH_HIERARCHICAL, true, false, 2},
    {"hierarchical, features, T 3", GRAPH_HIERARCHICAL, true, true, 3},
    {"hierarchical, one time step", GRAPH_HIERARCHICAL, false, true, 1},
    {"flat", GRAPH_FLAT, false, true, 2},
    {"flat, one time step", GRAPH_FLAT, true, false, 1},
};
enum { SCENE_FORMS = sizeof scene_forms / sizeof *scene_forms };

static GnnConfig scene_config(const SceneForm *form) {
    return (GnnConfig){.T = form->T,
                       .D = 5,
                       .C = 9,
                       .L = 2,
                       .M = 12,
                       .graph = form->graph,
                       .carry_rgb = true,
                       .feature_change = form->feature_change ? 0.1 : 0,
                       .k_particle_to_node = 3,
                       .k_node_to_node = 4,
                       .k_node_to_particle = 4,
                       .length_scale = 0.05,
                       .displacement_scale = 0.025,
                       .keep = form->keep};
}

// Host arrays; tensors over them are made per run.
enum { SCENE_MAX = 2000 };
typedef struct Scene {
    size_t T, D, count[GNN_MAX_SETS];
    real x[GNN_MAX_SETS][SCENE_MAX * 3], f[GNN_MAX_SETS][SCENE_MAX * 5];
} Scene;

static double scene_random(uint32_t stream, size_t index) {
    return 2 * (double)random_uniform((RandomKey){.seed = 5, .purpose = RANDOM_TEST, .step = stream}, index) - 1;
}

// A wavy sheet of 0.6 m with a block above it that falls. The particles of all sets are the same ones.
static void scene_point(size_t i, size_t t, double *x) {
    bool block = i % 3 == 0;
    for (size_t c = 0; c < 2; c++) x[c] = (block ? 0.08 : 0.3) * scene_random(1, 3 * i + c);
    x[2] = block ? 0.12 + 0.04 * scene_random(1, 3 * i + 2) - 0.02 * (double)t : 0.02 * sin(20 * x[0]);
    if (block) x[0] += 0.01 * (double)t;
    // Noise: at distance 0 the length of an edge bends within 1e-6 m, which no difference quotient sees.
    for (size_t c = 0; c < 3; c++) x[c] += 0.003 * scene_random(40 + (uint32_t)t, 3 * i + c);
}

static Scene *scene_make(size_t T, const size_t *count) {
    Scene *s = calloc(1, sizeof *s);
    s->T = T;
    s->D = 5;
    for (size_t t = 0; t < T; t++) {
        s->count[t] = count[t];
        for (size_t i = 0; i < count[t]; i++) {
            double x[3];
            scene_point(i, t, x);
            for (size_t c = 0; c < 3; c++) s->x[t][i * 3 + c] = (real)x[c];
            for (size_t j = 0; j < 5; j++) s->f[t][i * 5 + j] = (real)scene_random(3 + (uint32_t)t, 5 * i + j);
        }
    }
    return s;
}

static inline GnnSets scene_sets(Tape *tape, Scene *s) {
    GnnSets sets = {.count = s->T};
    for (size_t t = 0; t < s->T; t++) {
        Tensor *x = tape_tensor(tape, s->count[t], 3, true), *f = tape_tensor(tape, s->count[t], s->D, true);
        memcpy(x->value, s->x[t], s->count[t] * 3 * sizeof(real));
        memcpy(f->value, s->f[t], s->count[t] * s->D * sizeof(real));
        sets.set[t] = (GnnSet){.x = x, .f = f};
    }
    return sets;
}

static inline GnnPlanInput scene_plan_input(const GnnSets *sets, uint32_t rollout_step) {
    return (GnnPlanInput){.sets = *sets, .seed = 3, .step = 1, .episode = 2, .rollout_step = rollout_step};
}

// The sets behind a step: shifted by one.
static inline GnnSets scene_shift(const GnnSets *sets, const DynamicsOutput *out) {
    GnnSets next = *sets;
    for (size_t t = 0; t + 1 < sets->count; t++) next.set[t] = sets->set[t + 1];
    next.set[sets->count - 1].x = out->x;
    next.set[sets->count - 1].f = out->f;
    return next;
}

typedef struct SceneModel {
    Device *device;
    Parameters parameters;
    Dynamics *dynamics;
} SceneModel;

static inline void model_open(SceneModel *model, const GnnConfig *config, int threads, bool untrained) {
    Error err = {0};
    *model = (SceneModel){0};
    assert_status_ok(device_open("cpu", threads, &model->device, &err), err);
    parameters_init(&model->parameters, model->device);
    assert_status_ok(dynamics_create(&model->parameters, config, &model->dynamics, &err), err);
    assert_status_ok(parameters_allocate(&model->parameters, 7, &err), err);
    // Trained weights have no zeros: small random numbers on top.
    for (size_t i = 0; !untrained && i < model->parameters.size; i++)
        model->parameters.values[i] += (real)(0.2 * scene_random(20, i));
}

static inline void model_close(SceneModel *model) {
    Error err = {0};
    assert_status_ok(device_status(model->device, &err), err);
    dynamics_free(model->dynamics);
    parameters_free(&model->parameters);
    device_close(model->device);
}

#endif
