// SPDX-License-Identifier: Apache-2.0
// Fits of scenes to pictures that take long: many numbers, and error bars where the cost jumps.
#include "lab/fit_pictures.h"
#include "lab/fit_write.h"
#include "tests/fit_world.h"

#include <math.h>
#include <string.h>

// Velocities of eight particles, 24 numbers, by the default: LM, where L-BFGS ends at a third of the first residuals.
static void test_many(void **state) {
    static const char *const names[] = {"values.b.velocity"};
    static const char text[] =
        "frames: 6\nfps: 30\nsubsteps: 20\nprecision: f64\nlights: [{direction: [1, -1, 2], shadow: no}]\n"
        "cameras: {a: {eye: [0.1, -1.6, 0.6], look_at: [0.1, 0, 0.4]}, b: {eye: [1.6, 0.2, 0.7], look_at: [0.1, 0, "
        "0.4]}}\npicture: {size: [32, 32]}\nobjects:\n"
        "  b: {box: {size: [0.4, 0.4, 0.4], cells: [1, 1, 1]}, density: 100, colour: [200, 80, 60],\n"
        "      solid: {young: 2e3, poisson: 0.3, k_d: 2}, position: [0, 0, 0.4], velocity: [0.5, 0, 1]}\n";
    double truth[24];
    World w;
    Dataset *dataset;
    (void)state;
    for (int i = 0; i < 24; i++) truth[i] = (i % 3 == 0 ? 0.5 : i % 3 - 1) + 0.4 * sin(1 + 7 * i);
    open_pictures(&w, text, names, 1, truth, FIT_COLOUR, false, &dataset);
    assert_int_equal(w.free.count, 24);
    assert_true(!fit_by_adjoint(&(FitOptions){0}, 64) && fit_by_adjoint(&(FitOptions){0}, 65));
    FitResult r = fit(&w, (FitOptions){.threads = 1});
    assert_true(r.rms < 0.15 * r.first_rms);
    char words[256];
    assert_true(fit_warning(&r, 3, words, sizeof words) && strstr(words, "can be too small"));
    fit_result_free(&r);
    close_world(&w);
    dataset_close(dataset);
}

// Where edges cross pixels the cost jumps, and a search ends in some tooth of a valley. Root mean square of error over
// standard error: 0.5 here; by the slope in the tooth it would be 2.0, by the curvature alone 6.3.
static void test_picture_errors(void **state) {
    static const char *const names[] = {"b.density", "b.velocity.x"};
    double sum = 0, used = 0;
    (void)state;
    for (int k = 0; k < 4; k++) {
        World w;
        Dataset *dataset;
        const double truth[] = {180 + 50 * k, 0.7 + 0.13 * k};
        open_pictures(&w, SCENE_OF("8") "picture: {size: [48, 40]}\n", names, 2, truth, FIT_COLOUR, false, &dataset);
        for (int i = 0; i < 2; i++) w.free.variable[i].start = 1.05 * truth[i];
        FitResult r = fit(&w, (FitOptions){.threads = 1, .horizon = 9});
        for (int i = 0; i < 2; i++) sum += pow((r.value[i].value - truth[i]) / r.value[i].error, 2), used++;
        fit_result_free(&r);
        close_world(&w);
        dataset_close(dataset);
    }
    if (!(sqrt(sum / used) < 1.4 && sqrt(sum / used) > 0.1))
        fail_msg("errors are %.2f standard errors", sqrt(sum / used));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_many), cmocka_unit_test(test_picture_errors)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
