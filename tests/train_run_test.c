// SPDX-License-Identifier: Apache-2.0
// Whole runs: no step is lost to the evaluation at the end, nothing begins that must fail, one process owns a folder,
// and a resumed run has the data it began with.
#include "tests/infer_world.h"

#include "base/stop.h"
#include "files/checkpoint.h"
#include "infer/train_hooks.h"
#include "train/run_folder.h"
#include "train/trainer.h"

#include <hdf5.h>
#include <signal.h>
#include <sys/wait.h>

enum { STEPS = 2 };

// Hooks that fail when they are told to.
typedef struct Visits {
    int evaluations, drawings;
    bool fail_evaluation, fail_drawing;
    double score;
} Visits;

static Status evaluate(void *owner, const Vpd *model, const TrainData *data, long step, RunLog *log, double *score,
                       Error *err) {
    Visits *visits = owner;
    (void)model, (void)data;
    visits->evaluations++;
    run_log_begin(log, "eval", step);
    if (run_log_end(log, err) != STATUS_OK) return STATUS_FAILED;
    *score = visits->score;
    return visits->fail_evaluation ? error_set(err, STATUS_FAILED, "planted in evaluation") : STATUS_OK;
}

static Status draw(void *owner, const Vpd *model, const TrainData *data, long step, const char *folder, RunLog *log,
                   Error *err) {
    Visits *visits = owner;
    (void)model, (void)data, (void)step, (void)folder, (void)log;
    visits->drawings++;
    return visits->fail_drawing ? error_set(err, STATUS_FAILED, "planted in drawing") : STATUS_OK;
}

typedef struct Run {
    World world;
    char out[128], data[128], messages[4096];
    TrainHooks hooks;
    TrainSummary summary;
    Error err;
} Run;

static void run_open(Run *run, WorldShape shape, Visits *visits) {
    *run = (Run){.hooks = {visits, NULL, evaluate, draw, NULL}};
    world_open(&run->world, shape);
    snprintf(run->out, sizeof run->out, "%s/run", run->world.folder);
    snprintf(run->data, sizeof run->data, "%s", run->world.data);
}

static void run_close(Run *run) { world_close(&run->world); }

// One option beside the usual ones may be given.
static Status train(Run *run, bool resume, bool dry_run, const char *more) {
    char data[256], out[256];
    snprintf(data, sizeof data, "data.path=%s", run->data);
    snprintf(out, sizeof out, "train.out=%s", run->out);
    const char *const pairs[] = {data,
                                 out,
                                 "encoder.N=48",
                                 "train.steps=2",
                                 "train.rollout=[1]",
                                 "train.rollout_from=[0]",
                                 "train.rays=4",
                                 "train.checkpoint_every=1",
                                 "train.picture_every=100",
                                 more,
                                 NULL};
    Config config;
    world_config(&config, pairs);
    FILE *messages = fmemopen(run->messages, sizeof run->messages, "w");
    Log log = {.out = messages};
    TrainOptions options = {.resume = resume, .dry_run = dry_run, .log = &log, .hooks = run->hooks};
    run->err = (Error){0};
    Status status = train_run(&config, run->world.device, &options, &run->summary, &run->err);
    fclose(messages);
    return status;
}

static CheckpointMeta newest(const Run *run) {
    char folder[256];
    CheckpointFound found;
    CheckpointMeta meta;
    Error err = {0};
    snprintf(folder, sizeof folder, "%s/checkpoints", run->out);
    assert_status_ok(checkpoint_find_latest(folder, &found, &err), err);
    assert_status_ok(checkpoint_read_meta(found.path, &meta, &err), err);
    return meta;
}

// What "best" names, as checkpoint_find finds it; the latest where there is no such marker.
static bool has_best(const Run *run) {
    char path[256];
    snprintf(path, sizeof path, "%s/checkpoints/best", run->out);
    return file_exists(path);
}

static int lines_of_kind(const Run *run, const char *kind) {
    char path[256], word[64], *text;
    size_t length;
    Error err = {0};
    int count = 0;
    snprintf(path, sizeof path, "%s/metrics.jsonl", run->out);
    snprintf(word, sizeof word, "\"kind\":\"%s\"", kind);
    assert_status_ok(file_read_all(path, 1 << 20, &text, &length, &err), err);
    for (const char *at = text; (at = strstr(at, word)); at++) count++;
    free(text);
    return count;
}

static void a_cut_evaluation_is_done_after_a_resume(void **state) {
    (void)state;
    Visits visits = {.fail_evaluation = true, .score = 3};
    Run run;
    run_open(&run, WORLD_PLAIN, &visits);
    assert_status_error(train(&run, false, false, NULL), STATUS_FAILED, run.err, "planted in evaluation");
    CheckpointMeta meta = newest(&run);
    assert_int_equal(meta.step, STEPS); // not a step is lost
    assert_false(meta.evaluated || has_best(&run));
    // The steps are not done again, the evaluation is; its line is there once.
    visits = (Visits){.score = 2};
    assert_status_ok(train(&run, true, false, NULL), run.err);
    assert_int_equal(visits.evaluations, 1);
    assert_int_equal(visits.drawings, 1);
    assert_int_equal(run.summary.step, STEPS);
    assert_int_equal(lines_of_kind(&run, "train"), 1); // train.log_every is 10: the last step's alone
    assert_int_equal(lines_of_kind(&run, "eval"), 1);
    meta = newest(&run);
    assert_true(meta.evaluated && meta.best_score == 2 && has_best(&run));
    // Complete: nothing is done.
    assert_status_ok(train(&run, true, false, NULL), run.err);
    assert_int_equal(visits.evaluations, 1);
    assert_non_null(strstr(run.messages, "is complete"));
    assert_true(run.summary.step == STEPS && run.summary.best_score == 2);
    // More steps: it goes on.
    assert_status_ok(train(&run, true, false, "train.steps=3"), run.err);
    assert_int_equal(run.summary.step, 3);
    run_close(&run);
}

static void the_best_is_marked_when_pictures_fail(void **state) {
    (void)state;
    Visits visits = {.fail_drawing = true, .score = 1};
    Run run;
    run_open(&run, WORLD_PLAIN, &visits);
    assert_status_error(train(&run, false, false, NULL), STATUS_FAILED, run.err, "planted in drawing");
    CheckpointMeta meta = newest(&run);
    assert_true(meta.best_score == 1 && !meta.evaluated && has_best(&run));
    // The same score again is no better one, and the marker stays.
    visits.fail_drawing = false;
    assert_status_ok(train(&run, true, false, NULL), run.err);
    meta = newest(&run);
    assert_true(meta.best_score == 1 && meta.evaluated && has_best(&run));
    run_close(&run);
}

// ---- before anything begins

// An episode with other views or without depth lies in a file of its own.
static void write_another(Run *run, Split split, int views, bool depth) {
    char folder[128], path[256], from[256];
    Error err = {0};
    snprintf(folder, sizeof folder, "%s/mixed", run->world.folder);
    snprintf(path, sizeof path, "%s/a.h5", folder);
    snprintf(from, sizeof from, "%s/b.h5", folder);
    assert_status_ok(file_make_folders(folder, &err), err);
    assert_status_ok(scene_write(path, &run->world.scene, 1, &err), err);
    MovieScene scene = scene_make(8, views, 24, 28, 0);
    scene_finish(&scene);
    size_t pixels = (size_t)(8 * views * 24 * 28);
    if (!depth) memset(scene.depth, 0, pixels * sizeof(float));
    DatasetWriter *writer;
    WriterOptions options = {.name = "scene", .licence = "CC0-1.0", .missing_depth = MISSING_SKY};
    assert_status_ok(dataset_writer_open(from, &options, &writer, &err), err);
    scene.info.split = split;
    scene.info.name = "another";
    assert_status_ok(scene_put(writer, &scene, &err), err);
    assert_status_ok(dataset_writer_finish(writer, &err), err);
    scene_free(&scene);
    snprintf(run->data, sizeof run->data, "%s", folder);
}

static void refused_before_the_first_step(Run *run, const char *more, const char *sentence) {
    char path[256];
    for (int dry_run = 0; dry_run < 2; dry_run++)
        assert_status_error(train(run, false, dry_run, more), STATUS_BAD_INPUT, run->err, sentence);
    snprintf(path, sizeof path, "%s/metrics.jsonl", run->out);
    assert_false(file_exists(path));
}

static void validation_that_must_fail_is_told_first(void **state) {
    (void)state;
    Run run;
    run_open(&run, WORLD_PLAIN, NULL);
    run.hooks = train_hooks(NULL);
    write_another(&run, SPLIT_VAL, 1, true);
    refused_before_the_first_step(&run, "data.input_views=[0,1]", "input view 1; expected different views from 0 to 0");
    write_another(&run, SPLIT_VAL, 3, false);
    refused_before_the_first_step(&run, NULL, "no valid depth in any input view");
    refused_before_the_first_step(&run, "data.input_views=[0,7]", "data.input_views names view 7; expected different");
    write_another(&run, SPLIT_VAL, 3, true);
    assert_status_ok(train(&run, false, true, "data.input_views=[0,1]"), run.err);
    run_close(&run);
}

// Particles are chosen a step ahead, but an episode without depth ends the run when its step is due.
static void bad_data_cost_no_step(void **state) {
    (void)state;
    enum { MOST = 12 };
    Run run;
    Visits visits = {.score = 1};
    char steps[32];
    int due = 1; // steps of the shortest run that has the bad episode
    run_open(&run, WORLD_PLAIN, &visits);
    write_another(&run, SPLIT_TRAIN, 3, false);
    for (;; due++) {
        assert_in_range(due, 1, MOST);
        snprintf(run.out, sizeof run.out, "%s/run%d", run.world.folder, due);
        snprintf(steps, sizeof steps, "train.steps=%d", due);
        if (train(&run, false, false, steps) != STATUS_OK) break;
    }
    assert_non_null(strstr(run.err.text, "mixed/b.h5"));
    assert_in_range(due, 2, MOST);
    assert_int_equal(newest(&run).step, due - 1);
    run_close(&run);
}

static void *no_memory(void *owner, size_t bytes) { return (void)owner, (void)bytes, NULL; }
static void little_room(void *owner, size_t *left, size_t *total) {
    (void)owner;
    *left = *total = 1 << 20;
}

// Before the first allocation: this device would fail at it.
static void what_cannot_fit_is_told_first(void **state) {
    (void)state;
    Run run;
    run_open(&run, WORLD_PLAIN, NULL);
    ArenaSource own = run.world.device->source;
    run.world.device->source = (ArenaSource){.allocate = no_memory, .room = little_room};
    refused_before_the_first_step(&run, "model.C=1024", "has 1 MiB left: optimiser ");
    run.world.device->source = own;
    run_close(&run);
}

// ---- stopped

static Status stop_in_check(void *owner, const Vpd *model, const TrainData *data, Error *err) {
    (void)owner, (void)model, (void)data;
    stop_request(SIGINT);
    return stop_error(err);
}

static Status stop_in_evaluation(void *owner, const Vpd *model, const TrainData *data, long step, RunLog *log,
                                 double *score, Error *err) {
    (void)step, (void)log, (void)score;
    return stop_in_check(owner, model, data, err);
}

static void a_stopped_run_says_what_is_saved(void **state) {
    (void)state;
    Visits visits = {.score = 1};
    Run run;
    char words[400];
    run_open(&run, WORLD_PLAIN, &visits);
    run.hooks.check = stop_in_check;
    assert_int_equal(train(&run, false, false, NULL), STATUS_INTERRUPTED);
    assert_string_equal(run.err.text, "stopped by SIGINT; nothing was saved yet");
    stop_clear();
    run.hooks.check = NULL, run.hooks.evaluate = stop_in_evaluation;
    assert_int_equal(train(&run, false, false, NULL), STATUS_INTERRUPTED);
    snprintf(words, sizeof words,
             "stopped by SIGINT after step %d, which is saved; go on with \"vpd train -o %s --resume\"", STEPS,
             run.out);
    assert_string_equal(run.err.text, words);
    stop_clear();
    run_close(&run);
}

// ---- one owner

static void a_folder_has_one_owner(void **state) {
    (void)state;
    char folder[64], path[96], pid[32];
    RunFolder first, second;
    Error err = {0};
    test_make_folder(folder);
    assert_status_ok(run_folder_open(&first, folder, NULL, &err), err);
    snprintf(pid, sizeof pid, "process %ld on host", (long)getpid());
    assert_status_error(run_folder_open(&second, folder, NULL, &err), STATUS_BAD_INPUT, err, pid);
    run_folder_close(&first);
    assert_status_ok(run_folder_open(&second, folder, NULL, &err), err);
    run_folder_close(&second);
    // The lock of a process that was killed is free.
    pid_t child = fork();
    if (child == 0) {
        if (run_folder_open(&first, folder, NULL, &err) != STATUS_OK) _exit(1);
        raise(SIGKILL);
    }
    int result;
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_true(WIFSIGNALED(result));
    assert_status_ok(run_folder_open(&first, folder, NULL, &err), err);
    run_folder_close(&first);
    // One of another host that the kernel no longer knows: taken, with a warning.
    char messages[512] = "";
    snprintf(path, sizeof path, "%s/lock", folder);
    assert_status_ok(file_write_bytes(path, "123 elsewhere\n", 14, &err), err);
    FILE *out = fmemopen(messages, sizeof messages, "w");
    assert_status_ok(run_folder_open(&first, folder, &(Log){.out = out, .quiet = true}, &err), err);
    fclose(out);
    assert_non_null(strstr(messages, "process 123 on host elsewhere"));
    run_folder_close(&first);
    test_remove_folder(folder);
}

static void two_runs_do_not_share_a_folder(void **state) {
    (void)state;
    Visits visits = {.score = 1};
    Run run;
    RunFolder owner;
    run_open(&run, WORLD_PLAIN, &visits);
    assert_status_ok(run_folder_open(&owner, run.out, NULL, &run.err), run.err);
    assert_status_error(train(&run, false, false, NULL), STATUS_BAD_INPUT, run.err, "is training in this folder");
    run_folder_close(&owner);
    assert_status_ok(train(&run, false, false, NULL), run.err);
    run_close(&run);
}

// ---- the same data

static void write_other(Run *run, const char *name, MovieScene *scene, int episodes) {
    Error err = {0};
    snprintf(run->data, sizeof run->data, "%s/%s.h5", run->world.folder, name);
    assert_status_ok(scene_write(run->data, scene, episodes, &err), err);
}

static void refused_to_resume(Run *run, const char *sentence) {
    assert_status_error(train(run, true, false, "train.steps=3"), STATUS_BAD_INPUT, run->err, sentence);
    assert_int_equal(newest(run).step, STEPS);
}

static void another_data_set_is_named(void **state) {
    (void)state;
    Visits visits = {.score = 1};
    Run run;
    run_open(&run, WORLD_PLAIN, &visits);
    assert_status_ok(train(&run, false, false, NULL), run.err);
    MovieScene *scene = &run.world.scene;
    const int F = scene->info.F;
    for (int f = 0; f < F; f++) scene->time[f] *= 2;
    write_other(&run, "slow", scene, 3);
    refused_to_resume(&run, "a frame every 0.1 s then, every 0.2 s now");
    for (int f = 0; f < F; f++) scene->time[f] /= 2;
    write_other(&run, "more", scene, 6);
    refused_to_resume(&run, "was trained on: 2 episodes then, 4 now; 16 frames then, 32 now; give the same data");
    scene->K[0] *= 1.01;
    write_other(&run, "cameras", scene, 3);
    refused_to_resume(&run, "was trained on: cameras; give the same data to go on, or start a new run from these "
                            "weights with \"vpd train --init");
    scene->K[0] /= 1.01;
    scene->bounds[0] -= 1;
    write_other(&run, "bounds", scene, 3);
    refused_to_resume(&run, "data other than images");
    scene->bounds[0] += 1;
    // Where the file lies makes no difference; a data set of its own, with --init, is the way to other data.
    write_other(&run, "moved", scene, 3);
    assert_status_ok(train(&run, true, false, "train.steps=3"), run.err);
    assert_int_equal(newest(&run).step, 3);
    char init[256];
    snprintf(init, sizeof init, "train.init=%s", run.out);
    snprintf(run.out, sizeof run.out, "%s/run2", run.world.folder);
    write_other(&run, "more", scene, 6);
    assert_status_ok(train(&run, false, false, init), run.err);
    assert_null(strstr(run.messages, "learned with a frame every"));
    snprintf(run.data, sizeof run.data, "%s/slow.h5", run.world.folder);
    snprintf(run.out, sizeof run.out, "%s/run3", run.world.folder);
    assert_status_ok(train(&run, false, true, init), run.err);
    assert_null(strstr(run.messages, "learned with a frame every")); // it allows for that
    run_close(&run);
}

static void times_in_milliseconds_are_named(void **state) {
    (void)state;
    Visits visits = {.score = 1};
    Run run;
    run_open(&run, WORLD_PLAIN, &visits);
    assert_status_ok(train(&run, false, true, NULL), run.err);
    assert_null(strstr(run.messages, "are their times in"));
    MovieScene *scene = &run.world.scene;
    for (int f = 0; f < scene->info.F; f++) scene->time[f] *= 1000;
    write_other(&run, "milliseconds", scene, 3);
    assert_status_ok(train(&run, false, true, "data.time_step=0"), run.err);
    assert_non_null(strstr(run.messages, "milliseconds.h5: frames are 100 s apart: are their times in milliseconds"));
    assert_status_error(train(&run, false, true, NULL), STATUS_BAD_INPUT, run.err,
                        "s/000000/time: frames are 100 s apart");
    assert_non_null(strstr(run.messages, "milliseconds.h5: frames are 100 s apart: are their times in milliseconds"));
    run_close(&run);
}

// Files of version 1.0 have no record: the data are the user's word.
static void an_older_checkpoint_goes_on(void **state) {
    (void)state;
    Visits visits = {.score = 1};
    Run run;
    char path[256];
    run_open(&run, WORLD_PLAIN, &visits);
    assert_status_ok(train(&run, false, false, NULL), run.err);
    snprintf(path, sizeof path, "%s/checkpoints/step_%08d.h5", run.out, STEPS);
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    assert_true(file >= 0 && H5Ldelete(file, "run", H5P_DEFAULT) >= 0 && H5Fclose(file) >= 0);
    assert_int_equal(newest(&run).data.episodes, 0);
    assert_status_ok(train(&run, true, false, "train.steps=3"), run.err);
    assert_non_null(strstr(run.messages, "does not name its training data"));
    assert_true(newest(&run).data.episodes == 2 && newest(&run).step == 3);
    run_close(&run);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_cut_evaluation_is_done_after_a_resume),
                                       cmocka_unit_test(the_best_is_marked_when_pictures_fail),
                                       cmocka_unit_test(validation_that_must_fail_is_told_first),
                                       cmocka_unit_test(bad_data_cost_no_step),
                                       cmocka_unit_test(what_cannot_fit_is_told_first),
                                       cmocka_unit_test(a_folder_has_one_owner),
                                       cmocka_unit_test(a_stopped_run_says_what_is_saved),
                                       cmocka_unit_test(two_runs_do_not_share_a_folder),
                                       cmocka_unit_test(another_data_set_is_named),
                                       cmocka_unit_test(times_in_milliseconds_are_named),
                                       cmocka_unit_test(an_older_checkpoint_goes_on)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
