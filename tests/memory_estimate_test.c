// SPDX-License-Identifier: Apache-2.0
// What memory is said to be needed against what training steps take, part by part; and what is refused.
#include "tests/test.h"

#include "base/file.h"
#include "base/memory_room.h"
#include "device/room_video.h"
#include "model/memory.h"
#include "nn/optimizer.h"

#include "bench/step_bench.h"
#include "train/episode.h"
#include "train/schedule.h"

#include <math.h>
#include <string.h>

// The estimate's sum is within this factor of what the tape held, both ways.
static const double FACTOR = 1.4;

typedef struct Case {
    StepShape shape;
    StepGraph graph;
    double keep_mib;
    const char *option; // one more, or NULL
} Case;

// Small shapes in which each part is the largest once.
static const Case cases[] = {
    {{"a", 1024, 64, 2, 32, 32, 3, 64, 0.1, false}, STEP_HIERARCHICAL, 0, NULL},
    {{"b", 1024, 64, 2, 32, 32, 3, 64, 0.1, false}, STEP_HIERARCHICAL, 1024, NULL},
    {{"c", 1024, 64, 2, 32, 32, 3, 64, 0.1, false}, STEP_BODIES, 0, NULL},
    {{"d", 1024, 64, 2, 32, 32, 3, 64, 0.1, false}, STEP_BODIES, 1024, NULL},
    {{"e", 1024, 64, 2, 32, 32, 3, 64, 0.1, false}, STEP_HIERARCHICAL, 30, NULL},
    {{"f", 512, 128, 2, 32, 32, 4, 64, 0.1, true}, STEP_HIERARCHICAL, 1024, NULL},
    {{"g", 256, 16, 2, 64, 64, 1, 16, 0.1, false}, STEP_HIERARCHICAL, 0, NULL},
    {{"h", 1024, 64, 2, 30, 34, 2, 512, 0.1, false}, STEP_HIERARCHICAL, 1024, "model.C=32"},
    {{"i", 512, 64, 2, 32, 32, 2, 32, 0.1, false}, STEP_HIERARCHICAL, 1024, "gnn.graph=flat"},
    {{"j", 512, 5000, 1, 32, 32, 2, 32, 0.1, false}, STEP_HIERARCHICAL, 1024, "gnn.L=2"},
    {{"k", 1024, 64, 2, 32, 32, 3, 64, 0.1, false}, STEP_HIERARCHICAL, 1024, "train.batch=4"},
    {{"l", 1024, 64, 2, 32, 32, 3, 64, 0.1, false}, STEP_BODIES, 0, "train.batch=4"},
    {{"m", 256, 16, 2, 64, 64, 1, 16, 0.1, false}, STEP_HIERARCHICAL, 0, "train.batch=3"},
    {{"n", 1024, 64, 2, 32, 32, 1, 256, 0.1, false}, STEP_BODIES, 0, "train.batch=4"},
};

// What one step took.
typedef struct Measured {
    MemoryUse use[MEMORY_USES];
    size_t count;
    double tape;
} Measured;

static double part_of(const MemoryEstimate *e, const char *name) {
    for (int i = 0; i < e->count; i++)
        if (strcmp(e->part[i].name, name) == 0) return e->part[i].bytes;
    return 0;
}

static double use_of(const Measured *m, const char *name) {
    for (size_t i = 0; i < m->count; i++)
        if (strcmp(m->use[i].name, name) == 0) return (double)m->use[i].peak;
    return 0;
}

static void take_step(Device *device, const Config *config, const Observation *frames, Measured *out) {
    const TrainConfig *train = &config->train;
    int views[4] = {0, 1, 2, 3};
    Vpd *model;
    Optimizer optimizer = {0};
    LossWorkspace workspace = {0};
    PlacedBatch placed;
    LossValues values;
    Tape tape;
    Error err = {0};
    assert_status_ok(vpd_create(config, device, &model, &err), err);
    OptimizerConfig options = schedule_optimizer(train);
    assert_status_ok(optimizer_create(&optimizer, &model->parameters, options, &err), err);
    tape_init(&tape, device);
    tape.keep_limit = (size_t)(train->keep_mib * (1 << 20));
    EpisodeInput inputs[4];
    for (uint32_t b = 0; b < 4; b++) inputs[b] = (EpisodeInput){frames, views, frames->V, {0}, {1, 0, b}, NULL, NULL};
    EpisodeBatch batch = {(size_t)train->batch, (size_t)train->batch, inputs, frames->F - (int)config->model.T, NULL};
    parameters_zero_grad(&model->parameters);
    assert_status_ok(train_place(model, &workspace, &batch, &placed, &err), err);
    assert_status_ok(train_episodes(&tape, model, &workspace, &placed, &values, &err), err);
    out->count = device_memory_uses(device, out->use);
    out->tape = (double)tape_peak_bytes(&tape);
    loss_workspace_free(&workspace);
    tape_free(&tape);
    optimizer_free(&optimizer);
    vpd_free(model);
}

static void measure(const Case *c, Measured *measured, MemoryEstimate *estimate) {
    Config config;
    RoomVideo room;
    Device *device = NULL;
    double weights, pixels = (double)c->shape.H * c->shape.W * c->shape.views;
    Error err = {0};
    assert_status_ok(step_bench_config(&c->shape, c->graph, c->keep_mib, &config, &err), err);
    const char *const narrow[] = {"encoder.widths=[16, 32, 64]", "model.C=48", "gnn.L=3", "train.motion_steps=0"};
    assert_status_ok(config_set(&config, 4, narrow, &err), err);
    if (c->option) assert_status_ok(config_set(&config, 1, &c->option, &err), err);
    assert_status_ok(config_resolve(&config, &err), err);
    assert_status_ok(device_open("cpu", 2, &device, &err), err);
    int F = (int)config.model.T + c->shape.rollout;
    assert_status_ok(room_video_make(&room, F, c->shape.views, c->shape.H, c->shape.W, &err), err);
    take_step(device, &config, &room.observation, measured);
    MemoryShape shape = {c->shape.views, c->shape.views, c->shape.H, c->shape.W, pixels, 0, 0};
    assert_status_ok(memory_count_weights(&config, &weights, &err), err);
    memory_of_training(&config, &shape, weights, 2, estimate);
    room_video_free(&room);
    device_close(device);
}

// Of parts that hardly count the factor says little.
static void expect_near(const Case *c, const char *what, double estimate, double measured, double of, double factor) {
    double ratio = estimate / measured;
    if (measured < 0.2 * of || (ratio <= factor && ratio >= 1 / factor)) return;
    fail_msg("case %s: %s: %.2f MiB estimated, %.2f MiB measured", c->shape.name, what, estimate / (1 << 20),
             measured / (1 << 20));
}

static void estimates_are_near(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const Case *c = &cases[i];
        Measured m = {.count = 0};
        MemoryEstimate e;
        double tape = 0, least = 0;
        measure(c, &m, &e);
        for (int k = 0; k < e.count; k++) {
            const MemoryPart *part = &e.part[k];
            bool of_weights = !strcmp(part->name, "parameters") || !strcmp(part->name, "optimiser");
            if (part->on_host || of_weights || !strcmp(part->name, "temporaries")) continue;
            tape += part->bytes;
            least += part->least;
        }
        expect_near(c, "parameters", part_of(&e, "parameters"), use_of(&m, "parameters"), 0, 1.0001);
        expect_near(c, "optimiser", part_of(&e, "optimiser"), use_of(&m, "optimiser"), 0, 1.001);
        expect_near(c, "encoder", part_of(&e, "encoder"), use_of(&m, "encoder"), m.tape, FACTOR);
        expect_near(c, "dynamics", part_of(&e, "dynamics"), use_of(&m, "dynamics"), m.tape, FACTOR);
        expect_near(c, "the tape", tape, m.tape, m.tape, FACTOR);
        // With few rays most temporaries are those of convolutions, which depend on the processor.
        if (c->shape.rays >= 256) assert_true(use_of(&m, "temporaries") <= FACTOR * part_of(&e, "temporaries"));
        // What is said to be surely needed is, or something could be refused that fits.
        assert_true(least > 0.1 * m.tape && least <= m.tape);
    }
}

// ---- what is refused

static size_t room_left;
static void tell_room(void *owner, size_t *left, size_t *total) {
    (void)owner;
    *left = room_left;
    *total = (size_t)80 << 30;
}
static void *no_memory(void *owner, size_t bytes) { return (void)owner, (void)bytes, NULL; }

static void what_cannot_fit_is_refused(void **state) {
    (void)state;
    // Few weights: checkpoints are made in this machine's memory, whatever it has.
    const char *const huge[] = {"gnn.graph=hierarchical", "gnn.M=1000000", "gnn.L=64", "encoder.N=4000000"};
    MemoryShape shape = {4, 4, 512, 512, 1e6, 1e9, 1e3};
    MemoryEstimate e;
    Config config;
    double weights;
    Error err = {0};
    // A device with a memory of its own.
    Device device = {.name = "cuda", .source = {.allocate = no_memory, .room = tell_room}};
    config_defaults(&config);
    assert_status_ok(config_resolve(&config, &err), err);
    assert_status_ok(memory_count_weights(&config, &weights, &err), err);
    memory_of_training(&config, &shape, weights, 2, &e);
    // With the default options no part is left out.
    static const char *const names[] = {"gradients", "inputs", "frames read ahead", "cached images", "temporaries"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) assert_true(part_of(&e, names[i]) > 0);
    double device_needs = 0;
    for (int i = 0; i < e.count; i++) device_needs += e.part[i].on_host ? 0 : e.part[i].least;
    room_left = (size_t)device_needs + 1;
    assert_status_ok(memory_check(&e, &device, "this training", NULL, &err), err);
    room_left = (size_t)device_needs - 1;
    assert_status_error(memory_check(&e, &device, "this training", NULL, &err), STATUS_BAD_INPUT, err,
                        "make smaller: encoder by fewer data.input_views");
    config_defaults(&config);
    assert_status_ok(config_set(&config, 4, huge, &err), err);
    assert_status_ok(config_resolve(&config, &err), err);
    assert_status_ok(memory_count_weights(&config, &weights, &err), err);
    memory_of_training(&config, &shape, weights, 2, &e);
    room_left = (size_t)80 << 30;
    assert_true(memory_total(&e, false) < INFINITY);
    assert_int_equal(memory_check(&e, &device, "this training", NULL, &err), STATUS_BAD_INPUT);
    assert_non_null(strstr(err.text, "dynamics by train.keep_mib=0"));
}

// How many bodies windows have is a guess until they are made.
static void windows_that_cannot_fit_are_refused(void **state) {
    (void)state;
    MemoryShape shape = {4, 4, 64, 64, 1e4, 1e6, 1e3};
    MemoryEstimate e;
    Config config;
    Error err = {0};
    Device device = {.name = "cuda", .source = {.allocate = no_memory, .room = tell_room}};
    const char *const many[] = {"model.preset=tiny", "train.windows=65536"};
    config_defaults(&config);
    assert_status_ok(config_set(&config, 2, many, &err), err);
    assert_status_ok(config_resolve(&config, &err), err);
    memory_of_training(&config, &shape, 1e6, 2, &e);
    room_left = (size_t)20 << 30;
    assert_status_ok(memory_check(&e, &device, "this training", NULL, &err), err);
    memory_know_windows(27.5, &e); // 1.7 bodies
    assert_status_error(memory_check(&e, &device, "this training", NULL, &err), STATUS_BAD_INPUT, err,
                        "make smaller: windows by train.windows");
}

// ---- what there is

static void put(const char *folder, const char *name, const char *text) {
    char path[256];
    Error err;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_status_ok(file_make_parent(path, &err), err);
    assert_status_ok(file_write_bytes(path, text, strlen(text), &err), err);
}

static void the_smallest_limit_counts(void **state) {
    (void)state;
    char folder[64];
    const char *limit;
    test_make_folder(folder);
    put(folder, "meminfo", "MemTotal:       16000000 kB\nMemAvailable:    8000000 kB\nSwapFree:         500000 kB\n");
    put(folder, "self/cgroup", "0::/app/job\n");
    assert_true(memory_room_of(folder, folder, &limit) == 8500000.0 * 1024);
    assert_string_equal(limit, "this machine");
    put(folder, "app/job/memory.max", "max\n");
    put(folder, "app/job/memory.current", "1000\n");
    assert_true(memory_room_of(folder, folder, NULL) == 8500000.0 * 1024);
    // The group above is tighter; pages of files do not count as used.
    put(folder, "app/memory.max", "1000000\n");
    put(folder, "app/memory.current", "600000\n");
    put(folder, "app/memory.stat", "anon 300000\ninactive_file 200000\nactive_file 100000\n");
    assert_true(memory_room_of(folder, folder, &limit) == 700000 + 500000.0 * 1024);
    assert_string_equal(limit, "the limit of this process's control group");
    // Version 1.
    put(folder, "self/cgroup", "4:memory:/box\n");
    put(folder, "memory/box/memory.limit_in_bytes", "2000000\n");
    put(folder, "memory/box/memory.usage_in_bytes", "2500000\n");
    assert_true(memory_room_of(folder, folder, NULL) == 500000.0 * 1024);
    assert_true(memory_room_of("/no/such", "/no/such", NULL) > 0);
    assert_true(memory_room(NULL) > 1 << 20);
    test_remove_folder(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(estimates_are_near), cmocka_unit_test(what_cannot_fit_is_refused),
        cmocka_unit_test(windows_that_cannot_fit_are_refused), cmocka_unit_test(the_smallest_limit_counts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
