// SPDX-License-Identifier: Apache-2.0
// Bodies that are driven: what the edit notes, and what other edits do to it.
#include "tests/edit_scene.h"

#include <math.h>
#include <sys/stat.h>

static void assert_goes(const RolloutFile *file, int32_t body, int32_t steps, const double x[3], const double to[3]) {
    double found[3];
    follow(file, body, steps, x, found);
    for (int c = 0; c < 3; c++) assert_close(found[c], to[c], 1e-9, 0);
}

#define STRAIGHT "drive: {label: red, velocity: [2, 0, -1], steps: 3}" // .1 and -.05 m a step
#define TURNED                                                                                                         \
    "drive: {label: red, path: [[1, 0, 0, 1, 0, 0, 0], [1, 0, 0.5, 0.70710678, 0, 0, 0.70710678]]}" // about (1,0,0)

static void test_velocity_and_path(void **state) {
    (void)state;
    RolloutFile file = edit_scene();
    RUN(&file, STRAIGHT);
    assert_int_equal(file.drives.count, 3);
    assert_goes(&file, RED, 3, (double[]){0, 1, 2}, (double[]){0.3, 1, 1.85});
    RUN(&file, TURNED); // in its place
    assert_int_equal(file.drives.count, 1);
    assert_goes(&file, RED, 1, (double[]){2, 0, 0}, (double[]){1, 1, 0.5});
    RUN(&file, "drive: {label: [red, blue], path: [[5, 5, 5], [5, 5, 6], [5, 7, 6]]}"); // one motion for all of them
    assert_goes(&file, RED, 2, (double[]){0, 0, 0}, (double[]){0, 2, 1});
    assert_goes(&file, BLUE, 2, (double[]){0, 0, 0}, (double[]){0, 2, 1});
    rollout_file_free(&file);
}

// A part of a body, and what stood still, become bodies first.
static void test_parts(void **state) {
    (void)state;
    RolloutFile file = edit_scene();
    RUN(&file, "drive: {label: red, height: {above: 0.28}, velocity: [0, 0, 1], steps: 2}");
    assert_int_equal(file.sets[0].body[FLOOR], RED);
    assert_int_equal(file.sets[0].body[FLOOR + BLOCK - 1], BLUE + 1);
    assert_true(steps_of(&file, RED) == 0 && steps_of(&file, BLUE + 1) == 2);
    RUN(&file, "drive: {box: {min: [-1, -1, -1], max: [-0.85, -0.85, 1]}, velocity: [0, 0, 1], steps: 1}");
    assert_int_equal(file.sets[0].body[0], BLUE + 2);
    assert_int_equal(steps_of(&file, BLUE + 2), 1);
    rollout_file_free(&file);
}

// A part that goes its own way is driven like the rest, from where it is put.
static void test_moved_parts(void **state) {
    (void)state;
    RolloutFile file = edit_scene();
    RUN(&file, STRAIGHT, "move: {label: red, height: {above: 0.28}, by: [0, 1, 0]}",
        "rotate: {label: blue, height: {above: 0.28}, axis: [0, 0, 1], angle: 90}");
    assert_int_equal(file.sets[0].body[FLOOR + BLOCK - 1], BLUE + 1);
    assert_goes(&file, RED, 3, (double[]){0, 1, 2}, (double[]){0.3, 1, 1.85});
    assert_goes(&file, BLUE + 1, 3, (double[]){0, 2, 2}, (double[]){0.3, 2, 1.85});
    assert_int_equal(file.drives.count, 6);
    rollout_file_free(&file);
}

// What is moved, turned or grown is driven from where it is then: a motion about a point goes with it.
static void test_places(void **state) {
    (void)state;
    RolloutFile file = edit_scene();
    RUN(&file, TURNED, "move: {label: red, by: [0, 3, 0]}");
    assert_goes(&file, RED, 1, (double[]){2, 3, 0}, (double[]){1, 4, 0.5});
    RUN(&file, "rotate: {label: red, axis: [0, 0, 1], angle: 90, about: [0, 3, 0]}"); // the point is (0, 4, 0) now
    assert_goes(&file, RED, 1, (double[]){0, 5, 0}, (double[]){-1, 4, 0.5});
    RUN(&file, "scale: {label: red, factor: 2, about: [0, 4, 0]}");
    assert_goes(&file, RED, 1, (double[]){0, 6, 0}, (double[]){-2, 4, 1});
    RUN(&file, "move: {label: blue, by: [0, 0, 1]}");
    assert_goes(&file, RED, 1, (double[]){0, 6, 0}, (double[]){-2, 4, 1});
    rollout_file_free(&file);
}

static void test_copies(void **state) {
    (void)state;
    RolloutFile file = edit_scene();
    RUN(&file, TURNED, "copy: {label: [red, blue], by: [0, 3, 0], count: 2}"); // bodies 6, 7, then 8, 9
    assert_int_equal(file.drives.count, 3);
    assert_goes(&file, RED, 1, (double[]){2, 0, 0}, (double[]){1, 1, 0.5});
    assert_goes(&file, 6, 1, (double[]){2, 3, 0}, (double[]){1, 4, 0.5});
    assert_goes(&file, 8, 1, (double[]){2, 6, 0}, (double[]){1, 7, 0.5});
    rollout_file_free(&file);
}

// What is thrown is free, and what is gone is forgotten: its number may be given again.
static void test_ends(void **state) {
    (void)state;
    RolloutFile file = edit_scene();
    RUN(&file, "drive: {label: [red, blue], velocity: [1, 0, 0], steps: 4}",
        "throw: {label: red, velocity: [0, 0, 1]}");
    assert_true(steps_of(&file, RED) == 0 && steps_of(&file, BLUE) == 4);
    RUN(&file, "remove: {label: blue}");
    assert_int_equal(file.drives.count, 0);
    RUN(&file, STRAIGHT, "throw: {label: red, velocity: [0, 0, 0]}"); // keeps its velocity
    assert_int_equal(file.drives.count, 0);
    rollout_file_free(&file);
}

// A file that another program wrote may drive bodies that it does not have, whose numbers new ones get.
static void test_of_nothing(void **state) {
    double motion[16];
    Error err;
    (void)state;
    RolloutFile file = edit_scene();
    pose_identity(motion);
    assert_status_ok(rollout_drive_add(&file.drives, BLUE + 1, 1, motion, &err), err);
    assert_status_ok(rollout_drive_add(&file.drives, BLUE, 1, motion, &err), err);
    RUN(&file, "throw: {label: 0, velocity: [0, 0, 1]}");
    assert_int_equal(file.sets[0].body[0], BLUE + 1);
    assert_true(steps_of(&file, BLUE + 1) == 0 && steps_of(&file, BLUE) == 1);
    rollout_file_free(&file);
}

// No more than a file may have.
static void test_most(void **state) {
    double motion[16];
    Error err;
    (void)state;
    RolloutDrives drives = {.count = ROLLOUT_DRIVES_MAX};
    pose_identity(motion);
    assert_status_error(rollout_drive_add(&drives, 0, 1, motion, &err), STATUS_BAD_INPUT, err,
                        "expected at most 16777216 motions of driven bodies");
}

// Steps count from the present; the body moves in the later ones as before.
static void test_step(void **state) {
    Error err;
    EditReport report;
    (void)state;
    RolloutFile file = edit_scene();
    RUN(&file, "drive: {label: red, path: [[0, 0, 0], [1, 0, 0], [1, 2, 0], [1, 2, 4]]}");
    edit_scene_steps(&file);
    assert_status_ok(edit_scene_apply(&file, EDITS("remove: {label: blue}"), 2, &report, &err), err);
    assert_int_equal(file.drives.count, 1);
    assert_goes(&file, RED, 1, (double[]){0, 0, 0}, (double[]){0, 0, 4});
    rollout_file_free(&file);
}

// A file keeps them, and another scene brings its own along.
static void test_files(void **state) {
    char folder[64], path[96], edit[256];
    Error err;
    RolloutFile file = edit_scene(), read;
    (void)state;
    test_make_folder(folder);
    snprintf(path, sizeof path, "%s/other.h5", folder);
    RUN(&file, TURNED);
    assert_status_ok(rollout_file_write(&file, path, &err), err);
    assert_status_ok(rollout_file_read(path, &read, &err), err);
    assert_int_equal(read.drives.count, 1);
    assert_true(read.drives.body[0] == RED && read.drives.step[0] == 1);
    assert_memory_equal(read.drives.motion, file.drives.motion, 16 * sizeof(double));
    snprintf(edit, sizeof edit, "compose: {file: %s, by: [0, 3, 0]}", path);
    RUN(&file, edit);
    assert_int_equal(file.drives.count, 2);
    assert_goes(&file, RED, 1, (double[]){2, 0, 0}, (double[]){1, 1, 0.5});
    assert_goes(&file, BLUE + 1 + RED, 1, (double[]){2, 3, 0}, (double[]){1, 4, 0.5});
    read.drives.step[0] = 0;
    assert_status_ok(rollout_file_write(&read, path, &err), err);
    rollout_file_free(&read);
    assert_status_error(rollout_file_read(path, &read, &err), STATUS_BAD_INPUT, err,
                        "drives: expected bodies from 0 to 16777215 and steps from 1 to 1048576, found body 3, step 0");
    rollout_file_free(&file);
    test_remove_folder(folder);
}

// Many motions are compressed together: a chunk for each took 107 MB for a million of them, and half a minute.
static void test_large_file(void **state) {
    char folder[64], path[96];
    struct stat info;
    Error err;
    (void)state;
    RolloutFile file = edit_scene(), read;
    test_make_folder(folder);
    snprintf(path, sizeof path, "%s/long.h5", folder);
    RUN(&file, "drive: {label: red, velocity: [2, 0, -1], steps: 10000}");
    assert_status_ok(rollout_file_write(&file, path, &err), err);
    assert_int_equal(stat(path, &info), 0);
    assert_true(info.st_size < 200000);
    assert_status_ok(rollout_file_read(path, &read, &err), err);
    assert_int_equal(read.drives.count, 10000);
    assert_memory_equal(read.drives.motion, file.drives.motion, 10000 * 16 * sizeof(double));
    rollout_file_free(&read);
    rollout_file_free(&file);
    test_remove_folder(folder);
}

static void test_wrong(void **state) {
    static const struct {
        const char *edit, *message;
    } cases[] = {
        {"drive: {label: red}", "expected `path`, or `velocity` and `steps`"},
        {"drive: {label: red, velocity: [1, 0, 0]}", "expected `path`, or `velocity` and `steps`"},
        {"drive: {label: red, steps: 3}", "expected `path`, or `velocity` and `steps`"},
        {"drive: {label: red, path: [[0, 0, 0], [1, 0, 0]], steps: 3}", "expected `path`, or `velocity` and `steps`"},
        {"drive: {label: green, velocity: [1, 0, 0], steps: 3}", "green"},
    };
    static const struct {
        const char *edit, *message;
    } texts[] = {
        {"drive: {label: red, path: [[0, 0, 0]]}", "expected a list of poses, first the present one: 2 to 10001 rows"},
        {"drive: {label: red, path: 3}", "expected a list of poses"},
        {"drive: {label: red, path: [[0, 0, 0], [1, 0]]}",
         "path, row 1: expected [x, y, z], or [x, y, z, qw, qx, qy, qz]"},
        {"drive: {label: red, path: [[0, 0, 0], [1, 0, 0], [1, 0, 2e6]]}",
         "path, row 2: expected [x, y, z], or [x, y, z, qw, qx, qy, qz] with a quaternion of length 1; numbers from "
         "-1e+06 to 1e+06"},
        {"drive: {label: red, path: [[0, 0, 0], [1, 0, .nan]]}", "path, row 1: expected [x, y, z]"},
        {"drive: {label: red, path: [[0, 0, 0, 1, 1, 0, 0], [0, 0, 0, 1, 0, 0, 0]]}", "a quaternion of length 1"},
        {"drive: {label: red, path: [[0, 0, 0, 1, 0, 0, 0], [0, 0, 0]]}",
         "path, row 1: expected 7 numbers, as in row 0, found 3"},
        {"drive: {label: red, velocity: [1, 0, 0], steps: 0}", "steps"},
    };
    Error err;
    EditReport report;
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        RolloutFile file = edit_scene();
        assert_status_error(edit_scene_apply(&file, EDITS(cases[k].edit), 0, &report, &err), STATUS_BAD_INPUT, err,
                            cases[k].message);
        rollout_file_free(&file);
    }
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        EditList *list = edit_list_create();
        assert_status_error(edit_list_add(list, "--do 1", texts[k].edit, &err), STATUS_BAD_INPUT, err,
                            texts[k].message);
        edit_list_free(list);
    }
    RolloutFile file = edit_scene();
    free(file.sets[0].before), free(file.sets[0].body);
    file.sets[0].before = NULL, file.sets[0].body = NULL;
    assert_status_error(edit_scene_apply(&file, EDITS(STRAIGHT), 0, &report, &err), STATUS_BAD_INPUT, err,
                        "only bodies can be driven");
    rollout_file_free(&file);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_velocity_and_path),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_moved_parts),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_copies),
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_of_nothing),
        cmocka_unit_test(test_most),
        cmocka_unit_test(test_step),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_large_file),
        cmocka_unit_test(test_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
