// SPDX-License-Identifier: Apache-2.0
// Bodies that are simulated: what the edit notes of their motions, and what it is told.
#include "tests/edit_scene.h"

#include <math.h>

enum { STEPS = 16 };
#define DT 0.05
#define LOW 0.2 // of the blocks

// Where a corner of the red block is after so many steps, from (-.5, 0, .2).
static const double corner[3] = {-0.5, 0, LOW};
static void corner_at(const RolloutFile *file, int32_t steps, double out[3]) { follow(file, RED, steps, corner, out); }

// Both blocks fall, from the velocity that they have at the present, half a step behind the one that is seen; then they
// lie on the floor.
static void test_falls(void **state) {
    (void)state;
    RolloutFile file = edit_scene();
    RUN(&file, "simulate: {}");
    assert_int_equal(file.drives.count, 2 * STEPS);
    for (int32_t s = 1; s <= 3; s++) {
        double at[3];
        const double T = s * DT;
        corner_at(&file, s, at);
        assert_close(at[0], corner[0] + 0.1 * s, 1e-6, 0);
        assert_close(at[1], 0, 1e-6, 0);
        assert_close(at[2], LOW - 9.81 * (DT / 2 * T + T * T / 2), 1e-6, 0);
    }
    for (int32_t body = RED; body <= BLUE; body += BLUE - RED) {
        double lowest = 9;
        for (size_t i = FLOOR; i < ALL; i++) {
            double x[3], at[3];
            for (int c = 0; c < 3; c++) x[c] = (double)file.sets[0].positions[3 * i + (size_t)c];
            if (file.sets[0].body[i] != body) continue;
            follow(&file, body, STEPS, x, at);
            lowest = fmin(lowest, at[2]);
        }
        assert_close(lowest, 0, 3e-3, 0);
    }
    assert_non_null(strstr(file.edit_history, "- simulate: {}"));
    rollout_file_free(&file);
}

// What is not selected is left to the model. What stood still moves if it is selected.
static void test_selection(void **state) {
    (void)state;
    RolloutFile file = edit_scene();
    RUN(&file, "simulate: {label: red, steps: 5}");
    assert_true(steps_of(&file, RED) == 5 && steps_of(&file, BLUE) == 0);
    rollout_file_free(&file);
    file = edit_scene();
    for (size_t i = FLOOR; i < FLOOR + BLOCK; i++) file.sets[0].body[i] = -1;
    RUN(&file, "simulate: {label: red, steps: 5}");
    assert_int_equal(steps_of(&file, BLUE + 1), 5);
    rollout_file_free(&file);
}

// Without gravity they go on straight; a driven one keeps its motions, and what it meets gives way.
static void test_driven(void **state) {
    double at[3], before[3];
    (void)state;
    RolloutFile file = edit_scene();
    RUN(&file, "drive: {label: blue, velocity: [-2, 0, 0], steps: 8}", "simulate: {gravity: [0, 0, 0]}");
    assert_true(steps_of(&file, BLUE) == 8 && steps_of(&file, RED) == STEPS);
    follow(&file, BLUE, 8, (double[]){0.4, 0, LOW}, at);
    assert_close(at[0], 0.4 - 0.8, 1e-12, 0);
    corner_at(&file, 3, at); // 0.75 m lie between the two, which come nearer by 0.2 m in each step
    assert_close(at[0], -0.2, 1e-6, 0);
    corner_at(&file, 7, before);
    corner_at(&file, 8, at);
    assert_true(at[0] - before[0] < -0.09);
    rollout_file_free(&file);
}

// A body that is simulated already is driven to the next `simulate`, which says so if it was selected.
static void test_driven_selected(void **state) {
    char *said = NULL;
    size_t length;
    Error err;
    EditReport report;
    (void)state;
    RolloutFile file = edit_scene();
    FILE *out = open_memstream(&said, &length);
    assert_non_null(out);
    const Log log = {.out = out, .quiet = true};
    EditList *list = edit_list_create();
    assert_status_ok(edit_list_add(list, "--do 1", "simulate: {label: red, steps: 5}", &err), err);
    assert_status_ok(edit_list_add(list, "--do 2", "simulate: {steps: 3}", &err), err);
    assert_status_ok(edit_apply(list, NULL, &log, 0, &file, &report, &err), err);
    fflush(out);
    assert_string_equal(said, "");
    assert_true(steps_of(&file, RED) == 5 && steps_of(&file, BLUE) == 3);
    edit_list_free(list);
    list = edit_list_create();
    assert_status_ok(edit_list_add(list, "--do 1", "simulate: {label: [red, blue]}", &err), err);
    assert_status_ok(edit_apply(list, NULL, &log, 0, &file, &report, &err), err);
    fclose(out);
    assert_non_null(strstr(said, "2 of the selected bodies are driven, and not simulated: throw them first"));
    edit_list_free(list);
    free(said);
    out = open_memstream(&said, &length); // without a selection too, where nothing is left to simulate
    assert_non_null(out);
    const Log again = {.out = out, .quiet = true};
    list = edit_list_create();
    assert_status_ok(edit_list_add(list, "--do 1", "simulate: {}", &err), err);
    assert_status_ok(edit_apply(list, NULL, &again, 0, &file, &report, &err), err);
    fclose(out);
    assert_non_null(strstr(said, "2 of the selected bodies are driven, and not simulated: throw them first"));
    edit_list_free(list);
    free(said);
    rollout_file_free(&file);
}

// The side of a table's top is taken for a body behind the plane of the top, but hides no floor from what falls.
static void test_side_of_table(void **state) {
    double at[3];
    (void)state;
    RolloutFile file = edit_scene();
    for (size_t i = FLOOR; i < ALL; i++)
        if (file.sets[0].body[i] == BLUE) file.sets[0].positions[3 * i] = 1, file.sets[0].positions[3 * i + 2] -= 1;
    RUN(&file, "simulate: {}");
    assert_int_equal(file.drives.count, STEPS); // the red block's
    corner_at(&file, STEPS, at);
    assert_true(at[2] > -3e-3);
    rollout_file_free(&file);
}

static void test_wrong(void **state) {
    static const struct {
        const char *edit, *message;
    } texts[] = {
        {"simulate: {steps: 0}", "steps"},
        {"simulate: {step: 3}", "did you mean \"steps\""},
        {"simulate: {contact: 3}", "contact: expected a map such as {mu: 0.5}"},
        {"simulate: {contact: {nu: 0.3}}", "did you mean \"mu\""},
        {"simulate: {contact: {mu: -1}}", "mu"},
        {"simulate: {gravity: 9.81}", "gravity"},
    };
    Error err;
    EditReport report;
    (void)state;
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        EditList *list = edit_list_create();
        assert_status_error(edit_list_add(list, "--do 1", texts[k].edit, &err), STATUS_BAD_INPUT, err,
                            texts[k].message);
        edit_list_free(list);
    }
    RolloutFile file = edit_scene();
    file.time_step = 0;
    assert_status_error(edit_scene_apply(&file, EDITS("simulate: {}"), 0, &report, &err), STATUS_BAD_INPUT, err,
                        "gravity needs a time step, found 0 s");
    free(file.sets[0].before), free(file.sets[0].body);
    file.sets[0].before = NULL, file.sets[0].body = NULL;
    assert_status_error(edit_scene_apply(&file, EDITS("simulate: {}"), 0, &report, &err), STATUS_BAD_INPUT, err,
                        "only bodies can be simulated");
    rollout_file_free(&file);
}

static bool same_drives(const RolloutFile *a, const RolloutFile *b) {
    const RolloutDrives *x = &a->drives, *y = &b->drives;
    return x->count == y->count && !memcmp(x->body, y->body, x->count * sizeof *x->body) &&
           !memcmp(x->step, y->step, x->count * sizeof *x->step) &&
           !memcmp(x->motion, y->motion, 16 * x->count * sizeof *x->motion);
}

// The steps of the last edit of a list come when they are asked for, and a copy of the file has them too.
static void test_coming(void **state) {
    Error err;
    EditReport report;
    EditMechanics *coming;
    size_t told = 0, other = 0;
    (void)state;
    RolloutFile file = edit_scene(), copy = edit_scene(), whole = edit_scene();
    RUN(&whole, "simulate: {}");
    EditList *list = edit_list_create();
    assert_status_ok(edit_list_add(list, "--do 1", "simulate: {}", &err), err);
    assert_status_ok(edit_apply_coming(list, NULL, NULL, 0, &file, &report, &coming, &err), err);
    assert_true(coming && file.drives.count == 0 && report.applied == 1);
    assert_status_ok(edit_mechanics_tell(coming, &file, &told, 3, NULL, &err), err);
    assert_true(told == 3 && file.drives.count == 3 * 2);
    assert_true(edit_mechanics_share(coming) == coming);
    assert_status_ok(edit_mechanics_tell(coming, &copy, &other, 5, NULL, &err), err);
    edit_mechanics_free(coming);
    assert_status_ok(edit_mechanics_tell(coming, &file, &told, 999, NULL, &err), err);
    assert_status_ok(edit_mechanics_tell(coming, &copy, &other, SIZE_MAX, NULL, &err), err);
    assert_true(told == STEPS && other == STEPS && same_drives(&file, &whole) && same_drives(&copy, &whole));
    edit_mechanics_free(coming);
    rollout_file_free(&file);
    file = edit_scene(); // another edit behind it needs them at once
    assert_status_ok(edit_list_add(list, "--do 2", "remove: {label: blue}", &err), err);
    assert_status_ok(edit_apply_coming(list, NULL, NULL, 0, &file, &report, &coming, &err), err);
    assert_true(!coming && steps_of(&file, RED) == STEPS);
    assert_status_ok(edit_mechanics_tell(NULL, &file, &told, 3, NULL, &err), err);
    edit_list_free(list);
    rollout_file_free(&file), rollout_file_free(&copy), rollout_file_free(&whole);
}

// Runs edit_simulate_bodies; *said gets its warnings, malloc'ed.
static Status run_bodies(RolloutFile *file, const char *map, char **said, Error *err) {
    size_t length;
    FILE *out = open_memstream(said, &length);
    assert_non_null(out);
    const Log log = {.out = out};
    const double up[3] = {0, 1, 0};
    const EditSimulation simulation = {.name = "--analytic", .map = map, .steps = 4, .up = up, .log = &log};
    Status status = edit_simulate_bodies(file, &simulation, err);
    fclose(out);
    return status;
}

// As a rollout begins with it: no line in the history, gravity as it is given, and warnings.
static void test_bodies(void **state) {
    double at[3];
    char *said;
    Error err;
    (void)state;
    RolloutFile file = edit_scene();
    assert_status_ok(run_bodies(&file, "{}", &said, &err), err);
    assert_null(file.edit_history);
    assert_int_equal(file.drives.count, 8);
    corner_at(&file, 1, at);
    assert_close(at[1], -9.81 * DT * DT, 1e-6, 0);
    assert_non_null(strstr(said, "warning: no floor was found among what stands still: bodies fall for ever"));
    free(said);
    rollout_file_free(&file);

    file = edit_scene(); // without a volume, or without a body, nothing is noted
    for (size_t i = FLOOR; i < FLOOR + BLOCK; i++) file.sets[0].positions[3 * i + 2] = (float)LOW;
    for (size_t i = FLOOR + BLOCK; i < ALL; i++) file.sets[0].body[i] = -1;
    assert_status_ok(run_bodies(&file, "{gravity: [0, 0, -1]}", &said, &err), err);
    assert_int_equal(file.drives.count, 0);
    assert_string_equal(said, "warning: 1 of 1 bodies have no volume, and move as the model says\n");
    free(said);
    for (size_t i = FLOOR; i < ALL; i++) file.sets[0].body[i] = -1;
    assert_status_ok(run_bodies(&file, "{}", &said, &err), err);
    assert_int_equal(file.drives.count, 0);
    assert_string_equal(said, "");
    free(said);

    assert_status_error(run_bodies(&file, "{steps: 4}", &said, &err), STATUS_BAD_INPUT, err,
                        "--analytic: steps: the rollout says how many");
    free(said);
    assert_status_error(run_bodies(&file, "{contact: {mo: 1}}", &said, &err), STATUS_BAD_INPUT, err, "--analytic");
    free(said);
    rollout_file_free(&file);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_falls),           cmocka_unit_test(test_selection), cmocka_unit_test(test_driven),
        cmocka_unit_test(test_driven_selected), cmocka_unit_test(test_wrong),     cmocka_unit_test(test_bodies),
        cmocka_unit_test(test_side_of_table),   cmocka_unit_test(test_coming),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
