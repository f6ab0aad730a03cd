// SPDX-License-Identifier: Apache-2.0
// What selections take and edits do, on a scene whose answers are known; edit_bodies_test.c has what they do to bodies.
#include "tests/edit_scene.h"

#include <math.h>

// Removed, whatever selects it, and nothing else is.
static void test_remove(void **state) {
    static const char *const ways[] = {
        "remove: {label: red}",
        "remove: {label: 1}",
        "remove: {box: {min: [-0.6, -0.1, 0.1], max: [-0.2, 0.3, 0.5]}}",
        "remove: {sphere: {centre: [-0.43, 0.08, 0.28], radius: 0.2}}",
        "remove: {plane: {point: [0, 0, 0.1], normal: [0, 0, 1]}, colour: {rgb: [210, 20, 10]}}",
        "remove: {colour: {rgb: [210, 20, 10], within: 20}}",
        "remove: {height: {above: 0.1}, plane: {point: [0, 0, 0], normal: [-1, 0, 0]}}",
        "remove: {moving: true, not: {label: blue}}",
        "remove: {and: [{moving: true}, {not: {or: [{label: 2}, {label: background}]}}]}",
        "remove: {cluster: {near: [-0.4, 0, 0.3]}}",
        "remove: {cluster: {id: 1}}",
        "remove: {cluster: {id: 1, floor: 0.1, link: 0.06}}",
    };
    (void)state;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        RolloutFile file = edit_scene();
        RUN(&file, ways[i]);
        assert_int_equal(file.sets[0].N, ALL - BLOCK);
        assert_int_equal(edit_scene_coloured(&file.sets[0], 0), 0);
        assert_int_equal(edit_scene_coloured(&file.sets[0], 2), BLOCK);
        rollout_file_free(&file);
    }
}

static void test_keep_and_floor(void **state) {
    (void)state;
    RolloutFile file = edit_scene();
    RUN(&file, "remove: {floor: true}");
    assert_int_equal(file.sets[0].N, 2 * BLOCK);
    RUN(&file, "keep: {label: [red]}");
    assert_int_equal(file.sets[0].N, BLOCK);
    rollout_file_free(&file);
}

// The pixel where a block's middle is drawn takes the block.
static void test_pixel(void **state) {
    static const char *const takes[] = {"", ", take: label", ", take: cluster"};
    double inverse[16], p[3] = {0.475, 0.075, 0.275}, xy[2];
    char edit[128];
    (void)state;
    for (int t = 0; t < 4; t++) {
        RolloutFile file = edit_scene();
        pose_inverse(file.world_from_camera, inverse);
        memcpy(p, (double[]){0.475, 0.075, 0.275}, sizeof p);
        pose_apply(inverse, p, p);
        assert_true(camera_project(file.intrinsics, p, xy) > 0);
        snprintf(edit, sizeof edit, "keep: {pixel: {view: 0, at: [%.2f, %.2f]%s}}", xy[0], xy[1],
                 t < 3 ? takes[t] : ", take: particle");
        RUN(&file, edit);
        assert_int_equal(file.sets[0].N, t < 3 ? BLOCK : 1);
        assert_int_equal(edit_scene_coloured(&file.sets[0], 2), file.sets[0].N);
        rollout_file_free(&file);
    }
}

static void test_copy(void **state) {
    (void)state;
    RolloutFile file = edit_scene();
    RUN(&file, "copy: {label: red, by: [0, 0, 1], count: 2}");
    assert_int_equal(file.sets[0].N, ALL + 2 * BLOCK);
    assert_int_equal(edit_scene_coloured(&file.sets[0], 0), 3 * BLOCK);
    for (int l = 1; l <= 4; l++) assert_int_equal(edit_scene_labelled(&file.sets[0], l), BLOCK);
    const float *first = file.sets[0].positions + 3 * FLOOR, *second = file.sets[0].positions + 3 * (ALL + BLOCK);
    assert_close(second[2] - first[2], 2, 1e-6, 0);
    assert_memory_equal(file.sets[0].features + FEATURES * ALL, file.sets[0].features + FEATURES * FLOOR, 4 * FEATURES);
    assert_string_equal(file.label_names, "background\nred\nblue\nred copy\nred copy 2\n");
    RUN(&file, "copy: {label: [1, 2], by: [0, 0, 3], as: pair}", "remove: {label: red copy}", "remove: {label: pair}");
    assert_int_equal(file.sets[0].N, ALL + BLOCK);
    rollout_file_free(&file);
}

// Features and colours of the other, place by place.
static void test_recolour(void **state) {
    (void)state;
    RolloutFile file = edit_scene();
    RUN(&file, "recolour: {label: red, like: {label: blue}}");
    const float *features = file.sets[0].features;
    assert_int_equal(edit_scene_coloured(&file.sets[0], 2), 2 * BLOCK);
    assert_memory_equal(features + FEATURES * FLOOR, features + FEATURES * (FLOOR + BLOCK), BLOCK * FEATURES * 4);
    assert_int_equal(edit_scene_labelled(&file.sets[0], 1), BLOCK);
    rollout_file_free(&file);
}

// A name means every label that has it.
static void test_equal_names(void **state) {
    (void)state;
    RolloutFile file = edit_scene();
    RUN(&file, "copy: {label: red, by: [0, 0, 1]}", "copy: {label: red, by: [0, 0, 2]}");
    assert_string_equal(file.label_names, "background\nred\nblue\nred copy\nred copy\n");
    RUN(&file, "move: {label: red copy, by: [0, 1, 0]}", "remove: {label: 3}");
    assert_int_equal(file.sets[0].N, ALL + BLOCK);
    RUN(&file, "remove: {label: red copy}");
    assert_int_equal(file.sets[0].N, ALL);
    RUN(&file, "copy: {label: blue, by: [0, 0, 1], as: red}", "remove: {label: red}");
    assert_int_equal(file.sets[0].N, ALL - BLOCK);
    assert_int_equal(edit_scene_labelled(&file.sets[0], 2), BLOCK);
    rollout_file_free(&file);
}

static void test_labels(void **state) {
    (void)state;
    RolloutFile file = edit_scene();
    RUN(&file, "label: {box: {min: [-2, -2, -1], max: [2, 0.04, 0.1]}, as: near floor}");
    assert_int_equal(edit_scene_labelled(&file.sets[0], 3), 220);
    assert_string_equal(file.label_names, "background\nred\nblue\nnear floor\n");
    RUN(&file, "label: {label: 3, as: red}");
    assert_int_equal(edit_scene_labelled(&file.sets[0], 1), 220 + BLOCK);
    RUN(&file, "label: {label: 2, as: box, id: 9}");
    assert_int_equal(edit_scene_labelled(&file.sets[0], 9), BLOCK);
    RUN(&file, "cluster: {}");
    assert_int_equal(edit_scene_labelled(&file.sets[0], 0), FLOOR);
    assert_int_equal(edit_scene_labelled(&file.sets[0], 1), BLOCK);
    assert_int_equal(edit_scene_labelled(&file.sets[0], 2), BLOCK);
    assert_string_equal(file.label_names, "background\ncluster 1\ncluster 2\n");
    rollout_file_free(&file);

    file = edit_scene(); // a file without labels gets them
    edit_scene_drop_labels(&file);
    RUN(&file, "cluster: {floor: 0.1, least: 10}", "remove: {label: cluster 2}");
    assert_int_equal(file.sets[0].N, ALL - BLOCK);
    rollout_file_free(&file);
}

static void test_compose(void **state) {
    char folder[64], path[96], edit[256];
    Error err;
    (void)state;
    RolloutFile file = edit_scene();
    test_make_folder(folder);
    snprintf(path, sizeof path, "%s/other.h5", folder);
    edit_scene_steps(&file);
    assert_status_ok(rollout_file_write(&file, path, &err), err);
    rollout_file_free(&file);
    file = edit_scene();
    snprintf(edit, sizeof edit, "compose: {file: %s, label: red, by: [0, 1, 0], step: 2}", path);
    RUN(&file, edit);
    assert_int_equal(file.sets[0].N, ALL + BLOCK);
    assert_int_equal(edit_scene_labelled(&file.sets[0], 3), BLOCK);
    assert_close(file.sets[0].positions[3 * ALL] - file.sets[0].positions[3 * FLOOR], 0.2, 1e-5, 0);
    assert_string_equal(file.label_names, "background\nred\nblue\nred\n");
    snprintf(edit, sizeof edit, "compose: {file: %s, label: [red, blue], as: crates}", path);
    RUN(&file, edit);
    assert_int_equal(edit_scene_labelled(&file.sets[0], 4), 2 * BLOCK);
    assert_string_equal(file.label_names, "background\nred\nblue\nred\ncrates\n");
    EditReport report;
    file.time_step *= 1.005; // a clock that is not exact
    RUN(&file, edit);
    file.time_step *= 1.02;
    assert_status_error(edit_scene_apply(&file, EDITS(edit), 0, &report, &err), STATUS_BAD_INPUT, err,
                        "expected a time step of ");
    file.sets[0].D = 4; // as if another model had made it
    file.sets[0].features = realloc(file.sets[0].features, file.sets[0].N * 16);
    memset(file.sets[0].features, 0, file.sets[0].N * 16);
    assert_status_error(edit_scene_apply(&file, EDITS(edit), 0, &report, &err), STATUS_BAD_INPUT, err,
                        "expected 1 input sets of 4 features as in the edited file, found 1 of 3");
    rollout_file_free(&file);
    test_remove_folder(folder);
}

// A later step becomes the present.
static void test_step(void **state) {
    Error err;
    EditReport report;
    (void)state;
    RolloutFile file = edit_scene();
    edit_scene_steps(&file);
    assert_status_ok(edit_scene_apply(&file, EDITS("remove: {label: blue}"), 2, &report, &err), err);
    assert_true(report.before == ALL && report.after == ALL - BLOCK && report.applied == 1);
    assert_true(file.steps == 0 && !file.positions && file.first_frame == 2);
    assert_close(file.time[0], 0.1, 1e-12, 0);
    rollout_file_free(&file);
    file = edit_scene();
    assert_status_error(edit_scene_apply(&file, EDITS("remove: {label: blue}"), 1, &report, &err), STATUS_BAD_INPUT,
                        err, "expected a step of the rollout, 0 to 0, found 1");
    rollout_file_free(&file);
}

static void test_wrong(void **state) {
    static const struct {
        const char *edit, *words;
    } cases[] = {
        {"remove: {sphere: {centre: [9, 9, 9], radius: 0.1}}",
         "--do:1: remove: the selection takes none of the 528 particles"},
        {"remove: {label: 5}", "there is no label \"5\"; the particles have 0 (background), 1 (red), 2 (blue)"},
        {"remove: {label: rde}", "there is no label \"rde\"; the particles have 0"},
        {"remove: {all: true}", "no particle would be left"},
        {"recolour: {label: 1, like: {height: {above: 5}}}", "like: the selection takes none"},
        {"remove: {cluster: {id: 7}}", "expected one of the 2 clusters, counted from 1, found 7"},
        {"remove: {cluster: {id: 1, link: 1e-8}}", "too short for a scene of this size"},
        {"remove: {pixel: {view: 4, at: [1, 1]}}", "expected one of the 1 views, counted from 0, found view 4"},
        {"remove: {pixel: {view: 0, at: [65, 1]}}", "expected a point within a picture of 64 x 48"},
        {"throw: {label: 1, velocity: [0, 0, 1], gravity: [0, 0, -9]}", "gravity is allowed only with `replace: true`"},
        {"compose: {file: /nowhere/a.h5}", "/nowhere/a.h5: cannot open"},
        {"cluster: {least: 1000}", "no cluster of 1000 particles or more was found"},
    };
    Error err;
    EditReport report;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        RolloutFile file = edit_scene();
        assert_status_error(edit_scene_apply(&file, EDITS(cases[i].edit), 0, &report, &err), STATUS_BAD_INPUT, err,
                            cases[i].words);
        rollout_file_free(&file);
    }
    RolloutFile file = edit_scene(); // said before any memory is taken: 2^28 rows would be too many
    assert_status_ok(
        edit_scene_apply(&file, EDITS("copy: {all: true, by: [0, 0, 1], as: a, count: 510}"), 0, &report, &err), err);
    assert_int_equal(file.sets[0].N, 511 * ALL);
    assert_status_error(
        edit_scene_apply(&file, EDITS("copy: {all: true, by: [0, 0, 1], as: b, count: 1000}"), 0, &report, &err),
        STATUS_BAD_INPUT, err, "expected at most 268435456 in all");
    rollout_file_free(&file);
}

// `if_empty: skip` leaves an edit out and says so in the history.
static void test_skip(void **state) {
    Error err;
    EditReport report;
    (void)state;
    RolloutFile file = edit_scene();
    assert_status_ok(edit_scene_apply(&file,
                                      EDITS("remove: {label: 5, if_empty: skip}", "move: {label: 1, by: [0, 0, 1]}",
                                            "remove: {height: {above: 9}, if_empty: skip}"),
                                      0, &report, &err),
                     err);
    assert_true(report.applied == 1 && report.skipped == 2 && report.after == ALL);
    assert_string_equal(file.edit_history,
                        "# left out, it selected nothing: remove: {label: 5, if_empty: skip}\n"
                        "- move: {label: 1, by: [0, 0, 1]}\n"
                        "# left out, it selected nothing: remove: {height: {above: 9}, if_empty: skip}\n");
    rollout_file_free(&file);
}

// The history of a result, applied to the same file, gives the same result, bit for bit.
static void test_replay(void **state) {
    Error err;
    EditReport report;
    char *script = NULL;
    Device *device = NULL;
    (void)state;
    RolloutFile first = edit_scene(), second = edit_scene();
    RUN(&first, "remove: {floor: {seed: 3}}", "copy: {label: [red, blue], by: [0, 0, 0.5], as: \"a: b\"}",
        "throw: {label: \"a: b\", velocity: [1, 0, 0]}", "cluster: {floor: none}",
        "rotate: {cluster: {id: 1, floor: none}, axis: [1, 0, 0], angle: 3e1}");
    assert_status_ok(edit_history_script(&first, &script, &err), err);
    EditList *list = edit_list_create();
    assert_status_ok(edit_list_parse(list, script, strlen(script), "history", ".", &err), err);
    assert_int_equal(edit_list_count(list), 5);
    assert_status_ok(device_open("cpu", 1, &device, &err), err);
    assert_status_ok(edit_apply(list, device, NULL, 0, &second, &report, &err), err);
    const RolloutSet *a = &first.sets[0], *b = &second.sets[0];
    assert_int_equal(a->N, b->N);
    assert_memory_equal(a->positions, b->positions, a->N * 12);
    assert_memory_equal(a->before, b->before, a->N * 12);
    assert_memory_equal(a->labels, b->labels, a->N * 2);
    assert_memory_equal(a->body, b->body, a->N * 4);
    assert_string_equal(first.edit_history, second.edit_history);
    free(script);
    edit_list_free(list);
    device_close(device);
    rollout_file_free(&first);
    rollout_file_free(&second);
}

// A history in which every edit was left out is an empty list, also with a dash in a name.
static void test_replay_of_nothing(void **state) {
    Error err;
    char *script = NULL;
    (void)state;
    RolloutFile file = edit_scene();
    RUN(&file, "remove: {label: nowhere - left, if_empty: skip}");
    assert_status_ok(edit_history_script(&file, &script, &err), err);
    EditList *list = edit_list_create();
    assert_status_ok(edit_list_parse(list, script, strlen(script), "history", ".", &err), err);
    assert_int_equal(edit_list_count(list), 0);
    free(script);
    edit_list_free(list);
    rollout_file_free(&file);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_remove),
        cmocka_unit_test(test_keep_and_floor),
        cmocka_unit_test(test_pixel),
        cmocka_unit_test(test_copy),
        cmocka_unit_test(test_recolour),
        cmocka_unit_test(test_equal_names),
        cmocka_unit_test(test_labels),
        cmocka_unit_test(test_compose),
        cmocka_unit_test(test_step),
        cmocka_unit_test(test_wrong),
        cmocka_unit_test(test_skip),
        cmocka_unit_test(test_replay),
        cmocka_unit_test(test_replay_of_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
