// SPDX-License-Identifier: Apache-2.0
// Evaluation, rollouts and training that signals cut at random moments, again and again in one process as the program
// would run them: nothing aborts, a training always leaves a checkpoint of its last whole step, and the run that was
// cut has the bits of one that was not. VPD_SIGNALS (2): how many signals of each of four kinds for each of the three.
#include "tests/infer_world.h"

#include "base/clock.h"
#include "base/stop.h"
#include "files/checkpoint.h"
#include "infer/eval.h"
#include "train/trainer.h"

#include <signal.h>
#include <time.h>

static const int kinds[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1};
enum { KINDS = sizeof kinds / sizeof *kinds, THREADS = 2, STEPS = 5 };

typedef struct Storm {
    World world;
    timer_t timers[KINDS];
    char out[128];
    long last_step, stop_at; // of the training: the newest line of its log; ends by itself at this step, 0: never
    int sent, hit;           // signals, and those that came while the job was under way
} Storm;

typedef Status Job(Storm *storm, Error *err);

static int signals_wanted(void) { return getenv("VPD_SIGNALS") ? atoi(getenv("VPD_SIGNALS")) : 2; }

static void storm_open(Storm *storm) {
    Error err = {0};
    *storm = (Storm){.last_step = 0};
    world_open(&storm->world, WORLD_PLAIN);
    device_close(storm->world.device);
    assert_status_ok(device_open("cpu", THREADS, &storm->world.device, &err), err);
    world_model(&storm->world, NULL, false);
    for (int i = 0; i < KINDS; i++) {
        struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = kinds[i]};
        assert_int_equal(timer_create(CLOCK_MONOTONIC, &event, &storm->timers[i]), 0);
    }
}

static void storm_close(Storm *storm) {
    for (int i = 0; i < KINDS; i++) timer_delete(storm->timers[i]);
    world_close(&storm->world);
}

// Runs the job with a signal of this kind after `delay` seconds; its status once the signal has come.
static Status cut(Storm *storm, Job *job, int kind, double delay) {
    Error err = {0};
    struct itimerspec when = {.it_value = {(time_t)delay, 1 + (long)(1e9 * (delay - floor(delay)))}};
    assert_int_equal(timer_settime(storm->timers[kind], 0, &when, NULL), 0);
    Status status = job(storm, &err);
    storm->sent++;
    storm->hit += status == STATUS_INTERRUPTED;
    if (status == STATUS_INTERRUPTED && !strstr(err.text, "stopped by SIG")) fail_msg("%s", err.text);
    if (status != STATUS_INTERRUPTED) assert_status_ok(status, err);
    for (double end = clock_now() + 60; !stop_requested() && clock_now() < end;)
        nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    assert_int_equal(stop_requested(), kinds[kind]);
    stop_clear();
    return status;
}

// Delays spread over the time that the job takes alone.
static void cut_often(Storm *storm, Job *job, const char *name) {
    Error err = {0};
    RandomKey key = {.seed = 5, .purpose = RANDOM_TEST};
    assert_status_ok(job(storm, &err), err); // makes primitives
    double before = clock_now();
    assert_status_ok(job(storm, &err), err);
    double seconds = clock_now() - before;
    storm->sent = storm->hit = 0;
    for (int i = 0; i < KINDS * signals_wanted(); i++)
        cut(storm, job, i % KINDS, seconds * (double)random_uniform(key, (uint64_t)i));
    printf("%s: %d signals of each of %d kinds, %d of them while it ran (%.1f ms)\n", name, signals_wanted(), KINDS,
           storm->hit, 1e3 * seconds);
    assert_true(storm->hit > 0);
}

static Status evaluate(Storm *storm, Error *err) {
    EvalPlan plan = {0};
    Report report = {0};
    int episode = 0;
    EvalChoice choice = {.episodes = &episode, .episode_count = 1, .steps = 3};
    EvalOptions options = {.motion_only = true};
    Status status = eval_plan_make(storm->world.model, storm->world.dataset, &choice, &plan, err);
    if (status == STATUS_OK) status = eval_run(storm->world.model, storm->world.dataset, &plan, &options, &report, err);
    report_free(&report);
    eval_plan_free(&plan);
    return status;
}

static Status roll_out(Storm *storm, Error *err) {
    RolloutFile file = {0};
    Status status = world_rollout(&storm->world, 0, 1, STEPS, &file, err);
    rollout_file_free(&file);
    return status;
}

static void evaluation_and_rollout(void **state) {
    (void)state;
    Storm storm;
    storm_open(&storm);
    cut_often(&storm, evaluate, "evaluation");
    cut_often(&storm, roll_out, "rollout");
    storm_close(&storm);
}

// ---- training

static bool hear(void *owner, const char *json) {
    Storm *storm = owner;
    assert_int_equal(sscanf(json, "{\"step\":%ld,", &storm->last_step), 1);
    return storm->stop_at && storm->last_step >= storm->stop_at;
}

static Status train(Storm *storm, bool resume, Error *err) {
    char data[256], out[256];
    snprintf(data, sizeof data, "data.path=%s", storm->world.data);
    snprintf(out, sizeof out, "train.out=%s", storm->out);
    // Images join after two steps: the averaged weights take over there.
    const char *const pairs[] = {data,
                                 out,
                                 "encoder.N=48",
                                 "train.steps=100000",
                                 "train.motion_steps=2",
                                 "train.rollout=[1]",
                                 "train.rollout_from=[0]",
                                 "train.rays=4",
                                 "train.log_every=1",
                                 "train.checkpoint_every=100000",
                                 "train.picture_every=0",
                                 NULL};
    Config config;
    TrainSummary summary;
    world_config(&config, pairs);
    TrainOptions options = {.resume = resume, .listener = {storm, hear}};
    return train_run(&config, storm->world.device, &options, &summary, err);
}

static Status go_on(Storm *storm, Error *err) { return train(storm, true, err); }

static void newest(const Storm *storm, CheckpointFound *found, CheckpointMeta *meta) {
    char folder[256];
    Error err = {0};
    snprintf(folder, sizeof folder, "%s/checkpoints", storm->out);
    assert_status_ok(checkpoint_find_latest(folder, found, &err), err);
    assert_status_ok(checkpoint_read_meta(found->path, meta, &err), err);
}

static void begin_run(Storm *storm, const char *name, long steps) {
    Error err = {0};
    snprintf(storm->out, sizeof storm->out, "%s/%s", storm->world.folder, name);
    storm->stop_at = steps;
    assert_status_ok(train(storm, false, &err), err);
    storm->stop_at = 0;
}

// Raw and averaged weights of the newest checkpoint.
static real *weights_of(const Storm *storm, size_t *count) {
    CheckpointFound found;
    CheckpointMeta meta;
    Vpd *model;
    Error err = {0};
    newest(storm, &found, &meta);
    assert_status_ok(vpd_create(&meta.config, storm->world.device, &model, &err), err);
    *count = model->parameters.size;
    real *both = malloc(2 * *count * sizeof *both);
    for (int i = 0; i < 2; i++) {
        assert_status_ok(checkpoint_load(found.path, &model->parameters, i ? CHECKPOINT_EMA : CHECKPOINT_RAW, &err),
                         err);
        memcpy(both + (size_t)i * *count, model->parameters.values, *count * sizeof *both);
    }
    vpd_free(model);
    return both;
}

static void same_as_uncut(Storm *storm) {
    size_t count, again;
    long steps = storm->last_step;
    real *of_cut = weights_of(storm, &count);
    begin_run(storm, "uncut", steps);
    assert_int_equal(storm->last_step, steps);
    real *of_uncut = weights_of(storm, &again);
    assert_int_equal(count, again);
    assert_memory_equal(of_cut, of_uncut, 2 * count * sizeof *of_cut);
    free(of_cut);
    free(of_uncut);
}

// How long it takes to go on, and three steps.
static double time_of_three_steps(Storm *storm) {
    Error err = {0};
    double before = clock_now();
    storm->stop_at = storm->last_step + 3;
    assert_status_ok(go_on(storm, &err), err);
    storm->stop_at = 0;
    return clock_now() - before;
}

static void training(void **state) {
    (void)state;
    enum { CUTS = 48 }; // of one run
    Storm storm;
    RandomKey key = {.seed = 6, .purpose = RANDOM_TEST};
    char name[32];
    long steps = 0;
    double seconds = 0;
    storm_open(&storm);
    for (int i = 0; i < KINDS * signals_wanted(); i++) {
        CheckpointFound found;
        CheckpointMeta meta;
        if (i % CUTS == 0) {
            snprintf(name, sizeof name, "run%d", i / CUTS);
            begin_run(&storm, name, 1);
            if (i == 0) seconds = time_of_three_steps(&storm);
        }
        assert_int_equal(cut(&storm, go_on, i % KINDS, seconds * (double)random_uniform(key, (uint64_t)i)),
                         STATUS_INTERRUPTED);
        newest(&storm, &found, &meta);
        assert_int_equal(meta.step, storm.last_step); // not a step is lost
        bool last = i + 1 == KINDS * signals_wanted();
        if ((i + 1) % CUTS == 0 || last) steps += storm.last_step;
        if (last) same_as_uncut(&storm);
    }
    printf("training: %d signals of each of %d kinds in %ld steps, a checkpoint each time\n", signals_wanted(), KINDS,
           steps);
    storm_close(&storm);
}

int main(void) {
    Error err = {0};
    if (stop_install(&err) != STATUS_OK) return 1;
    const struct CMUnitTest tests[] = {cmocka_unit_test(evaluation_and_rollout), cmocka_unit_test(training)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
