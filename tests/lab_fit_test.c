// SPDX-License-Identifier: Apache-2.0
// Fits of scenes to states: which numbers can be free, derivatives, recovery, standard errors, what is not determined.
#include "lab/fit_rollout.h"
#include "lab/fit_write.h"

#include "base/random.h"
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

static void test_derivatives(void **state) {
    static const char *const names[] = {"g.k_e",     "g.k_d",   "g.k_f",      "g.mu",
                                        "b.density", "b.solid", "b.position", "b.velocity"};
    const double h[] = {330, 0.4, 6, 0.2, 210, 1800, 0.25, 1.2, 0.01, 0, 0.12, 1.1, 0.1, -1};
    World w;
    open_world(&w, SCENE, names, 8, h);
    const size_t P = w.free.count;
    MinimiseVariable variable[32];
    double x[32], differences[32] = {0}, adjoint[32] = {0}, normal[32 * 32] = {0};
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
    for (size_t i = 0; i < P; i++) {
        const double size = sqrt(2 * many.cost * normal[i * P + i]); // the gradient is at most that
        assert_true(size > 0);
        assert_close(differences[i], adjoint[i], 1e-8 * size,
                     1e-7); // both are of f64; differences have an error of 1e-10
    }
    fit_rollout_close(&rollout);
    close_world(&w);
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

// ---- standard errors

// How many of the fits to recordings with noise have the truth within `bars` standard errors, of all numbers.
static double covered(double bars) {
    static const char *const names[] = {"g.k_e", "g.mu", "b.velocity"};
    World w;
    open_world(&w, SCENE, names, 3, NULL);
    const size_t count = w.data.frames * 3 * w.scene.model.particles, P = w.free.count;
    double *clean = malloc(count * sizeof *clean), inside = 0;
    enum { DRAWS = 60 };
    assert_non_null(clean);
    memcpy(clean, w.data.position, count * sizeof *clean);
    for (uint32_t draw = 0; draw < DRAWS; draw++) {
        const RandomKey key = {4, RANDOM_TEST, draw, 0};
        for (size_t i = 0; i < count; i++) {
            const double u = 1 - (double)random_uniform(key, 2 * i), v = (double)random_uniform(key, 2 * i + 1);
            w.data.position[i] = clean[i] + 2e-3 * sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
        }
        FitResult r = fit(&w, (FitOptions){.threads = 1});
        for (size_t i = 0; i < P; i++) {
            assert_int_equal(r.value[i].verdict, FIT_FITTED);
            inside += fabs(r.value[i].value - w.free.variable[i].start) < bars * r.value[i].error;
        }
        fit_result_free(&r);
    }
    free(clean);
    close_world(&w);
    return inside / (double)(DRAWS * P);
}

// 68.3 % of 300; errors within one fit are correlated, so the allowance is four standard deviations of 120 draws.
// Planted: bars of half the length cover 38 %.
static void test_coverage(void **state) {
    (void)state;
    assert_close(covered(1), 0.683, 0.17, 0);
    assert_false(test_close(covered(0.5), 0.683, 0.17, 0));
}

// ---- what is not determined

static void test_undetermined(void **state) {
    // In the air friction does nothing; what touches later does not count.
    static const char *const air[] = {"g.mu", "b.velocity.x"};
    // Without a known force mass and all stiffnesses scale together.
    static const char *const scale[] = {"g.k_e", "g.k_d", "g.k_f", "b.density", "b.solid.young", "b.solid.k_d"};
    const double truth[] = {300, 0.5, 5, 200, 2e3, 1};
    World w;
    open_world(&w,
               "frames: 3\n"
               "contacts: {g: {k_e: 300, mu: 0.3}}\nplanes: [{}]\nsubsteps: 4\nobjects:\n"
               "  b: {points: {at: [[0, 0, 9]]}, mass: 1, velocity: [1, 0, 0]}\n",
               air, 2, (double[]){0.3, 2});
    FitResult r = fit(&w, (FitOptions){.threads = 1});
    char words[256];
    (void)state;
    assert_int_equal(r.value[0].verdict, FIT_UNDETERMINED);
    assert_true(r.value[0].value == 0.3 && isnan(r.value[0].error));
    assert_close(r.value[1].value, 2, 0, 1e-8);
    fit_words(&w.free, &r, 0, words, sizeof words);
    assert_string_equal(words, "0.3, its start: not determined");
    fit_result_free(&r);
    close_world(&w);

    open_world(&w, SCENE, scale, 6, truth);
    for (size_t i = 0; i < 6; i++) w.free.variable[i].start = truth[i] * (i % 2 ? 1.2 : 0.9);
    r = fit(&w, (FitOptions){.threads = 1});
    assert_int_equal(r.value[0].verdict, FIT_UNDETERMINED);
    assert_int_equal(r.value[0].with[0], 62); // with all others
    for (size_t i = 1; i < 6; i++) {
        assert_int_equal(r.value[i].verdict, FIT_FITTED);
        assert_close(r.value[i].value / truth[i], 0.9, 0, 1e-5); // for the k_e that it started with
    }
    fit_result_free(&r);
    close_world(&w);
}

// White noise of so many metres on every position.
static void add_noise(World *w, double size, uint32_t draw) {
    const RandomKey key = {6, RANDOM_TEST, draw, 0};
    for (size_t i = 0; i < w->data.frames * 3 * w->scene.model.particles; i++) {
        const double u = 1 - (double)random_uniform(key, 2 * i), v = (double)random_uniform(key, 2 * i + 1);
        w->data.position[i] += size * sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
    }
}

// Two particles slide on the ground and stop, or bounce. By the slope at the minimum, which lies in a kink, velocity.z
// is not determined, or known several times as well as it is.
#define PARTICLES(contact, up, place)                                                                                  \
    "frames: 30\nfps: 30\nsubsteps: 100\nprecision: f64\ncontacts: {g: {" contact                                      \
    ", mu: 0.3, fade: 0.001}}\nplanes: [{}]\nobjects:\n  p: {points: {at: [[0, 0, 0], [0.1, 0, " up                    \
    "]], springs: [[0, 1]]}, mass: 0.4,\n      springs: {k_e: 100, k_d: 0.5}, velocity: [1, 0.3, 0], position: [0, "   \
    "0, " place "]}\n"

static void test_kinks(void **state) {
    static const char *const texts[] = {PARTICLES("k_e: 2000, k_d: 20, k_f: 100", "0", "-0.000981"),
                                        PARTICLES("k_e: 2000, k_d: 2, k_f: 10", "0.03", "0.3")};
    static const char *const names[] = {"g.mu", "p.velocity"};
    static const double truth[] = {0.3, 1, 0.3, 0}, start[] = {0.4, 0.8, 0.4, 0.1};
    double inside = 0, all = 0;
    (void)state;
    for (uint32_t draw = 0; draw < 12; draw++) {
        World w;
        open_world(&w, texts[draw % 2], names, 2, NULL);
        for (size_t i = 0; i < 4; i++) w.free.variable[i].start = start[i];
        add_noise(&w, 5e-3, draw);
        FitResult r = fit(&w, (FitOptions){.threads = 1});
        assert_close(r.rms, 5e-3, 0, 0.2);
        for (size_t i = 0; i < 4; i++, all++) {
            assert_int_equal(r.value[i].verdict, FIT_FITTED);
            inside += fabs(r.value[i].value - truth[i]) < 2 * r.value[i].error;
        }
        fit_result_free(&r);
        close_world(&w);
    }
    assert_true(inside >= 0.85 * all); // 95 % are right
}

// Any hard ground does, but the soft one of the start does not: the minimum is kept.
static void test_against(void **state) {
    static const char *const names[] = {"g.k_e"};
    World w;
    (void)state;
    open_world(&w, PARTICLES("k_e: 20000, k_d: 20, k_f: 10", "0", "0"), names, 1, NULL);
    w.free.variable[0].start = 20;
    add_noise(&w, 5e-3, 1);
    FitResult r = fit(&w, (FitOptions){.threads = 1});
    assert_close(r.rms, 5e-3, 0, 0.2);
    assert_int_equal(r.value[0].verdict, FIT_FITTED);
    assert_true(r.value[0].value > 1000 && r.value[0].error > 0.5 * r.value[0].value);
    fit_result_free(&r);
    close_world(&w);
}

// With steps far above the stable bound, three frames lead to where all of them explode: the fit is no worse than its
// start.
#define STIFF(steps, stiffness)                                                                                        \
    "frames: 10\nsubsteps: " steps "\nprecision: f64\nobjects:\n"                                                      \
    "  p: {points: {at: [[0, 0, 0], [0.1, 0, 0]], springs: [[0, 1]]}, mass: 0.4,\n"                                    \
    "      springs: {k_e: " stiffness ", k_d: 0.5}, velocity: [0.99, 0.3, 0]}\n"

static void test_no_worse(void **state) {
    static const char *const names[] = {"p.velocity.x"};
    World truth, w;
    (void)state;
    open_world(&truth, STIFF("10", "100"), names, 1, NULL);
    open_world(&w, STIFF("1", "1e5"), names, 1, NULL);
    memcpy(w.data.position, truth.data.position, w.data.frames * 6 * sizeof(double));
    add_noise(&w, 1e-8, 1);
    FitResult r = fit(&w, (FitOptions){.threads = 1});
    assert_true(r.rms <= r.first_rms && r.no_better);
    fit_result_free(&r);
    close_world(&w);
    close_world(&truth);
}

// Half a standard error from a bound the standard error is that without one.
static void test_beside_bound(void **state) {
    static const char *const names[] = {"p.velocity.x"};
    static const char text[] =
        "frames: 9\nsubsteps: 4\nobjects: {p: {points: {at: [[0, 0, 9]]}, mass: 1, velocity: [0.82, 0, 0]}}\n";
    double value = 0, error = 0;
    (void)state;
    for (int k = 0; k < 3; k++) {
        World w;
        Error err;
        open_world(&w, text, names, 1, (double[]){0.8});
        add_noise(&w, 1e-2, 1);
        const double low = value - (k == 1 ? 0.5 * error : 1), high = value + (k == 2 ? 0.5 * error : 1);
        if (k) assert_status_ok(fit_free_bound(&w.free, names[0], NAN, low, high, &err), err);
        FitResult r = fit(&w, (FitOptions){.threads = 1});
        assert_int_equal(r.value[0].verdict, FIT_FITTED);
        if (k == 0) value = r.value[0].value, error = r.value[0].error;
        assert_close(r.value[0].value, value, 1e-6, 0);
        assert_close(r.value[0].error, error, 0, 1e-2);
        fit_result_free(&r);
        close_world(&w);
    }
}

// A number that goes back to its start uses up no frame. White noise in x alone, so that frames disagree by more than
// the curvature says.
static void test_used_up(void **state) {
    static const char *const names[] = {"b.velocity.x", "g.mu"};
    double error[2];
    (void)state;
    for (size_t count = 1; count <= 2; count++) {
        World w;
        open_world(&w,
                   "frames: 8\n"
                   "contacts: {g: {k_e: 300, mu: 0.3}}\nplanes: [{}]\nsubsteps: 4\nobjects:\n"
                   "  b: {points: {at: [[0, 0, 9]]}, mass: 1, velocity: [1, 0, 0]}\n",
                   names, count, NULL);
        const RandomKey key = {5, RANDOM_TEST, 0, 0};
        for (size_t f = 1; f < w.data.frames; f++)
            w.data.position[3 * f] += 1e-3 * ((double)random_uniform(key, f) - 0.5);
        FitResult r = fit(&w, (FitOptions){.threads = 1});
        assert_int_equal(r.value[count - 1].verdict, FIT_FITTED);
        error[count - 1] = r.value[count - 1].error;
        fit_result_free(&r);
        close_world(&w);
    }
    assert_close(error[1], error[0], 0, 1e-6);
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
    static const char *const names[] = {"values.b.tet.mu", "values.b.mass"};
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
    snprintf(text, sizeof text, "%svalues: {b: {tet.mu: [2e4]}}\n", rows);
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
        cmocka_unit_test(test_names),    cmocka_unit_test(test_text),         cmocka_unit_test(test_derivatives),
        cmocka_unit_test(test_recovery), cmocka_unit_test(test_threads),      cmocka_unit_test(test_explosion),
        cmocka_unit_test(test_coverage), cmocka_unit_test(test_undetermined), cmocka_unit_test(test_rows),
        cmocka_unit_test(test_against),  cmocka_unit_test(test_kinks),        cmocka_unit_test(test_used_up),
        cmocka_unit_test(test_refused),  cmocka_unit_test(test_groups),       cmocka_unit_test(test_merged),
        cmocka_unit_test(test_many),     cmocka_unit_test(test_beside_bound), cmocka_unit_test(test_no_worse)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
