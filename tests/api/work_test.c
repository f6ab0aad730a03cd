// SPDX-License-Identifier: Apache-2.0
// Import, check, train, evaluate and export through libvpd.so, and every way to ask for them wrongly.
#include "tests/api/world.h"

#include <limits.h>
#include <sys/stat.h>

static const char *const tiny[] = {"train.steps=3",
                                   "train.motion_steps=0",
                                   "encoder.N=200",
                                   "model.C=8",
                                   "model.D=6",
                                   "encoder.widths=4,6",
                                   "gnn.M=16",
                                   "gnn.L=1",
                                   "renderer.widths=8,8",
                                   "train.rollout=1",
                                   "train.rollout_from=0",
                                   "train.rays=8",
                                   "train.log_every=1",
                                   "train.eval_every=0",
                                   "train.picture_every=0"};
enum { TINY = sizeof tiny / sizeof *tiny };

static vpd_train_options tiny_run(const char *folder) {
    return (vpd_train_options){.struct_size = sizeof(vpd_train_options),
                               .set = tiny,
                               .set_count = TINY,
                               .data = world_place("data.h5"),
                               .out = folder,
                               .device = "cpu",
                               .threads = 1};
}

static bool is_there(const char *path) {
    struct stat info;
    return stat(path, &info) == 0;
}

// The report of a call that went well holds `words`.
#define GOOD(call, words)                                                                                              \
    do {                                                                                                               \
        vpd_error err = {0};                                                                                           \
        char *report = NULL;                                                                                           \
        assert_vpd_ok(call, err);                                                                                      \
        if (!report || !strstr(report, words)) fail_msg("%s: %s; expected %s", #call, report, words);                  \
        vpd_text_free(report);                                                                                         \
    } while (0)

// A wrong call leaves no report.
#define WRONG(call, words)                                                                                             \
    do {                                                                                                               \
        vpd_error err = {0};                                                                                           \
        char unset, *report = &unset;                                                                                  \
        assert_vpd_error(call, VPD_BAD_INPUT, err, words);                                                             \
        assert_null(report);                                                                                           \
    } while (0)

// ---- data

static void a_recording_becomes_data(void **state) {
    (void)state;
    vpd_import_options options = {
        .struct_size = sizeof options, .format = "hololens", .split = "test", .holdout = 3, .depth_unit = 0.001};
    char recording[128], out[128];
    snprintf(recording, sizeof recording, "%s", world_place("recording"));
    snprintf(out, sizeof out, "%s", world_place("imported.h5"));
    GOOD(vpd_data_import(recording, out, &options, &report, &err), "\"episodes\":1,\"frames\":1,\"images\":3");
    // Its tiny views share 95 points: too few to call right.
    GOOD(vpd_data_check(out, &report, &err), "\"verdict\":\"not checked\",\"pass\":null");
    GOOD(vpd_data_import(recording, world_place("guessed.h5"), NULL, &report, &err), "\"train\":1");
    WRONG(vpd_data_import(recording, out, &options, &report, &err), "imported.h5: this data set exists; remove it");
    assert_int_equal(remove(out), 0);
    options.skip_bad = 1; // all are good
    GOOD(vpd_data_import(recording, out, &options, &report, &err),
         "\"moments_left_out\":0,\"pictures_left_out\":0,\"skipped\":[]");
    assert_int_equal(vpd_data_check(out, NULL, NULL), VPD_OK); // neither is wanted
}

// Depth that is a tenth too far: the check says so and is no error.
static void wrong_data_are_a_finding(void **state) {
    (void)state;
    vpd_import_options options = {.struct_size = sizeof options, .depth_unit = 0.0011};
    char recording[128], out[128];
    snprintf(recording, sizeof recording, "%s", world_place("recording"));
    snprintf(out, sizeof out, "%s", world_place("farther.h5"));
    GOOD(vpd_data_import(recording, out, &options, &report, &err), "\"images\":3");
    GOOD(vpd_data_check(out, &report, &err), "\"pass\":false");
    GOOD(vpd_data_check(out, &report, &err), "\"wrong\":true");
}

static void imports_that_do_not_fit(void **state) {
    (void)state;
    const char *out = "/dev/null/at/all.h5";
    double box[6] = {0, 0, 0, 1, 1, -1}, numbers[4] = {0, 1, 1, 1};
    char recording[128];
    snprintf(recording, sizeof recording, "%s", world_place("recording"));
    WRONG(vpd_data_import(NULL, out, NULL, &report, &err), "path: expected an object");
    WRONG(vpd_data_import(recording, NULL, NULL, &report, &err), "out: expected an object");
    WRONG(vpd_data_import(recording, out, NULL, &report, &err), "/dev/null/at/all.h5");
    char lens[160];
    snprintf(lens, sizeof lens, "%s/K.txt", recording);
    WRONG(vpd_data_import(recording, lens, NULL, &report, &err), "K.txt: this file exists and is not a data set");
    WRONG(vpd_data_import(recording, world_place("data.png"), NULL, &report, &err),
          "data.png: expected a name that ends in .h5");
    WRONG(vpd_data_check(NULL, &report, &err), "dataset: expected an object");
    WRONG(vpd_data_check(world_place("none.h5"), &report, &err), "none.h5");
#define WRONG_IMPORT(words, ...)                                                                                       \
    do {                                                                                                               \
        vpd_import_options o = {.struct_size = sizeof o, __VA_ARGS__};                                                 \
        WRONG(vpd_data_import(recording, out, &o, &report, &err), words);                                              \
    } while (0)
    vpd_import_options small = {.struct_size = 8};
    WRONG(vpd_data_import(recording, out, &small, &report, &err), "sizeof(vpd_import_options)");
    WRONG_IMPORT("expected one of hololens", .format = "vhs");
    WRONG_IMPORT("height and width: expected both or neither, found 0 and 5", .width = 5);
    WRONG_IMPORT("height: expected 0 for the default, or 1 to 16384, found -1", .height = -1, .width = 5);
    WRONG_IMPORT("every: expected 0 for the default", .every = -1);
    WRONG_IMPORT("holdout: expected 0 for the default, or 2", .holdout = 1);
    WRONG_IMPORT("holdout: expected", .holdout = INT_MIN);
    WRONG_IMPORT("holdout_first: expected a number below holdout (0), found 1", .holdout_first = 1);
    WRONG_IMPORT("holdout_first: expected a number below holdout (4), found -1", .holdout = 4, .holdout_first = -1);
    WRONG_IMPORT("window: expected", .window = -3);
    WRONG_IMPORT("level: expected 0 for the default, or 1 to 9, found 10", .level = 10);
    WRONG_IMPORT("near: expected", .near = -1);
    WRONG_IMPORT("far: expected", .far = NAN);
    WRONG_IMPORT("near: expected less than far, found 5 and 1", .near = 5, .far = 1);
    WRONG_IMPORT("fps: expected", .fps = -1);
    WRONG_IMPORT("gap: expected", .gap = INFINITY);
    WRONG_IMPORT("depth_unit: expected", .depth_unit = 2);
    WRONG_IMPORT("time_unit: expected", .time_unit = 60);
    WRONG_IMPORT("bounds: expected a finite lower corner below the upper one, found 0 to -1 on axis 2", .bounds = box);
    WRONG_IMPORT("found 3 numbers", .intrinsics = numbers, .intrinsics_count = 3);
    WRONG_IMPORT("fx and fy above 0", .intrinsics = numbers, .intrinsics_count = 4);
    WRONG_IMPORT("intrinsics: expected", .intrinsics_count = 4);
    WRONG_IMPORT("split: expected train, val or test, found \"some\"", .split = "some");
    WRONG_IMPORT("as: expected still or video, found \"film\"", .as = "film");
}

// ---- training

typedef struct Heard {
    int lines, stop_after;
    char last[4096];
} Heard;

static int hear(void *context, const char *json) {
    Heard *heard = context;
    snprintf(heard->last, sizeof heard->last, "%s", json);
    return ++heard->lines == heard->stop_after;
}

static void a_run_is_stopped_and_resumed(void **state) {
    (void)state;
    char folder[128];
    Heard heard = {.stop_after = 2};
    snprintf(folder, sizeof folder, "%s", world_place("stopped"));
    vpd_train_options options = tiny_run(folder);
    options.line = hear, options.context = &heard;
    GOOD(vpd_train(&options, &report, &err), "\"step\":2");
    assert_int_equal(heard.lines, 2);
    assert_non_null(strstr(heard.last, "\"step\":2,\"kind\":\"train\",\"loss\":"));
    assert_true(is_there(world_place("stopped/checkpoints/step_00000002.h5")));
    WRONG(vpd_train(&options, &report, &err), "this folder holds a run already");
    options.resume = 1;
    heard.stop_after = 0;
    GOOD(vpd_train(&options, &report, &err), "\"step\":3");
    GOOD(vpd_train(&options, &report, &err), "\"stopped\":false");
    assert_true(is_there(world_place("stopped/checkpoints/step_00000003.h5")));
    options.dry_run = 1, options.resume = 0;
    WRONG(vpd_train(&options, &report, &err), "this folder holds a run already");
    snprintf(folder, sizeof folder, "%s", world_place("planned"));
    GOOD(vpd_train(&options, &report, &err), "\"dry_run\":true");
}

static int stop_all(void *context, const char *json) {
    (void)context, (void)json;
    vpd_stop();
    return 0;
}

// As a signal does it.
static void vpd_stop_saves_a_checkpoint(void **state) {
    (void)state;
    char folder[128];
    vpd_error err = {0};
    char *report = NULL;
    snprintf(folder, sizeof folder, "%s", world_place("asked"));
    vpd_train_options options = tiny_run(folder);
    options.line = stop_all;
    assert_vpd_error(vpd_train(&options, &report, &err), VPD_STOPPED, err, "stopped on request");
    assert_null(report);
    assert_true(is_there(world_place("asked/checkpoints/step_00000001.h5")));
    vpd_model *model = world_open_model("asked", 1);
    vpd_model_close(model);
}

static void runs_that_do_not_fit(void **state) {
    (void)state;
    vpd_train_options options = tiny_run("/dev/null/at/all"), good = options;
    const char *const wrong[] = {"train.stepps=3"}, *const none[] = {NULL};
    WRONG(vpd_train(NULL, &report, &err), "vpd_train_options: expected an object");
    options.struct_size = 4;
    WRONG(vpd_train(&options, &report, &err), "sizeof(vpd_train_options)");
    options = good, options.set = NULL;
    WRONG(vpd_train(&options, &report, &err), "set: expected an object or array, found NULL");
    options.set = wrong, options.set_count = 1;
    WRONG(vpd_train(&options, &report, &err), "train.steps");
    options.set = none;
    WRONG(vpd_train(&options, &report, &err), "set: expected an object or array, found NULL");
    options = good, options.threads = -1;
    WRONG(vpd_train(&options, &report, &err), "threads: expected 0 to 1024, found -1");
    options = good, options.config = world_place("none.yaml");
    WRONG(vpd_train(&options, &report, &err), "none.yaml");
    options = good, options.data = world_place("none.h5"), options.out = world_place("unused");
    WRONG(vpd_train(&options, &report, &err), "none.h5");
    options = good, options.device = "tpu";
    WRONG(vpd_train(&options, &report, &err), "tpu: expected auto, cpu");
    options = good, options.out = NULL;
    WRONG(vpd_train(&options, &report, &err), "train.out");
}

// ---- evaluation

static void a_model_is_evaluated(void **state) {
    (void)state;
    vpd_model *model = world_open_model("model.h5", 1);
    const char *const episodes[] = {"000002"};
    const int starts[] = {2}, views[] = {0, 1};
    vpd_evaluate_options options = {.struct_size = sizeof options, .split = "test", .steps = 2};
    char data[128], pictures[128];
    snprintf(data, sizeof data, "%s", world_place("data.h5"));
    snprintf(pictures, sizeof pictures, "%s", world_place("pictures"));
    GOOD(vpd_model_evaluate(model, data, NULL, &report, &err), "\"split\":\"val,test\"");
    GOOD(vpd_model_evaluate(model, data, &options, &report, &err), "\"psnr_db\"");
    options.episodes = episodes, options.episode_count = 1;
    options.starts = starts, options.start_count = 1;
    options.input_views = views, options.input_view_count = 2;
    options.pictures = pictures;
    GOOD(vpd_model_evaluate(model, data, &options, &report, &err), "\"steps\":2");
    assert_true(is_there(world_place("pictures/000002_start_2.png")));
    options = (vpd_evaluate_options){.struct_size = sizeof options, .steps = -1, .seen = 1};
    GOOD(vpd_model_evaluate(model, data, &options, &report, &err), "\"steps\":0");
    options = (vpd_evaluate_options){.struct_size = sizeof options, .motion = 1};
    GOOD(vpd_model_evaluate(model, data, &options, &report, &err), "\"pictures\":[]");
    assert_int_equal(vpd_model_evaluate(model, data, &options, NULL, NULL), VPD_OK);
    GOOD(vpd_model_evaluate(model, data, &options, &report, &err), "\"analytic\":null");
    options.analytic = "{gravity: [0, 0, -1]}";
    GOOD(vpd_model_evaluate(model, data, &options, &report, &err), "\"analytic\":\"{gravity: [0, 0, -1]}\"");
    vpd_model_close(model);
}

static void evaluations_that_do_not_fit(void **state) {
    (void)state;
    vpd_model *model = world_open_model("model.h5", 1);
    const char *const zebra[] = {"zebra"};
    const int wrong[] = {-3};
    char data[128];
    snprintf(data, sizeof data, "%s", world_place("data.h5"));
#define WRONG_EVALUATION(words, ...)                                                                                   \
    do {                                                                                                               \
        vpd_evaluate_options o = {.struct_size = sizeof o, __VA_ARGS__};                                               \
        WRONG(vpd_model_evaluate(model, data, &o, &report, &err), words);                                              \
    } while (0)
    WRONG(vpd_model_evaluate(NULL, data, NULL, &report, &err), "model: expected");
    WRONG(vpd_model_evaluate(model, NULL, NULL, &report, &err), "dataset: expected");
    WRONG(vpd_model_evaluate(model, world_place("none.h5"), NULL, &report, &err), "none.h5");
    vpd_evaluate_options small = {.struct_size = 1};
    WRONG(vpd_model_evaluate(model, data, &small, &report, &err), "sizeof(vpd_evaluate_options)");
    WRONG_EVALUATION("split: expected train, val or test", .split = "evening");
    WRONG_EVALUATION("no episode zebra", .episodes = zebra, .episode_count = 1);
    WRONG_EVALUATION("episodes: expected an object or array, found NULL", .episode_count = 1);
    WRONG_EVALUATION("starts: expected 0 to", .starts = wrong, .start_count = 1);
    WRONG_EVALUATION("starts: expected at most 16, found 17", .starts = wrong, .start_count = 17);
    WRONG_EVALUATION("input_views: expected 0 to 65535, found -3", .input_views = wrong, .input_view_count = 1);
    WRONG_EVALUATION("steps: expected 1 to 100000", .steps = -2);
    WRONG_EVALUATION("motion alone draws nothing", .motion = 1, .seen = 1);
    WRONG_EVALUATION("analytic:1: unknown key or selection \"mu\"", .analytic = "{mu: 0.3}");
    vpd_model_close(model);
}

// ---- files for other programs

static void rollouts_are_exported(void **state) {
    (void)state;
    static const char *const names[] = {"out_ply", "out.npz", "out.glb", "out.usda"};
    static const char *const others[] = {"again_ply", "again.npz", "again.glb", "again.usda"};
    vpd_model *model = world_open_model("model.h5", 1);
    vpd_scene *scene = world_episode(model);
    vpd_error err = {0};
    char rollout[128], again[160];
    snprintf(rollout, sizeof rollout, "%s", world_place("expected.h5"));
    for (int format = VPD_EXPORT_PLY; format <= VPD_EXPORT_USDA; format++) {
        assert_vpd_ok(vpd_scene_export(scene, (vpd_export_format)format, world_place(names[format]), &err), err);
        assert_true(is_there(world_place(names[format])));
        snprintf(again, sizeof again, "%s", world_place(others[format]));
        assert_vpd_ok(vpd_rollout_export(rollout, (vpd_export_format)format, again, &err), err);
        assert_true(is_there(again));
    }
    assert_true(is_there(world_place("out_ply/step_0000.ply")));
    assert_vpd_error(vpd_scene_export(NULL, VPD_EXPORT_NPZ, "x", &err), VPD_BAD_INPUT, err, "scene: expected");
    assert_vpd_error(vpd_scene_export(scene, (vpd_export_format)4, "x", &err), VPD_BAD_INPUT, err, "0 to 3, found 4");
    assert_vpd_error(vpd_scene_export(scene, VPD_EXPORT_NPZ, NULL, &err), VPD_BAD_INPUT, err, "path: expected");
    assert_vpd_error(vpd_rollout_export(NULL, VPD_EXPORT_NPZ, "x", &err), VPD_BAD_INPUT, err, "rollout: expected");
    assert_vpd_error(vpd_rollout_export(rollout, (vpd_export_format)-1, "x", &err), VPD_BAD_INPUT, err, "found -1");
    assert_vpd_error(vpd_rollout_export(rollout, VPD_EXPORT_NPZ, NULL, &err), VPD_BAD_INPUT, err, "path: expected");
    assert_vpd_error(vpd_rollout_export(world_place("data.h5"), VPD_EXPORT_NPZ, world_place("x.npz"), &err),
                     VPD_BAD_INPUT, err, "vpd-rollout");
    assert_vpd_error(vpd_scene_export(scene, VPD_EXPORT_NPZ, world_place("out.txt"), &err), VPD_BAD_INPUT, err,
                     "out.txt: expected a name that ends in .npz");
    assert_vpd_error(vpd_scene_write(scene, world_place("out.npy"), &err), VPD_BAD_INPUT, err,
                     "out.npy: expected a name that ends in .h5");
    assert_vpd_error(vpd_scene_export(scene, VPD_EXPORT_NPZ, world_place("data.h5"), &err), VPD_BAD_INPUT, err,
                     "is not a ZIP archive (.npz, .zip)");
    assert_vpd_error(vpd_scene_write(scene, world_place("data.h5"), &err), VPD_BAD_INPUT, err, "is not a rollout");
    assert_vpd_ok(vpd_scene_export(scene, VPD_EXPORT_NPZ, world_place("out.npz"), &err), err); // its own kind
    vpd_text_free(NULL);
    vpd_scene_free(scene);
    vpd_model_close(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_recording_becomes_data),    cmocka_unit_test(wrong_data_are_a_finding),
        cmocka_unit_test(imports_that_do_not_fit),     cmocka_unit_test(a_run_is_stopped_and_resumed),
        cmocka_unit_test(vpd_stop_saves_a_checkpoint), cmocka_unit_test(runs_that_do_not_fit),
        cmocka_unit_test(a_model_is_evaluated),        cmocka_unit_test(evaluations_that_do_not_fit),
        cmocka_unit_test(rollouts_are_exported),
    };
    return cmocka_run_group_tests(tests, world_make, world_remove);
}
