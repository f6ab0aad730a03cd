// SPDX-License-Identifier: Apache-2.0
// Standard errors of fits of scenes to states, and what is not determined.
#include "lab/fit_rollout.h"
#include "lab/fit_write.h"

#include "base/random.h"
#include "base/stop.h"
#include "tests/fit_world.h"

// ---- standard errors

// White noise of so many metres on every position.
static void add_noise(World *w, double size, uint32_t draw) {
    const RandomKey key = {6, RANDOM_TEST, draw, 0};
    for (size_t i = 0; i < w->data.frames * 3 * w->scene.model.particles; i++) {
        const double u = 1 - (double)random_uniform(key, 2 * i), v = (double)random_uniform(key, 2 * i + 1);
        w->data.position[i] += size * sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
    }
}

// 60 fits to recordings with noise: 68.3 % of the truths lie within one standard error. Errors within one fit are
// correlated, so the allowance is four standard deviations of 120 draws. Planted: bars of half the length cover 38 %.
static void test_coverage(void **state) {
    static const char *const names[] = {"g.k_e", "g.mu", "b.velocity"};
    World w;
    (void)state;
    open_world(&w, SCENE, names, 3, NULL);
    const size_t count = w.data.frames * 3 * w.scene.model.particles, P = w.free.count;
    double *clean = malloc(count * sizeof *clean), whole = 0, half = 0;
    enum { DRAWS = 60 };
    assert_non_null(clean);
    memcpy(clean, w.data.position, count * sizeof *clean);
    for (uint32_t draw = 0; draw < DRAWS; draw++) {
        memcpy(w.data.position, clean, count * sizeof *clean);
        add_noise(&w, 2e-3, draw);
        FitResult r = fit(&w, (FitOptions){.threads = 1});
        for (size_t i = 0; i < P; i++) {
            assert_int_equal(r.value[i].verdict, FIT_FITTED);
            const double bars = fabs(r.value[i].value - w.free.variable[i].start) / r.value[i].error;
            whole += (bars < 1) / (double)(DRAWS * P);
            half += (bars < 0.5) / (double)(DRAWS * P);
        }
        fit_result_free(&r);
    }
    free(clean);
    close_world(&w);
    assert_close(whole, 0.683, 0.17, 0);
    assert_false(test_close(half, 0.683, 0.17, 0));
}

// ---- what is not determined

// A particle that does not touch the ground.
#define AIR(frames)                                                                                                    \
    "frames: " frames "\ncontacts: {g: {k_e: 300, mu: 0.3}}\nplanes: [{}]\nsubsteps: 4\nobjects:\n"                    \
    "  b: {points: {at: [[0, 0, 9]]}, mass: 1, velocity: [1, 0, 0]}\n"

static void test_undetermined(void **state) {
    // In the air friction does nothing; what touches later does not count.
    static const char *const air[] = {"g.mu", "b.velocity.x"};
    // Without a known force mass and all stiffnesses scale together.
    static const char *const scale[] = {"g.k_e", "g.k_d", "g.k_f", "b.density", "b.solid.young", "b.solid.k_d"};
    const double truth[] = {300, 0.5, 5, 200, 2e3, 1};
    World w;
    open_world(&w, AIR("3"), air, 2, (double[]){0.3, 2});
    FitResult r = fit(&w, (FitOptions){.threads = 1});
    char words[256];
    (void)state;
    assert_int_equal(r.value[0].verdict, FIT_UNDETERMINED);
    assert_true(r.value[0].value == 0.3 && isnan(r.value[0].error));
    assert_close(r.value[1].value, 2, 0, 1e-8);
    fit_words(&w.free, &r, 0, words, sizeof words);
    assert_string_equal(words, "not determined by the recording; stays at its start, 0.3");
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

// A particle that bounces where the force jumps at touch: the cost is a saw-tooth, and the slope in a tooth gave errors
// that were too small by up to 1e4.
static void test_teeth(void **state) {
    static const char text[] =
        "frames: 40\nfps: 30\nsubsteps: 60\nprecision: f64\ncontacts: {g: {k_e: 500, k_d: 2, k_f: 10, mu: 0.3}}\n"
        "planes: [{}]\nobjects: {p: {points: {at: [[0, 0, 0]]}, mass: 0.1, position: [0, 0, 0.4], velocity: [0.5, 0, "
        "0]}}\n";
    static const char *const names[] = {"g.k_d", "p.velocity.z"};
    static const double truth[] = {2, 0}, start[] = {2.5, 0.1};
    double inside = 0, all = 0;
    (void)state;
    for (uint32_t draw = 0; draw < 6; draw++) {
        World w;
        open_world(&w, text, names, 2, NULL);
        for (size_t i = 0; i < 2; i++) w.free.variable[i].start = start[i];
        add_noise(&w, 3e-3, draw);
        FitResult r = fit(&w, (FitOptions){.threads = 1});
        char words[256];
        assert_true(fit_warning(&r, 1, words, sizeof words) && strstr(words, "no \"fade\""));
        for (size_t i = 0; i < 2; i++, all++) {
            assert_int_equal(r.value[i].verdict, FIT_FITTED);
            assert_true(r.value[i].error < (i ? 0.4 : 1)); // the scatter is .004 and .04
            inside += fabs(r.value[i].value - truth[i]) < 2 * r.value[i].error;
        }
        fit_result_free(&r);
        close_world(&w);
    }
    assert_true(inside >= 0.8 * all); // 95 % are right
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
        open_world(&w, AIR("8"), names, count, NULL);
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

// Asks to stop at the last of so many reports.
static void count_down(void *context, long step, size_t frames, double rms, const double *x) {
    (void)step, (void)frames, (void)rms, (void)x;
    if (--*(long *)context == 0) stop_request(STOP_ASKED);
}

// A stop while errors are worked out is told, and leaves the numbers. The last step is one of a number that went back.
static void test_stop(void **state) {
    static const char *const names[] = {"g.mu", "b.velocity.x"};
    enum { MANY = 1000 };
    long reports = MANY;
    FitOptions options = {.threads = 1, .report = count_down, .context = &reports};
    World w;
    FitResult r;
    Error err;
    (void)state;
    open_world(&w, AIR("3"), names, 2, (double[]){0.3, 2});
    assert_status_ok(fit_run(&w.free, &w.data, &options, &r, &err), err);
    assert_int_equal(r.value[0].verdict, FIT_UNDETERMINED);
    fit_result_free(&r);
    reports = MANY - reports;
    assert_status_error(fit_run(&w.free, &w.data, &options, &r, &err), STATUS_INTERRUPTED, err, "stopped");
    stop_clear();
    assert_close(r.value[1].value, 2, 0, 1e-8);
    assert_int_equal(r.no_errors.status, STATUS_OK);
    fit_result_free(&r);
    close_world(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_coverage),     cmocka_unit_test(test_undetermined), cmocka_unit_test(test_against),
        cmocka_unit_test(test_kinks),        cmocka_unit_test(test_teeth),        cmocka_unit_test(test_used_up),
        cmocka_unit_test(test_beside_bound), cmocka_unit_test(test_no_worse),     cmocka_unit_test(test_stop)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
