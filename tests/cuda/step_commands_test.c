// SPDX-License-Identifier: Apache-2.0
// How many commands (kernels, copies, calls of libraries) a training step gives to its GPU, and how often it waits;
// what is made once a step is made anew when weights change.
#include "tests/test.h"

#include "bench/selftest_model.h"
#include "device/room_video.h"
#include "tests/cuda_on_cpu/cuda_on_cpu.h"

enum { T = 2, SIDE = 16, STEPS = 2 };

// Layers are as wide as they must be for the wide paths of messages.
static const char *const narrow[] = {"model.C=40", "encoder.widths=[8, 16, 16, 16]", "renderer.widths=[16, 16]"};

typedef enum Bounds { NO_STEPS, EACH_STEP, ALL_IN_ONE } Bounds; // of device_step_begin

typedef struct Run {
    size_t commands; // of the last step
    double loss[STEPS];
} Run;

static void train(Device *device, SelfTestModel *model, const Observation *frames, int steps, Bounds bounds, Run *run) {
    Error err = {0};
    for (int step = 0; step < steps; step++) {
        size_t before = device->replay.commands;
        if (bounds == EACH_STEP || (bounds == ALL_IN_ONE && step == 0)) device_step_begin(device, false);
        assert_status_ok(selftest_gradient(model, frames, step, &run->loss[step], &err), err);
        assert_status_ok(selftest_update(model, step, &err), err);
        if (bounds == EACH_STEP || (bounds == ALL_IN_ONE && step + 1 == steps)) device_step_end(device);
        run->commands = device->replay.commands - before;
    }
}

static Run train_anew(const StepShape *shape, const char *rounds, int steps, Bounds bounds) {
    Device *device = NULL;
    RoomVideo room;
    Config config;
    SelfTestModel model;
    Error err = {0};
    Run run = {0};
    assert_status_ok(room_video_make(&room, T + shape->rollout, SELFTEST_VIEWS, SIDE, SIDE, &err), err);
    assert_status_ok(step_bench_config(shape, STEP_HIERARCHICAL, 0, &config, &err), err);
    assert_status_ok(config_set(&config, sizeof narrow / sizeof *narrow, narrow, &err), err);
    assert_status_ok(config_set(&config, 1, &rounds, &err), err);
    config.model.precision = PRECISION_BF16;
    assert_status_ok(cuda_on_cpu_open(&device, &err), err);
    assert_status_ok(selftest_open_model(&model, device, &config, &room.observation, &err), err);
    model.tape.keep_limit = 0; // as train.keep_mib=0, which costs more commands than keeping products
    train(device, &model, &room.observation, steps, bounds, &run);
    selftest_close_model(&model);
    device_close(device);
    room_video_free(&room);
    return run;
}

typedef struct Commands {
    size_t part[2 * PART_COUNT + 1]; // of encoder, dynamics, renderer, forward and backward each; of the update
} Commands;

static Commands commands_in(const size_t forward[PART_COUNT], const size_t backward[PART_COUNT], size_t update) {
    Commands out = {.part = {[2 * PART_COUNT] = update}};
    for (int i = 0; i < PART_COUNT; i++) out.part[2 * i] = forward[i], out.part[2 * i + 1] = backward[i];
    return out;
}

// Of a step at the sizes of `paper`, without doing the commands: `vpd bench step` counts the same on a GPU.
static Commands commands_of_paper(int episodes) {
    const StepShape *shape = &step_shapes[STEP_PAPER];
    Device *device = NULL;
    RoomVideo room;
    Config config;
    StepBench bench;
    Error err = {0};
    assert_status_ok(room_video_make(&room, T + shape->rollout, shape->views, shape->H, shape->W, &err), err);
    assert_status_ok(step_bench_config(shape, STEP_HIERARCHICAL, 1024, &config, &err), err);
    config.model.precision = PRECISION_BF16;
    config.train.batch = episodes;
    cuda_on_cpu_skip(true);
    assert_status_ok(cuda_on_cpu_open(&device, &err), err);
    assert_status_ok(step_bench(device, &config, &room.observation, MEASURE_STEP, 1, &bench, &err), err);
    device_close(device);
    cuda_on_cpu_skip(false);
    room_video_free(&room);
    return commands_in(bench.forward_commands, bench.backward_commands, bench.update_commands);
}

static void check_commands(const Commands *found, int episodes, const size_t most[2 * PART_COUNT + 1]) {
    size_t all = 0;
    for (int i = 0; i <= 2 * PART_COUNT; i++) {
        print_message("%zu ", found->part[i]);
        all += found->part[i];
    }
    print_message("commands; %zu in all, episodes %d\n", all, episodes);
    for (int i = 0; i <= 2 * PART_COUNT; i++) assert_in_range(found->part[i], 0, most[i]);
    assert_true(all > 100);
}

// With more of them something is made again that was made before.
static void a_step_has_few_commands(void **state) {
    (void)state;
    Commands found = commands_of_paper(1);
    check_commands(&found, 1, (const size_t[]){73, 103, 138, 49, 127, 81, 6});
}

// Episodes of a batch share all parts.
static void a_batch_shares_commands(void **state) {
    (void)state;
    Commands found = commands_of_paper(8);
    check_commands(&found, 8, (const size_t[]){73, 103, 150, 68, 148, 96, 6});
}

enum { MOST_EPISODES = 8 };

// A step of a batch whose episodes all show `frames`; clock: NULL, or counts, for which it waits. Returns the commands
// of the update.
static size_t train_batch(SelfTestModel *model, const Observation *frames, int episodes, StepClock *clock) {
    Device *device = model->model->device;
    EpisodeInput input[MOST_EPISODES];
    int views[SELFTEST_VIEWS];
    PlacedBatch placed;
    LossValues values;
    LossParts parts;
    Error err = {0};
    EpisodeBatch batch = {(size_t)episodes, (size_t)episodes, input, frames->F - T, clock};
    step_bench_episodes(frames, views, 0, (size_t)episodes, input);
    device_step_begin(device, false);
    size_t before = device->replay.commands;
    long waits = cuda_on_cpu_waits();
    assert_status_ok(train_place(model->model, &model->workspace, &batch, &placed, &err), err);
    if (clock) { // all motion is known: the GPU may be busy with another batch
        assert_int_equal(device->replay.commands, before);
        assert_int_equal(cuda_on_cpu_waits(), waits);
    }
    assert_status_ok(train_episodes(&model->tape, model->model, &model->workspace, &placed, &values, &err), err);
    size_t commands = device->replay.commands;
    assert_status_ok(loss_read(&model->tape, &values, &parts, &err), err);
    assert_status_ok(selftest_update(model, 0, &err), err);
    device_step_end(device);
    return device->replay.commands - commands;
}

static Commands count_commands(SelfTestModel *model, const Observation *frames, int episodes, long *waits) {
    StepClock clock;
    *waits = cuda_on_cpu_waits();
    train_batch(model, frames, episodes, NULL);
    *waits = cuda_on_cpu_waits() - *waits;
    size_t update = train_batch(model, frames, episodes, &clock);
    return commands_in(clock.forward_commands, clock.backward_commands, update);
}

// So do bodies, and the host waits as often as for one: for their motion in each rollout step, the loss, and the
// gradients' norm. The step is small, because the host moves bodies as the network says, so that the commands must be
// done.
static void a_batch_of_bodies_shares_commands(void **state) {
    (void)state;
    static const long MOST_WAITS = 4;
    static const StepShape shape = {"small", 150, 12, SELFTEST_VIEWS, 16, 16, 2, 8, 0.15, false};
    static const char *const more[] = {"model.C=16", "gnn.L=2", "renderer.radius_per_particle=true"};
    Device *device = NULL;
    RoomVideo room;
    Config config;
    SelfTestModel model;
    Error err = {0};
    long waits[2];
    assert_status_ok(room_video_make(&room, T + shape.rollout, SELFTEST_VIEWS, shape.H, shape.W, &err), err);
    assert_status_ok(step_bench_config(&shape, STEP_BODIES, 1024, &config, &err), err);
    assert_status_ok(config_set(&config, sizeof narrow / sizeof *narrow, narrow, &err), err);
    assert_status_ok(config_set(&config, sizeof more / sizeof *more, more, &err), err);
    assert_status_ok(cuda_on_cpu_open(&device, &err), err);
    assert_status_ok(selftest_open_model(&model, device, &config, &room.observation, &err), err);
    train_batch(&model, &room.observation, 1, NULL); // measures the motion
    Commands one = count_commands(&model, &room.observation, 1, &waits[0]),
             eight = count_commands(&model, &room.observation, MOST_EPISODES, &waits[1]);
    check_commands(&one, 1, (const size_t[]){73, 102, 26, 0, 54, 39, 6});
    check_commands(&eight, MOST_EPISODES, (const size_t[]){73, 102, 46, 0, 60, 39, 6});
    print_message("%ld and %ld waits\n", waits[0], waits[1]);
    assert_in_range(waits[0], 1, MOST_WAITS);
    assert_int_equal(waits[1], waits[0]);
    selftest_close_model(&model);
    device_close(device);
    room_video_free(&room);
}

// A step of the phase with motion alone, without doing the commands: the bodies of 32 windows, SELFTEST_WINDOW_STEPS
// steps of a rollout, C 64, L 4. What it costs beyond the products are launches and what the host waits for.
static void a_step_of_motion_has_few_commands(void **state) {
    (void)state;
    static const size_t MOST = 400;
    static const long MOST_WAITS = 6;
    static const char *const options[] = {"model.C=64", "gnn.L=4"};
    Device *device = NULL;
    Config config;
    SelfTestModel model;
    Error err = {0};
    Run run = {0};
    long waits = 0;
    assert_status_ok(step_bench_config(&step_shapes[STEP_TINY], STEP_BODIES, 0, &config, &err), err);
    assert_status_ok(config_set(&config, sizeof options / sizeof *options, options, &err), err);
    cuda_on_cpu_skip(true);
    assert_status_ok(cuda_on_cpu_open(&device, &err), err);
    assert_status_ok(selftest_open_model(&model, device, &config, NULL, &err), err);
    for (int step = 0; step < STEPS; step++) {
        waits = cuda_on_cpu_waits();
        train(device, &model, NULL, 1, EACH_STEP, &run);
        waits = cuda_on_cpu_waits() - waits;
    }
    print_message("a step of motion: %zu commands, %ld waits\n", run.commands, waits);
    assert_in_range(run.commands, 1, MOST);
    assert_in_range(waits, 1, MOST_WAITS);
    selftest_close_model(&model);
    device_close(device);
    cuda_on_cpu_skip(false);
}

static void weights_change_between_steps(void **state) {
    (void)state;
    static const StepShape shape = {"small", 64, 12, SELFTEST_VIEWS, SIDE, SIDE, 2, 8, 0.15, false};
    Run plain = train_anew(&shape, "gnn.L=1", STEPS, NO_STEPS), each = train_anew(&shape, "gnn.L=1", STEPS, EACH_STEP),
        one = train_anew(&shape, "gnn.L=1", STEPS, ALL_IN_ONE);
    for (int step = 0; step < STEPS; step++) {
        assert_true(plain.loss[step] > 0);
        assert_memory_equal(&each.loss[step], &plain.loss[step], sizeof *plain.loss);
        assert_memory_equal(&one.loss[step], &plain.loss[step], sizeof *plain.loss);
    }
    assert_true(plain.loss[1] != plain.loss[0]);
    assert_true(each.commands < plain.commands);
}

// Messages that wait for each other in one launch, and in a launch for each phase.
static void messages_share_launches(void **state) {
    (void)state;
    static const StepShape shape = {"small", 64, 12, SELFTEST_VIEWS, SIDE, SIDE, 2, 8, 0.15, false};
    Run together = train_anew(&shape, "gnn.L=3", STEPS, EACH_STEP);
    cuda_on_cpu_cooperative(false);
    Run alone = train_anew(&shape, "gnn.L=3", STEPS, EACH_STEP);
    cuda_on_cpu_cooperative(true);
    for (int step = 0; step < STEPS; step++)
        assert_memory_equal(&together.loss[step], &alone.loss[step], sizeof *alone.loss);
    print_message("%zu commands, %zu without sharing\n", together.commands, alone.commands);
    assert_true(together.commands + 60 < alone.commands);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_has_few_commands),           cmocka_unit_test(a_batch_shares_commands),
        cmocka_unit_test(a_batch_of_bodies_shares_commands), cmocka_unit_test(a_step_of_motion_has_few_commands),
        cmocka_unit_test(weights_change_between_steps),      cmocka_unit_test(messages_share_launches)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
