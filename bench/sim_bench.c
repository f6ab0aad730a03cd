// SPDX-License-Identifier: Apache-2.0
#include "bench/sim_bench.h"

#include "bench/sim_scenes.h"
#include "device/sim_options.h"

#include <stdlib.h>

typedef enum Kind { BEAM, GROUND, MEET, RIGID, NET, CLOTH } Kind;

// Five tets a cell. A net or cloth has cells[0] particles a side. Threads 0: the simulator chooses. Scenes 0: one.
static const struct {
    const char *name;
    Kind kind;
    size_t cells[3];
    SimPrecision precision;
    int threads;
    size_t scenes;
} benches[SIM_BENCHES] = {
    {"beam", BEAM, {8, 5, 5}, SIM_F32, 1, 0},
    {"beam", BEAM, {20, 10, 10}, SIM_F32, 1, 0},
    {"beam", BEAM, {20, 10, 10}, SIM_F64, 1, 0},
    {"beam", BEAM, {20, 10, 10}, SIM_F32, 0, 0},
    {"beam on ground", GROUND, {8, 5, 5}, SIM_F32, 1, 0},
    {"beam on ground", GROUND, {20, 10, 10}, SIM_F32, 1, 0},
    {"beam on ground", GROUND, {50, 20, 20}, SIM_F32, 1, 0},
    {"beam", BEAM, {50, 20, 20}, SIM_F32, 1, 0},
    {"beam", BEAM, {50, 20, 20}, SIM_F32, 0, 0},
    {"blocks that meet", MEET, {8, 5, 5}, SIM_F32, 1, 0},
    {"blocks that meet", MEET, {20, 10, 10}, SIM_F32, 1, 0},
    {"rigid blocks that meet", RIGID, {8, 5, 5}, SIM_F32, 1, 0},
    {"net of springs", NET, {71}, SIM_F32, 1, 0},
    {"cloth", CLOTH, {33}, SIM_F32, 1, 0},
    {"cloth", CLOTH, {33}, SIM_F64, 1, 0},
    {"batch of beams", BEAM, {8, 5, 5}, SIM_F32, 1, 64},
    {"batch of beams", BEAM, {8, 5, 5}, SIM_F32, 1, 1024},
};

enum { STEPS = 64 };

bool sim_bench_is_of(const Device *device, int number) {
    return device->sim ? benches[number].threads == 1 : benches[number].scenes == 0;
}

static Status make_one(int number, SimScene *scene, Error *err) {
    const size_t *cells = benches[number].cells;
    // One upon the other, 1 mm deep in its margin and not in line.
    const SimSceneBody one = {.cells = {cells[0], cells[1], cells[2]}, .rigid = benches[number].kind == RIGID};
    SimSceneBody blocks[2] = {one, one};
    blocks[1].at[0] = 0.03, blocks[1].at[1] = 0.1 * (double)cells[1] + 0.004, blocks[1].at[2] = 0.02;
    switch (benches[number].kind) {
    case MEET:
    case RIGID: return sim_scene_bodies(scene, blocks, 2, 0.005, err);
    case NET: return sim_scene_net(scene, cells[0], err);
    case CLOTH: return sim_scene_cloth(scene, cells[0], err);
    default: return sim_scene_beam(scene, cells, benches[number].kind == GROUND, err);
    }
}

static Status make_scene(int number, SimScene *scene, Error *err) {
    SimScene one = {0};
    if (!benches[number].scenes) return make_one(number, scene, err);
    Status status = make_one(number, &one, err);
    if (status == STATUS_OK) status = sim_scene_repeat(&one, benches[number].scenes, scene, err);
    sim_scene_free(&one);
    return status;
}

typedef struct Bench {
    Device *device;
    SimScene scene;
    SimValues gradient; // of all parameters and the initial state
    double *loss;       // (2,B,N,3) of positions: their sum after the last step
    Sim *sim;
    SimRun run;
} Bench;

static Status allocate(Bench *b, Error *err) {
    const size_t row = 3 * b->scene.model.scenes * b->scene.model.particles;
    bool ok = true;
    for (SimValue v = 0; v < SIM_VALUES; v++) {
        if (sim_value_is_control(v)) continue;
        b->gradient.of[v] = arena_array(&b->scene.memory, sim_value_count(&b->scene.model, 0, v), sizeof(double));
        ok = ok && b->gradient.of[v];
    }
    b->loss = arena_array(&b->scene.memory, 2 * row, sizeof(double));
    if (!ok || !b->loss) return error_set(err, STATUS_FAILED, "out of memory for a gradient");
    for (size_t i = 0; i < 2 * row; i++) b->loss[i] = i >= row;
    b->run = (SimRun){.steps = STEPS,
                      .every = STEPS,
                      .position = b->scene.values.of[SIM_POSITION],
                      .velocity = b->scene.values.of[SIM_VELOCITY]};
    return STATUS_OK;
}

static Status time_once(void *context, BenchTime *times, Error *err) {
    Bench *b = context;
    b->run.gradient = false;
    BenchTime start = bench_now(b->device);
    Status status = sim_rollout(b->sim, &b->run, err);
    times[0] = bench_since(b->device, start);
    if (status != STATUS_OK) return status;
    b->run.gradient = true;
    start = bench_now(b->device);
    status = sim_rollout(b->sim, &b->run, err);
    if (status == STATUS_OK)
        status = sim_adjoint(b->sim, &b->run, &(SimLoss){.position = b->loss}, &b->gradient, NULL, err);
    times[1] = bench_since(b->device, start);
    return status;
}

Status sim_bench(Device *device, int number, int repetitions, SimBench *out, Error *err) {
    SimOptions options = sim_options_of(device, benches[number].precision);
    options.threads = benches[number].threads;
    BenchTime times[2] = {{0}};
    Bench b = {.device = device};
    Status status = make_scene(number, &b.scene, err);
    const SimModel *model = &b.scene.model;
    if (status == STATUS_OK) status = allocate(&b, err);
    if (status == STATUS_OK) status = sim_open(model, &options, &b.sim, err);
    if (status == STATUS_OK) status = sim_set(b.sim, &b.scene.values, err);
    if (status == STATUS_OK) {
        *out = (SimBench){.name = benches[number].name,
                          .precision = options.precision,
                          .threads = sim_threads(b.sim),
                          .scenes = model->scenes,
                          .particles = model->particles,
                          .springs = model->springs,
                          .tets = model->tets,
                          .hinges = model->hinges,
                          .steps = STEPS,
                          .isa = sim_isa(b.sim)};
        status = bench_medians(time_once, &b, 1, repetitions, 2, times, err);
        out->forward = times[0], out->both = times[1];
        out->peak_bytes = sim_peak_bytes(b.sim);
    }
    sim_close(b.sim);
    sim_scene_free(&b.scene);
    return status;
}
