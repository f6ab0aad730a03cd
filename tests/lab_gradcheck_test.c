// SPDX-License-Identifier: Apache-2.0
// Gradient checks: what passes, what is found wrong, and what is noise. Rollouts of scenes as files.
#include "lab/gradcheck.h"
#include "lab/record.h"

#include "tests/test.h"

static SimScene parse(const char *text) {
    SimScene scene;
    Error err;
    if (scene_parse(text, strlen(text), "s.yaml", ".", &scene, &err) != STATUS_OK) fail_msg("%s", err.text);
    return scene;
}

static const GradcheckRow *row_of(const Gradcheck *check, SimValue value) {
    for (size_t i = 0; i < check->rows; i++)
        if (check->row[i].value == value) return check->row + i;
    fail_msg("no row for %s", sim_value_info[value].name);
    return NULL;
}

// Bits of everything: cloth with bending from flat, a solid, damping and friction of 0, sliding on two planes.
#define SCENE                                                                                                          \
    "frames: 3\nsubsteps: 40\ncontacts: {a: {k_e: 1e3, k_d: 2, k_f: 5, mu: 0.4}, b: {k_e: 500, fade: 0.01}}\n"         \
    "planes: [{}, {normal: [1, 0, 0.2], offset: -0.4, contact: b}]\nobjects:\n"                                        \
    "  s: {box: {size: [0.2, 0.2, 0.2], cells: [2, 1, 1]}, density: 500, solid: {young: 1e4, poisson: 0.3}, "          \
    "position: [-0.2, 0, 0.105], velocity: [-1, 0, -0.5]}\n"                                                           \
    "  c: {cloth: {size: [0.3, 0.3], cells: [3, 3]}, density: 0.5, springs: {k_e: 50, k_d: 0.1}, "                     \
    "bending: {k_e: 1e-3, k_d: 1e-4}, position: [0, 0.5, 0.02], velocity: [1, 0.3, -1], contact: b, fixed: [0]}\n"

static void check(const char *text) {
    SimScene scene = parse(text);
    Gradcheck out;
    Error err;
    assert_status_ok(gradcheck_run(&scene, &(SimOptions){.threads = 1}, &out, &err), err);
    assert_int_equal(out.rows, SIM_HINGE_LOW - 1); // nothing is driven, and hinges have no limits
    for (size_t i = 0; i < out.rows; i++)
        if (out.row[i].verdict != GRADCHECK_RIGHT || out.row[i].adjoint == 0)
            fail_msg("%s: %g, error %g", sim_value_info[out.row[i].value].name, out.row[i].adjoint, out.row[i].error);
    assert_true(out.of[GRADCHECK_RIGHT] == out.rows && out.growth < GRADCHECK_GROWTH);
    scene_free(&scene);
}

static void test_all_values(void **state) {
    (void)state;
    check(SCENE);
    check("precision: f32\n" SCENE);
}

// Particles fall onto a plane whose damping does not fade in, and one is far above it.
static void test_far_above(void **state) {
    SimScene scene = parse("frames: 10\nsubsteps: 60\nprecision: f32\n"
                           "contacts: {g: {k_e: 100, k_d: 0.1, k_f: 1, mu: 0.3}}\nplanes: [{}]\nobjects:\n"
                           "  low: {points: {at: [[0, 0, 0.01], [0.3, 0, 0.02]]}, mass: 0.5}\n"
                           "  high: {points: {at: [[0, 1, 3]]}, mass: 0.5, velocity: [1, 0, 0]}\n");
    Gradcheck out;
    Error err;
    (void)state;
    assert_status_ok(gradcheck_run(&scene, &(SimOptions){.threads = 1}, &out, &err), err);
    for (size_t i = 0; i < out.rows; i++) assert_true(isfinite(out.row[i].adjoint));
    scene_free(&scene);
}

// Planted: what a wrong adjoint, a kink and a noisy difference are judged to be.
static void test_judge(void **state) {
    static const struct {
        double adjoint, difference[3], rounding;
        GradcheckVerdict verdict;
    } cases[] = {{1, {1.1, 1, 2}, 0, GRADCHECK_RIGHT},              // one step size is enough
                 {1, {1.1, 1.00001, 2}, 0, GRADCHECK_UNKNOWN},      // 1e-5 apart, and no two differences agree
                 {1, {1.1, 1.00001, 1.00001}, 0, GRADCHECK_WRONG},  // two of them do
                 {2, {1, 1, 1}, 1e-9, GRADCHECK_WRONG},             // twice the gradient
                 {2e-12, {1e-12, 1e-12, 0}, 1e-9, GRADCHECK_RIGHT}, // within rounding
                 {5e-9, {9, 1e-9, 2e-9}, 1e-9, GRADCHECK_UNKNOWN},  // not far beyond it
                 {5e-8, {9, 1e-9, 2e-9}, 1e-9, GRADCHECK_WRONG},
                 {0, {0, 0, 0}, 0, GRADCHECK_RIGHT},
                 {NAN, {1, 1, 1}, 1e-9, GRADCHECK_WRONG},
                 {NAN, {1, 2, 3}, 1e-9, GRADCHECK_WRONG},
                 {1, {NAN, INFINITY, NAN}, 1e-9, GRADCHECK_UNKNOWN}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        GradcheckRow row = {.adjoint = cases[i].adjoint};
        for (int s = 0; s < 3; s++) row.difference[s] = cases[i].difference[s], row.rounding[s] = cases[i].rounding;
        gradcheck_judge(&row, 1e-6);
        if (row.verdict != cases[i].verdict) fail_msg("case %zu: error %g, %d", i, row.error, (int)row.verdict);
    }
}

// Planted: smaller steps are rounded by 1e-4 here, which excuses no gradient that larger ones show to be wrong.
static void test_refine(void **state) {
    static const struct {
        double adjoint, difference[3], finer;
        GradcheckVerdict verdict;
    } cases[] = {{1.00005, {1.1, 1, 1}, 1, GRADCHECK_WRONG},
                 {1.2, {1, 1, 1}, 1.2, GRADCHECK_RIGHT}, // a kink lies between
                 {1.3, {1, 1, 1}, 1.2, GRADCHECK_WRONG},
                 {1.00005, {1.1, 1, 0.9}, 1, GRADCHECK_RIGHT}, // nothing better is known
                 {2, {1.1, 1, 0.9}, 1, GRADCHECK_WRONG},
                 {1e-5, {3, -2, 1}, 0, GRADCHECK_UNKNOWN}, // too small to be seen in steps that change nothing
                 {NAN, {3, -2, 1}, 0, GRADCHECK_WRONG}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        GradcheckRow row = {.adjoint = cases[i].adjoint}, finer;
        memcpy(row.difference, cases[i].difference, sizeof row.difference);
        gradcheck_judge(&row, 1e-6);
        finer = row;
        for (int s = 0; s < 3; s++) finer.difference[s] = cases[i].finer, finer.rounding[s] = 1e-4;
        gradcheck_refine(&row, &finer, 1e-6);
        if (row.verdict != cases[i].verdict) fail_msg("case %zu: %s", i, gradcheck_verdicts[row.verdict]);
    }
}

// Planted: larger steps are rounded less, so they show a wrong gradient that is next to 0.
static void test_judge_coarse(void **state) {
    static const struct {
        double adjoint, difference[3], own;
        GradcheckVerdict verdict;
    } cases[] = {{1e-10, {2e-11, 1e-10, 1e-9}, 0, GRADCHECK_RIGHT},
                 {1e-9, {2e-11, 1e-10, 1e-9}, 0, GRADCHECK_UNKNOWN},     // not far beyond rounding
                 {1e-9, {2e-11, 1e-10, 1e-9}, 1e-9, GRADCHECK_RIGHT},    // the adjoint is rounded as much
                 {1e-8, {2e-11, 1e-10, 1e-9}, 0, GRADCHECK_WRONG},       // smaller steps cannot tell it from 0
                 {1.01e-6, {1e-6, 1e-6, 1e-6}, 0, GRADCHECK_WRONG},      // a hundredth too large
                 {1e-6, {1.1e-6, 1.00005e-6, 1e-6}, 0, GRADCHECK_RIGHT}, // steps that are too large
                 {0.5, {0.4, 0.6, 0.5}, 0, GRADCHECK_UNKNOWN},           // kinks
                 {1e-3, {2, -3, 5}, 2, GRADCHECK_UNKNOWN},               // chaos
                 {2e-3, {1e-3, 1e-3, 1e-3}, 1e-3, GRADCHECK_UNKNOWN}}; // its own rounding excuses nothing that matters
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        GradcheckRow row = {.adjoint = cases[i].adjoint};
        for (int s = 0; s < 3; s++)
            row.difference[s] = cases[i].difference[s], row.rounding[s] = 1e-11 * pow(10, s + 1);
        gradcheck_judge_coarse(&row, cases[i].own, 30, 1e-6);
        if (row.verdict != cases[i].verdict) fail_msg("case %zu: %s", i, gradcheck_verdicts[row.verdict]);
    }
}

// Stiff elements enlarge the rounding of positions: differences at 1e-4 are of 1e-8, at 1e-1 of 1e-10 as they should.
static void test_stiff(void **state) {
    SimScene scene = parse("frames: 20\nsubsteps: 400\nobjects:\n  s: {box: {size: [0.2, 0.2, 0.2], cells: [1, 1, 1]}, "
                           "density: 1000, solid: {young: 2e8, poisson: 0.35, k_d: 4}, velocity: [1, 0, 3], "
                           "position: [0, 0, 1]}\n");
    Gradcheck out;
    Error err;
    (void)state;
    assert_status_ok(gradcheck_run(&scene, &(SimOptions){.threads = 1}, &out, &err), err);
    for (size_t i = 0; i < out.rows; i++)
        if (out.row[i].verdict != GRADCHECK_RIGHT) fail_msg("%s", sim_value_info[out.row[i].value].name);
    const GradcheckRow *mu = row_of(&out, SIM_TET_MU);
    assert_true(mu->step[0] > 1e-2 && fabs(mu->difference[0]) < 1e-9);
    scene_free(&scene);
}

// Planted: a kink at the very point excuses a gradient near the slopes beside it, and no other.
static void test_judge_sides(void **state) {
    static const struct {
        double adjoint, up, down;
        GradcheckVerdict verdict;
    } cases[] = {{1, 1, -3, GRADCHECK_UNKNOWN},      // the slope upwards; downwards it is 3
                 {3, 1, -3, GRADCHECK_UNKNOWN},      // the other one
                 {2, 1, -1, GRADCHECK_WRONG},        // no kink
                 {2, 1, -1.000001, GRADCHECK_WRONG}, // differences of this size are rounding
                 {4, 2, -2.1, GRADCHECK_WRONG}};     // a kink, and twice the gradient
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        GradcheckRow row = {.adjoint = cases[i].adjoint, .verdict = GRADCHECK_WRONG}, up = row, down = row;
        for (int s = 0; s < 3; s++) up.difference[s] = cases[i].up, down.difference[s] = cases[i].down;
        gradcheck_judge_sides(&row, &up, &down, 1e-6);
        if (row.verdict != cases[i].verdict) fail_msg("case %zu: %s", i, gradcheck_verdicts[row.verdict]);
    }
}

// At rest on a plane whose damping does not fade in, every step is at the kink of min(v_n, 0).
static void test_at_rest(void **state) {
    SimScene scene = parse("frames: 20\nsubsteps: 50\ncontacts: {g: {k_e: 500, k_d: 5, k_f: 50, mu: 0.2}}\n"
                           "planes: [{}]\nobjects:\n  p: {points: {at: [[0, 0, 0], [0, 1, 0], [0, 2, 0]]}, mass: 0.3, "
                           "velocity: [2, 0, 0], position: [0, 0, -0.001962]}\n");
    Gradcheck out;
    Error err;
    (void)state;
    assert_status_ok(gradcheck_run(&scene, &(SimOptions){.threads = 1}, &out, &err), err);
    for (size_t i = 0; i < out.rows; i++)
        if (out.row[i].verdict == GRADCHECK_WRONG) fail_msg("%s", sim_value_info[out.row[i].value].name);
    assert_true(out.of[GRADCHECK_UNKNOWN] > 0);
    scene_free(&scene);
}

// Damping that does not fade in makes the force jump at touch, and so does the loss when the step of touch changes.
// Without friction, neither mu nor k_f alone matters.
static void test_kinks(void **state) {
    SimScene scene = parse("frames: 30\nsubsteps: 10\ncontacts: {g: {k_e: 2e4, k_d: 30}}\nplanes: [{}]\nobjects:\n"
                           "  p: {grid: {size: [1, 1, 0.1], points: [12, 12, 1]}, mass: 14.4, springs: {k_e: 1e3}, "
                           "rotation: {axis: [1, 0.3, 0], angle: 40}, position: [0, 0, 0.5]}\n");
    Gradcheck out;
    Error err;
    (void)state;
    assert_status_ok(gradcheck_run(&scene, &(SimOptions){.threads = 1}, &out, &err), err);
    for (size_t i = 0; i < out.rows; i++) {
        const bool known = out.row[i].value == SIM_REST || out.row[i].value == SIM_CONTACT_KF ||
                           out.row[i].value == SIM_CONTACT_MU; // they have no effect
        if (out.row[i].verdict != (known ? GRADCHECK_RIGHT : GRADCHECK_UNKNOWN))
            fail_msg("%s: %s", sim_value_info[out.row[i].value].name, gradcheck_verdicts[out.row[i].verdict]);
    }
    scene_free(&scene);
}

// A box that tumbles and slides to rest: only short steps are on one side of all kinks.
static void test_near_kinks(void **state) {
    SimScene scene;
    Gradcheck out;
    Error err;
    size_t finer = 0;
    (void)state;
    assert_status_ok(scene_read("scenes/throw.yaml", &scene, &err), err);
    scene.frames = 70; // by then it slides
    assert_status_ok(gradcheck_run(&scene, &(SimOptions){.threads = 1}, &out, &err), err);
    for (size_t i = 0; i < out.rows; i++) finer += out.row[i].step[0] < 1e-5;
    assert_true(out.of[GRADCHECK_RIGHT] == out.rows && finer > 0);
    scene_free(&scene);
}

// A stiffness that hardly matters in free flight: the gradient of f32 is rounding, and that of f64 is right.
static void test_f32_alone(void **state) {
    SimScene scene = parse("frames: 30\nsubsteps: 30\nprecision: f32\nobjects:\n"
                           "  s: {box: {size: [0.2, 0.2, 0.2], cells: [1, 1, 1]}, density: 100, velocity: [1, 0, 3], "
                           "solid: {young: 1e4, poisson: 0.3}}\n");
    Gradcheck out;
    Error err;
    (void)state;
    assert_status_ok(gradcheck_run(&scene, &(SimOptions){.threads = 1}, &out, &err), err);
    assert_int_equal(row_of(&out, SIM_TET_MU)->verdict, GRADCHECK_F32_ALONE);
    assert_int_equal(row_of(&out, SIM_GRAVITY)->verdict, GRADCHECK_RIGHT);
    assert_int_equal(out.of[GRADCHECK_WRONG] + out.of[GRADCHECK_UNKNOWN], 0);
    scene_free(&scene);
}

// A free particle falls as in the books, and y up becomes z up in the file.
static void test_record(void **state) {
    SimScene scene = parse("frames: 10\nfps: 10\nsubsteps: 100\nprecision: f64\nup: y\nobjects:\n"
                           "  p: {points: {at: [[1, 2, 3]]}, mass: 1, velocity: [0.5, 3, 0], colour: [9, 8, 7]}\n");
    RolloutFile file;
    Error err;
    (void)state;
    assert_status_ok(record_run(&scene, &(SimOptions){.threads = 1}, &file, &(RecordWorst){0}, &err), err);
    assert_int_equal(file.steps, 10);
    const float *x = file.positions + 9 * 3;
    assert_close(x[0], 1.5, 0, 1e-6);
    assert_close(x[1], -3, 0, 1e-6);
    assert_close(x[2], 2 + 3 - 9.81 / 2 * (1 + 1e-3), 0, 1e-6); // semi-implicit: g dt^2 n (n + 1) / 2
    assert_int_equal(file.sets[0].colour[2], 7);
    assert_string_equal(file.label_names, "background\np\n");
    rollout_file_free(&file);
    scene_free(&scene);
}

static void test_explodes(void **state) {
    SimScene scene =
        parse("frames: 9\nsubsteps: 4\nobjects:\n  p: {points: {at: [[0, 0, 0], [0, 0, 1]], springs: [[0, 1]]}, "
              "mass: 1, springs: {k_e: 1e7}, velocity: [0, 0, 1], fixed: [0]}\n");
    RolloutFile file;
    Error err;
    (void)state;
    assert_status_error(record_run(&scene, &(SimOptions){.threads = 1}, &file, &(RecordWorst){0}, &err), STATUS_FAILED,
                        err, "spring 0");
    assert_true(file.set_count == 1 && file.steps > 0 && file.steps < 9);
    for (size_t i = 0; i < 6 * file.steps; i++) assert_true(isfinite(file.positions[i]));
    rollout_file_free(&file);
    scene_free(&scene);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_values),   cmocka_unit_test(test_far_above),   cmocka_unit_test(test_judge),
        cmocka_unit_test(test_refine),       cmocka_unit_test(test_judge_sides), cmocka_unit_test(test_at_rest),
        cmocka_unit_test(test_kinks),        cmocka_unit_test(test_near_kinks),  cmocka_unit_test(test_f32_alone),
        cmocka_unit_test(test_judge_coarse), cmocka_unit_test(test_stiff),       cmocka_unit_test(test_record),
        cmocka_unit_test(test_explodes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
