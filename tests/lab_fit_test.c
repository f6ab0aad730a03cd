// SPDX-License-Identifier: Apache-2.0
// Fits of scenes to states: which numbers can be free, derivatives, recovery, rows of values.
#include "lab/fit_rollout.h"
#include "lab/fit_write.h"
#include "lab/record.h"

#include "tests/fit_world.h"

// ---- names

static void test_names(void **state) {
    World w = {0};
    Error err;
    (void)state;
    static const struct {
        const char *name, *words;
    } wrong[] = {{"b.densty", "unknown number of the scene \"b.densty\"; did you mean \"b.density\"?"},
                 {"fps", "fps cannot be fitted: it is none of the values that have gradients"},
                 {"substeps", "substeps: a fit cannot change this number by a little"},
                 {"g.fade", "g.fade cannot be fitted: it is none"},
                 {"b.colour", "b.colour.x cannot be fitted: the motion does not depend on it"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_status_error(free_of(&w, SCENE, &wrong[i].name, 1, &err), STATUS_BAD_INPUT, err, wrong[i].words);
    static const char *const unlike = "nothing.of.the.kind"; // those that can be free are listed, as far as they go
    assert_status_error(free_of(&w, SCENE, &unlike, 1, &err), STATUS_BAD_INPUT, err, "expected one of ");
    assert_true(strstr(err.text, "b.density") && !strstr(err.text, "cells") && !strstr(err.text, "substeps"));
    assert_status_error(free_of(&w, SCENE, NULL, 0, &err), STATUS_BAD_INPUT, err, "nothing is free");
    assert_status_error(free_of(&w, SCENE "fit: {free: {g.mu: {low: 0.5}}}\n", NULL, 0, &err), STATUS_BAD_INPUT, err,
                        "g.mu: the start 0.3 is not between low 0.5 and high inf");
    assert_status_error(free_of(&w, SCENE "fit: {fre: [g.mu]}\n", NULL, 0, &err), STATUS_BAD_INPUT, err,
                        "unknown key \"fre\"; did you mean \"free\"?");
    assert_status_error(free_of(&w, SCENE "fit: {free: {g.mu: {lo: 1}}}\n", NULL, 0, &err), STATUS_BAD_INPUT, err,
                        "\"low\"");
    assert_status_error(free_of(&w, SCENE "fit: {compare: [colours]}\n", NULL, 0, &err), STATUS_BAD_INPUT, err,
                        "expected states, colour, depth or mask");
}

// The text keeps every other byte; numbers above 0 are fitted as logarithms, vectors are not.
static void test_text(void **state) {
    World w = {0};
    Error err;
    char *text;
    size_t length;
    (void)state;
    assert_status_ok(
        free_of(&w, SCENE "fit: {free: {g.mu: {start: 0.5, high: 2}, b.velocity: , b.density: }}\n", NULL, 0, &err),
        err);
    static const char *const names[] = {"g.mu", "b.density", "b.velocity.x", "b.velocity.y", "b.velocity.z"};
    assert_int_equal(w.free.count, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_string_equal(w.free.variable[i].name, names[i]);
        assert_true(w.free.variable[i].range.log == (i < 2));
    }
    assert_true(w.free.variable[0].start == 0.5 && w.free.variable[0].in_file == 0.3);
    assert_true(w.free.variable[0].range.high == 2 && w.free.variable[1].range.high == 2e6);
    const double x[] = {0.25, 123.456, -1, 1e-9, 3};
    assert_status_ok(fit_free_text(&w.free, x, &text, &length, &err), err);
    assert_int_equal(strlen(text), length);
    assert_non_null(strstr(text, "mu: 0.25, fade: 0.02}}"));
    assert_non_null(strstr(text, "density: 123.456, colour"));
    assert_non_null(strstr(text, "velocity: [-1, 1.0000000000000001e-09, 3]}\n"));
    assert_memory_equal(text, SCENE, 60);
    free(text);
    fit_free_close(&w.free);
}

// ---- derivatives: J'r from differences against the adjoint

// Both are of f64; differences have an error of 1e-10. `size`: the gradient is at most that.
static bool same_gradient(size_t P, const double *a, const double *b, const double *size) {
    bool same = true;
    for (size_t i = 0; i < P; i++) same = same && size[i] > 0 && test_close(a[i], b[i], 1e-8 * size[i], 1e-7);
    return same;
}

static void test_derivatives(void **state) {
    static const char *const names[] = {"g.k_e",     "g.k_d",   "g.k_f",      "g.mu",
                                        "b.density", "b.solid", "b.position", "b.velocity"};
    const double h[] = {330, 0.4, 6, 0.2, 210, 1800, 0.25, 1.2, 0.01, 0, 0.12, 1.1, 0.1, -1};
    World w;
    open_world(&w, SCENE, names, 8, h);
    const size_t P = w.free.count;
    MinimiseVariable variable[32];
    double x[32], differences[32] = {0}, adjoint[32] = {0}, normal[32 * 32] = {0}, size[32];
    MinimiseSums many = {.gradient = differences, .normal = normal}, one = {.gradient = adjoint};
    FitRollout rollout;
    Error err;
    (void)state;
    assert_int_equal(P, 14);
    for (size_t i = 0; i < P; i++) variable[i] = w.free.variable[i].range, x[i] = w.free.variable[i].start;
    assert_status_ok(fit_rollout_open(&w.free, &w.data, 1, &rollout, &err), err);
    rollout.variable = variable;
    assert_status_ok(fit_rollout_sums(&rollout, x, &many, &err), err);
    assert_status_ok(fit_rollout_sums(&rollout, x, &one, &err), err);
    assert_true(many.cost == one.cost && one.cost > 1e-3);
    assert_close(many.residuals, 17 * 24, 0, 0);
    for (size_t i = 0; i < P; i++) size[i] = sqrt(2 * many.cost * normal[i * P + i]);
    assert_true(same_gradient(P, differences, adjoint, size));
    for (size_t i = 0; i < P; i++) { // planted: a gradient that is off by a millionth of its size
        adjoint[i] += 1e-6 * size[i];
        assert_false(same_gradient(P, differences, adjoint, size));
        adjoint[i] -= 1e-6 * size[i];
    }
    fit_rollout_close(&rollout);
    close_world(&w);
}

// ---- centres of mass

// A sheet of four particles that is held at one, turns and is pushed; values.a.mass are free.
#define SHEET                                                                                                          \
    "frames: 20\nfps: 30\nsubsteps: 20\nprecision: f64\ngravity: [0, 0, 0]\nobjects:\n"                                \
    "  a: {cloth: {size: [0.4, 0.4], cells: [1, 1]}, mass: 0.4, springs: {k_e: 20, k_d: 0.1},\n"                       \
    "      velocity: [0.2, 0, 0], spin: [0, 0, 3], fixed: [0]}\n"                                                      \
    "controls: [{object: a, force: [0, 0, 0.5], from: 0, to: 5}]\nvalues: {a: {mass: [0.08, 0.12, 0.11, 0.09]}}\n"

static void open_sheet(World *w, const double mass[4]) {
    static const char *const name = "values.a.mass";
    Error err;
    open_world(w, SHEET, &name, 1, mass);
    const double total = mass[0] + mass[1] + mass[2] + mass[3];
    w->data.centre = calloc(w->data.frames, 3 * sizeof(double));
    assert_non_null(w->data.centre);
    for (size_t i = 0; i < w->data.frames * 12; i++)
        w->data.centre[i / 12 * 3 + i % 3] += mass[i / 3 % 4] / total * w->data.position[i];
    free(w->data.position);
    w->data.position = NULL;
    scene_free(&w->scene); // as the program: that of the start
    assert_status_ok(fit_free_scene(&w->free, NULL, &w->scene, &err), err);
}

static double cost_at(FitRollout *rollout, const double *x) {
    MinimiseSums sums = {0};
    Error err;
    assert_status_ok(fit_rollout_sums(rollout, x, &sums, &err), err);
    return sums.cost;
}

// The masses that are fitted weigh particles in a centre, and not those of the start.
static void test_centres(void **state) {
    static const double truth[4] = {0.05, 0.15, 0.1, 0.1};
    World w;
    MinimiseVariable variable[4];
    double x[4], differences[4] = {0}, adjoint[4] = {0}, normal[16] = {0};
    MinimiseSums many = {.gradient = differences, .normal = normal}, one = {.gradient = adjoint};
    FitRollout rollout;
    Error err;
    (void)state;
    open_sheet(&w, truth);
    for (size_t i = 0; i < 4; i++) variable[i] = w.free.variable[i].range, x[i] = w.free.variable[i].start;
    assert_status_ok(fit_rollout_open(&w.free, &w.data, 1, &rollout, &err), err);
    rollout.variable = variable;
    assert_status_ok(fit_rollout_sums(&rollout, x, &many, &err), err);
    assert_status_ok(fit_rollout_sums(&rollout, x, &one, &err), err);
    for (size_t i = 0; i < 4; i++) {
        const double at = x[i], h = 1e-6;
        x[i] = at + h;
        const double high = cost_at(&rollout, x);
        x[i] = at - h;
        const double slope = (high - cost_at(&rollout, x)) / 2 / h;
        x[i] = at;
        assert_close(differences[i], slope, 1e-9, 1e-6);
        assert_close(adjoint[i], slope, 1e-9, 1e-6);
    }
    assert_true(cost_at(&rollout, truth) < 1e-24);
    fit_rollout_close(&rollout);
    FitResult r = fit(&w, (FitOptions){.threads = 1});
    for (size_t i = 0; i < 4; i++) assert_close(r.value[i].value, truth[i], 1e-9, 0);
    fit_result_free(&r);
    close_world(&w);
}

// ---- times

// Seconds of frame i of 30 a second, in whole milliseconds.
static double in_milliseconds(size_t i) { return round(1e3 * (double)i / 30) / 1e3; }

static double time_of(int k, size_t i) {
    switch (k) {
    case 0: return (double)i / 20;
    case 1: return (double)i / 30 + (i > 2 ? 0.06 - 1.0 / 30 : 0);
    case 2: return round(1e3 * (double)i / 24) / 1e3;
    case 3: return in_milliseconds(i) + (i == 2 ? 1e-3 : 0);
    case 4: return in_milliseconds(i) + (i == 2 ? 0.5e-3 : 0);
    case 5: return in_milliseconds(i);
    case 6: return floor(1e3 * (double)i / 30) / 1e3;
    default: return 1e6 + in_milliseconds(i + 1);
    }
}

// A recording whose frames are not evenly apart has no fps that could be said; one whose times have milliseconds has.
// The scene's own fps in milliseconds is accepted, but a frame that is one millisecond off is not.
static void test_times(void **state) {
    static const char *const names[] = {"b.density"};
    static const char *const words[] = {"say \"fps: 20\"", "times are uneven, 0.0333333 to 0.06", "say \"fps: 23.98",
                                        "times are uneven, 0.032 to 0.035", "times are uneven, 0.0325 to 0.0345"};
    (void)state;
    for (int k = 0; k < 8; k++) {
        World w;
        RolloutFile file = {0};
        FitData data;
        Error err;
        char path[160];
        open_world(&w, SCENE_OF("4"), names, 1, NULL);
        test_make_folder(w.folder);
        snprintf(path, sizeof path, "%s/r.h5", w.folder);
        assert_status_ok(record_run(&w.scene, &(SimOptions){.threads = 1}, &file, &(RecordWorst){0}, &err), err);
        for (size_t i = 0; i <= file.steps; i++) file.time[i] = time_of(k, i);
        assert_status_ok(rollout_file_write(&file, path, &err), err);
        if (k < 5) {
            assert_status_error(fit_data_open_rollout(path, FIT_STATES, &w.scene, &data, &err), STATUS_BAD_INPUT, err,
                                words[k]);
            assert_true((k == 0 || k == 2) == (strstr(err.text, "fps") != NULL));
        } else {
            assert_status_ok(fit_data_open_rollout(path, FIT_STATES, &w.scene, &data, &err), err);
            fit_data_close(&data);
        }
        rollout_file_free(&file);
        test_remove_folder(w.folder);
        close_world(&w);
    }
}

// ---- recovery

static void check_recovery(const char *const *names, size_t count, const double *truth, FitOptions options,
                           double tolerance) {
    World w;
    open_world(&w, SCENE, names, count, truth);
    options.threads = 1;
    FitResult r = fit(&w, options);
    assert_true(r.converged && r.has_errors && r.first_rms > 1e-3);
    for (size_t i = 0; i < w.free.count; i++) {
        assert_close(r.value[i].value, truth[i], tolerance, tolerance);
        assert_int_equal(r.value[i].verdict, FIT_FITTED);
    }
    fit_result_free(&r);
    close_world(&w);
}

static void test_recovery(void **state) {
    static const char *const names[] = {"g.k_e", "g.mu", "b.density", "b.velocity"};
    const double truth[] = {200, 0.45, 350, 0.8, 0.1, -1.2};
    (void)state;
    check_recovery(names, 4, truth, (FitOptions){.horizon = 4}, 1e-8);
    // L-BFGS ends where a step of 1e-9 of the largest number changes nothing
    check_recovery(names, 2, truth, (FitOptions){.method = FIT_LBFGS, .horizon = 10}, 1e-5);
}

// A few steps have the same bits with any number of threads.
static void test_threads(void **state) {
    static const char *const names[] = {"b.density", "b.velocity.x"}; // enough tetrahedra for two threads to pay
    static const char text[] =
        "frames: 2\nsubsteps: 12\nprecision: f64\nobjects: {b: {box: {size: [1, 1, 1], cells: [8, 8, 8]},\n"
        "  density: 100, solid: {mu: 2e3, lambda: 2e3}, velocity: [1, 0, 0], fixed: {max: [-0.4, 1, 1]}}}\n";
    static const double truth[] = {130, 0.8};
    World w;
    (void)state;
    open_world(&w, text, names, 2, truth);
    FitResult one = fit(&w, (FitOptions){.iterations = 2, .threads = 1}),
              two = fit(&w, (FitOptions){.iterations = 2, .threads = 2});
    for (size_t i = 0; i < 2; i++) {
        assert_memory_equal(&one.value[i].value, &two.value[i].value, sizeof(double));
        assert_memory_equal(&one.value[i].error, &two.value[i].error, sizeof(double));
        assert_true(one.value[i].value != w.free.variable[i].start);
    }
    fit_result_free(&one);
    fit_result_free(&two);
    close_world(&w);
}

// Of a start from which a rollout explodes nothing is said but where; a search survives such points.
static void test_explosion(void **state) {
    static const char *const names[] = {"b.solid.young"};
    const double truth[] = {4e3}, start[] = {1e9};
    World w;
    open_world(&w, SCENE, names, 1, truth);
    FitResult r;
    Error err;
    (void)state;
    w.free.variable[0].range.high = 1e12;
    assert_status_error(fit_run(&w.free, &w.data, &(FitOptions){.at = start, .threads = 1}, &r, &err), STATUS_FAILED,
                        err, "s.yaml, at the start of the fit: ");
    r = fit(&w, (FitOptions){.starts = 4, .threads = 1}); // drawn up to 1e12 Pa
    assert_close(r.value[0].value, 4e3, 0, 1e-6);
    fit_result_free(&r);
    close_world(&w);
}

// ---- what a text may not have, and what a user may not say

static void test_refused(void **state) {
    static const char *const poisson[] = {"b.solid.poisson"}, *const mu[] = {"g.mu"};
    static const char limit[] =
        "frames: 2\nsubsteps: 4\nobjects:\n  b: {box: {size: [1, 1, 1], cells: [1, 1, 1]}, density: 200,\n"
        "    solid: {young: 2e3, poisson: 0.4999}}\n";
    FitFree f;
    Error err;
    (void)state;
    assert_status_error(fit_free_parse(SCENE "\0x: 1\n", sizeof SCENE "\0x: 1\n" - 1, "nul", mu, 1, &f, &err),
                        STATUS_BAD_INPUT, err, "nul");
    assert_status_ok(fit_free_parse(limit, strlen(limit), "limit", poisson, 1, &f, &err), err);
    const double most = f.variable[0].range.high;
    assert_status_ok(fit_free_bound(&f, poisson[0], NAN, NAN, 0.6, &err), err);
    assert_true(f.variable[0].range.high == most && most < 0.5);
    assert_status_ok(fit_free_bound(&f, poisson[0], 0.3, NAN, 0.4, &err), err);
    assert_true(f.variable[0].range.high == 0.4);
    fit_free_close(&f);
}

// ---- rows of the section `values`

static const char rows[] =
    "frames: 20\nfps: 30\nsubsteps: 40\nprecision: f64\nobjects:\n"
    "  b: {box: {size: [0.8, 0.2, 0.2], cells: [4, 1, 1]}, density: 100, solid: {mu: 2e4, lambda: 2e4, k_d: 3},\n"
    "      fixed: {max: [-0.39, 1, 1]}}\ncontrols: [{object: b, force: [0, 3, 1], from: 0, to: 5}]\n";

static void test_rows(void **state) {
    static const char *const names[] = {"values.b.tet.mu.3", "values.b.velocity.7.y", "values.b.mass"};
    World w = {0};
    Error err;
    char *text;
    size_t length;
    SimScene scene;
    (void)state;
    assert_status_ok(fit_free_parse(rows, strlen(rows), "rows", names, 3, &w.free, &err), err);
    assert_int_equal(w.free.count, 22); // 20 masses
    double x[22];
    for (size_t i = 0; i < 22; i++) x[i] = w.free.variable[i].start;
    const size_t velocity = w.free.variable[0].entry == 22 ? 0 : 1;
    assert_string_equal(w.free.variable[velocity].name, "values.b.velocity.7.y");
    assert_true(!w.free.variable[velocity].range.log && w.free.variable[2].range.log);
    x[velocity] = 5;
    assert_status_ok(fit_free_scene(&w.free, x, &scene, &err), err);
    assert_close(scene.values.of[SIM_VELOCITY][22], 5, 0, 0);
    assert_close(scene.values.of[SIM_TET_MU][3], 2e4, 0, 0);
    assert_status_ok(fit_free_text(&w.free, x, &text, &length, &err), err);
    assert_non_null(strstr(text, "values: # one number for each particle or element\n  b:\n"));
    scene_free(&scene);
    free(text);
    fit_free_close(&w.free);
    static const struct {
        const char *name, *words;
    } wrong[] = {{"values.b.mas", "unknown number"},
                 {"values.c.mass", "unknown number"},
                 {"values.b.mass.20", "unknown number"},
                 {"values.b.spring.k_e", "unknown number"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_status_error(fit_free_parse(rows, strlen(rows), "rows", &wrong[i].name, 1, &w.free, &err),
                            STATUS_BAD_INPUT, err, wrong[i].words);
}

// Stiffness of four groups, each of a cell's five tets, from states; by the gradient of the adjoint too.
static void test_groups(void **state) {
    static const char *const names[] = {"values.b.tet.mu"};
    char text[1024];
    (void)state;
    snprintf(text, sizeof text, "%svalues: {b: {tet.mu: [2e4, 2e4, 2e4, 2e4]}}\n", rows);
    double truth[4] = {1e4, 3e4, 2e4, 1.5e4};
    World w;
    open_world(&w, text, names, 1, truth);
    assert_int_equal(w.free.count, 4);
    assert_int_equal(w.free.variable[0].entries, 5);
    for (int m = 0; m < 2; m++) {
        FitResult r = fit(&w, (FitOptions){.method = m ? FIT_LBFGS : FIT_LM, .threads = 1});
        for (size_t i = 0; i < 4; i++) assert_close(r.value[i].value, truth[i], 0, m ? 1e-4 : 1e-7);
        fit_result_free(&r);
    }
    close_world(&w);
    snprintf(text, sizeof text, "%svalues: {b: {tet.mu: [2e4, 2e4, 2e4]}}\n", rows);
    Error err;
    assert_status_error(fit_free_parse(text, strlen(text), "rows", names, 1, &w.free, &err), STATUS_BAD_INPUT, err,
                        "tet.mu: expected a list of 20 rows, or of a number by which 20 can be divided");
}

// A list that the section `values` lacks is put into it, in brackets or in lines, whatever else stands there.
static void test_merged(void **state) {
    static const char *const names[] = {"values.b.tet.mu", "values.b.mass"};
    static const char *const sections[] = {"values: {b: {tet.mu: [1e4]}}\n", "values:\n  b:\n    tet.mu: [1e4]\n",
                                           "values:\n    b: {tet.mu: [1e4]} # soft\n",
                                           "# ± \nvalues: {b: {velocity: [[1, 0, 0]]}}\n",
                                           "values:\n  c:\n    mass: [3]\n"};
    (void)state;
    for (size_t s = 0; s < sizeof sections / sizeof *sections; s++) {
        char text[2048];
        FitFree f;
        SimScene scene;
        Error err;
        const bool other = strstr(sections[s], "c:");
        snprintf(text, sizeof text,
                 "frames: 2\nsubsteps: 40\nobjects:\n"
                 "  b: {box: {size: [1, 1, 1], cells: [1, 1, 1]}, density: 8, solid: {mu: 2e4, lambda: 2e4}}\n"
                 "  c: {points: {at: [[9, 0, 0]]}, mass: 1}\n%s",
                 sections[s]);
        assert_status_ok(fit_free_parse(text, strlen(text), "merged", names, 2, &f, &err), err);
        assert_status_ok(fit_free_scene(&f, NULL, &scene, &err), err);
        const bool given = strstr(sections[s], "tet.mu");
        assert_int_equal(f.count, 8 + (given ? 1 : 5));
        assert_close(scene.values.of[SIM_TET_MU][4], given ? 1e4 : 2e4, 0, 0);
        assert_close(scene.values.of[SIM_MASS][8], other ? 3 : 1, 0, 0);
        double mass = 0;
        for (size_t i = 0; i < 8; i++) mass += scene.values.of[SIM_MASS][i];
        assert_close(mass, 8, 0, 1e-12);
        scene_free(&scene);
        fit_free_close(&f);
    }
}

// Masses of all particles, by LM, which FIT_AUTO takes of up to 128 numbers of states, and by L-BFGS. Those of the
// fixed ones do nothing, and are named.
static void test_many(void **state) {
    static const char *const names[] = {"values.b.mass"};
    double truth[20];
    World w;
    (void)state;
    for (size_t i = 0; i < 20; i++) truth[i] = 0.16 * (0.8 + 0.02 * (double)i);
    open_world(&w, rows, names, 1, truth);
    assert_int_equal(w.free.count, 20);
    for (size_t i = 0; i < 20; i++) w.free.variable[i].start = 0.16;
    for (int m = 0; m < 2; m++) {
        FitResult r = fit(&w, (FitOptions){.method = m ? FIT_LBFGS : FIT_AUTO, .iterations = 400, .threads = 1});
        assert_true(r.has_errors);
        for (size_t i = 0; i < 20; i++) {
            const bool fixed = w.scene.model.fixed[i];
            assert_int_equal(r.value[i].verdict, fixed ? FIT_UNDETERMINED : FIT_FITTED);
            assert_close(r.value[i].value, fixed ? 0.16 : truth[i], 0, m ? 1e-3 : 1e-8); // L-BFGS ends at 4e-8
        }
        fit_result_free(&r);
    }
    close_world(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),   cmocka_unit_test(test_text),      cmocka_unit_test(test_derivatives),
        cmocka_unit_test(test_centres), cmocka_unit_test(test_recovery),  cmocka_unit_test(test_times),
        cmocka_unit_test(test_threads), cmocka_unit_test(test_explosion), cmocka_unit_test(test_rows),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_groups),    cmocka_unit_test(test_merged),
        cmocka_unit_test(test_many)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
