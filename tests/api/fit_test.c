// SPDX-License-Identifier: Apache-2.0
// vpd_sim_fit: numbers found again from states in memory and from a rollout file, and what is said about wrong
// arguments.
#include "tests/test.h"

#include <vpd.h>

#define THROW "scenes/throw.yaml"

// All frames of the scene as it stands in the file.
static double *record(size_t *frames, size_t *particles) {
    vpd_sim_options options = {.struct_size = sizeof options, .precision = "f64", .threads = 1};
    vpd_sim_facts facts = {.struct_size = sizeof facts};
    vpd_sim *sim;
    vpd_error err;
    if (vpd_sim_open(THROW, &options, &sim, &err)) fail_msg("%s", err.text);
    assert_int_equal(vpd_sim_get_facts(sim, &facts, NULL), VPD_OK);
    *frames = facts.frames + 1, *particles = facts.particles;
    double *out = calloc(*frames * *particles * 3, sizeof *out);
    assert_non_null(out);
    assert_int_equal(vpd_sim_rollout(sim, NULL, 0, 0, out, NULL, &err), VPD_OK);
    vpd_sim_close(sim);
    return out;
}

static vpd_sim_number number_of(const vpd_sim_fitted *fitted, size_t index) {
    vpd_sim_number number = {.struct_size = sizeof number};
    assert_int_equal(vpd_sim_fitted_get_number(fitted, index, &number, NULL), VPD_OK);
    return number;
}

static void test_states(void **state) {
    size_t frames, particles;
    double *position = record(&frames, &particles);
    const vpd_sim_free wanted[] = {
        {"box.density", 400, 50, NAN}, {"box.velocity.z", 0.3, -2, 2}, {"gravity.x", NAN, -1, 1}};
    vpd_sim_fit_options options = {.struct_size = sizeof options,
                                   .position = position,
                                   .frames = 20,
                                   .free = wanted,
                                   .free_count = 2,
                                   .threads = 1};
    vpd_sim_fitted *fitted;
    vpd_sim_fitted_facts facts = {.struct_size = sizeof facts};
    vpd_error err = {VPD_OK, ""};
    (void)state;
    if (vpd_sim_fit(THROW, &options, &fitted, &err)) fail_msg("%s", err.text);
    assert_int_equal(vpd_sim_fitted_get_facts(fitted, &facts, &err), VPD_OK);
    assert_true(facts.numbers == 2 && facts.frames == 20 && facts.converged && facts.has_errors && facts.steps > 1);
    assert_true(facts.rms < 1e-9 && facts.first_rms > 1e-3);
    assert_non_null(strstr(facts.scene, "density: "));
    assert_string_equal(facts.warnings, "");
    const vpd_sim_number density = number_of(fitted, 0), speed = number_of(fitted, 1);
    assert_string_equal(density.name, "box.density");
    assert_string_equal(speed.name, "box.velocity.z");
    assert_true(density.start == 400 && speed.start == 0.3);
    assert_close(density.value, 300, 0, 1e-7);
    assert_close(speed.value, 0.5, 0, 1e-7);
    assert_string_equal(density.verdict, "fitted");
    assert_string_equal(density.with, "");
    assert_true(density.error >= 0 && density.error < 1e-6);
    vpd_sim_fitted_close(fitted);
    free(position);
}

// Friction does nothing in the first frames, in the air.
static void test_undetermined(void **state) {
    size_t frames, particles;
    double *position = record(&frames, &particles);
    const vpd_sim_free wanted[] = {{"ground.mu", 0.7, NAN, NAN}, {"box.velocity.z", 0.3, NAN, NAN}};
    vpd_sim_fit_options options = {.struct_size = sizeof options,
                                   .position = position,
                                   .frames = 4,
                                   .free = wanted,
                                   .free_count = 2,
                                   .threads = 1};
    vpd_sim_fitted *fitted;
    vpd_error err = {VPD_OK, ""};
    (void)state;
    if (vpd_sim_fit(THROW, &options, &fitted, &err)) fail_msg("%s", err.text);
    const vpd_sim_number mu = number_of(fitted, 0);
    assert_string_equal(mu.verdict, "not determined");
    assert_true(mu.value == 0.7 && isnan(mu.error));
    vpd_sim_fitted_close(fitted);
    free(position);
}

static void test_wrong(void **state) {
    double numbers[2 * 36 * 3] = {0};
    const vpd_sim_free good = {"box.density", NAN, NAN, NAN};
    const char *const colour = "colour", *const colours = "colours", *const nothing = NULL;
    const vpd_sim_fit_options right = {
        .struct_size = sizeof right, .position = numbers, .frames = 2, .free = &good, .free_count = 1};
    vpd_sim_fitted *fitted = NULL;
    vpd_sim_number number = {.struct_size = sizeof number};
    vpd_error err;
    (void)state;
#define WRONG(words, ...)                                                                                              \
    do {                                                                                                               \
        vpd_sim_fit_options o = right;                                                                                 \
        err = (vpd_error){0};                                                                                          \
        __VA_ARGS__;                                                                                                   \
        if (vpd_sim_fit(THROW, &o, &fitted, &err) != VPD_BAD_INPUT || !strstr(err.text, words))                        \
            fail_msg("%s: \"%s\"", words, err.text);                                                                   \
        assert_null(fitted);                                                                                           \
    } while (0)
    WRONG("struct_size", o.struct_size = 1);
    WRONG("data, position: expected one of the two, found neither", o.position = NULL);
    WRONG("data, position: expected one of the two, found both", o.data = "a.h5");
    WRONG("episode: needs a data set", o.episode = "3");
    WRONG("states: found 1 frames", o.frames = 1);
    WRONG("particle 35 in frame 1 is not finite", numbers[215] = NAN);
    numbers[215] = 0;
    WRONG("none.h5", (o.position = NULL, o.data = "none.h5"));
    WRONG("method: expected auto, lm, lbfgs or adam, found \"newton\"", o.method = "newton");
    WRONG("iterations: expected 0 for the default", o.iterations = -1);
    WRONG("starts: expected 0", o.starts = 100000);
    WRONG("horizon: expected 0", o.horizon = 1);
    WRONG("threads", o.threads = -1);
    WRONG("compare: expected states, colour, depth or mask, found \"colours\"",
          (o.compare = &colours, o.compare_count = 1));
    WRONG("compare: positions have states alone", (o.compare = &colour, o.compare_count = 1));
    WRONG("compare: expected", (o.compare = &nothing, o.compare_count = 1));
    WRONG("free: expected", o.free = NULL);
    WRONG("did you mean \"box.density\"?", o.free = (&(vpd_sim_free){"box.densty", NAN, NAN, NAN}));
    WRONG("the start 500 is not between low 600", o.free = (&(vpd_sim_free){"box.density", NAN, 600, NAN}));
    WRONG("the start inf is not between", o.free = (&(vpd_sim_free){"box.density", INFINITY, NAN, NAN}));
    WRONG("frames: a fit cannot change this number by a little", o.free = (&(vpd_sim_free){"frames", NAN, NAN, NAN}));
    assert_int_equal(vpd_sim_fit("none.yaml", &right, &fitted, &err), VPD_BAD_INPUT);
    assert_int_equal(vpd_sim_fit(NULL, &right, &fitted, &err), VPD_BAD_INPUT);
    assert_int_equal(vpd_sim_fit(THROW, NULL, &fitted, &err), VPD_BAD_INPUT);
    assert_int_equal(vpd_sim_fit(THROW, &right, NULL, &err), VPD_BAD_INPUT);
    assert_int_equal(vpd_sim_fitted_get_number(NULL, 0, &number, &err), VPD_BAD_INPUT);
    vpd_sim_fitted_close(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_states), cmocka_unit_test(test_undetermined),
                                       cmocka_unit_test(test_wrong)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
