// SPDX-License-Identifier: Apache-2.0
// Numbers of a small scene found again from states and from pictures, the gradient from pixels to them against
// differences, and the page of experiments.
#include "lab/estimate.h"

#include "base/file.h"
#include "lab/experiment.h"
#include "tests/test.h"

// A box falls on its edge, bounces and slides.
static const char text[] =
    "frames: 10\nfps: 30\nsubsteps: 60\nprecision: f64\n"
    "cameras: {a: {eye: [0, -4, 1], look_at: [0, 0, 0.3]}}\n"
    "picture: {size: [32, 32], rasteriser: soft, sigma: 1e-3, gamma: 1e-2, near: 1, far: 12}\n"
    "contacts: {ground: {k_e: 300, k_d: 3, k_f: 10, mu: 0.5, fade: 0.02}}\nplanes: [{contact: ground}]\n"
    "objects: {body: {box: {size: [0.6, 0.5, 0.4], cells: [1, 1, 1]}, density: 10, solid: {mu: 2000, lambda: 2000, "
    "k_d: "
    "2}, position: [-0.3, 0, 0.38], rotation: {axis: [0, 1, 0.3], angle: 35}, velocity: [1.5, 0, -1]}}\n"
    "controls: [{object: body, force: [0, 3, 0], from: 0, to: 2}]\n";

static const EstimateUnknown unknown[] = {{SIM_MASS, 0, 0, true, 1.3, 0.5, 3},
                                          {SIM_TET_MU, 0, 0, false, 2500, 500, 9000},
                                          {SIM_CONTACT_MU, 0, 0, false, 0.4, 0.1, 1}};

static Estimate *open_problem(EstimateSource source) {
    const EstimateProblem problem = {text, unknown, 3, source, 2, 0, true, 1};
    Estimate *out;
    Error err;
    assert_status_ok(estimate_open(&problem, &out, &err), err);
    return out;
}

static void test_found(void **state) {
    (void)state;
    for (int source = 0; source < 2; source++) {
        double x[3] = {1, 2000, 0.5}, bar[3];
        EstimateResult result = {.error = bar};
        Error err;
        Estimate *e = open_problem((EstimateSource)source);
        assert_status_ok(estimate_solve(e, 3, x, &result, &err), err);
        for (int u = 0; u < 3; u++) assert_close(x[u], unknown[u].truth, 0, 1e-7); // paper: 1e-4 to 5e-3
        assert_true(result.rms < 1e-8 && result.lost == 0 && result.rollouts > 0);
        estimate_close(e);
    }
}

// Central differences of the loss: rounding of 1e-16 / 1e-6 relative, and h^2 f'''.
static void test_gradient(void **state) {
    (void)state;
    for (int source = 0; source < 2; source++) {
        double x[3] = {1, 2000, 0.5}, gradient[3], ignored[3], loss[2];
        Error err;
        Estimate *e = open_problem((EstimateSource)source);
        assert_status_ok(estimate_gradient(e, x, loss, gradient, &err), err);
        assert_true(loss[0] > 1e-3);
        for (int u = 0; u < 3; u++) {
            const double at = x[u], h = 1e-6 * at;
            x[u] = at + h;
            assert_status_ok(estimate_gradient(e, x, loss, ignored, &err), err);
            x[u] = at - h;
            assert_status_ok(estimate_gradient(e, x, loss + 1, ignored, &err), err);
            x[u] = at;
            assert_close(gradient[u], (loss[0] - loss[1]) / (2 * h), 0, 1e-5);
        }
        estimate_close(e);
    }
}

// Of pictures with 8 bits the errors are as large as the standard errors say.
static void test_rounded(void **state) {
    double x[3] = {1, 2000, 0.5}, bar[3];
    EstimateResult result = {.error = bar};
    Error err;
    (void)state;
    Estimate *e = open_problem(ESTIMATE_PIXELS);
    estimate_round(e);
    assert_status_ok(estimate_solve(e, 3, x, &result, &err), err);
    assert_close(result.rms, 1 / 255.0 / sqrt(12), 0, 0.3);
    for (int u = 0; u < 3; u++) {
        assert_close(x[u], unknown[u].truth, 4 * bar[u], 0);
        assert_true(bar[u] > 1e-7 * x[u] && bar[u] < 0.01 * x[u]);
    }
    estimate_close(e);
}

// A wrong start of another basin is given up, and says so.
static void test_hopeless(void **state) {
    const EstimateProblem problem = {text, unknown, 3, ESTIMATE_STATES, 1, 1e-30, true, 1};
    double x[3] = {3, 9000, 1}, bar[3];
    EstimateResult result = {.error = bar};
    Estimate *e;
    Error err;
    (void)state;
    assert_status_ok(estimate_open(&problem, &e, &err), err);
    assert_status_ok(estimate_solve(e, 3, x, &result, &err), err);
    assert_true(isinf(result.rms));
    estimate_close(e);
}

static void test_figures(void **state) {
    const double values[] = {1, 5, 2, 4};
    const ExperimentFigures f = experiment_figures(values, 4);
    (void)state;
    assert_close(f.mean, 3, 1e-12, 0);
    assert_close(f.median, 3, 1e-12, 0);
    assert_close(f.worst, 5, 0, 0);
    assert_close(f.spread, sqrt(10.0 / 3 / 4), 1e-12, 0);
    assert_true(isnan(experiment_figures(values, 0).mean));
}

// A section takes the place of its earlier form, and the others stay.
static void test_page(void **state) {
    char folder[64], path[128], *page;
    ExperimentResult result = {.instances = 3};
    size_t length;
    Error err;
    (void)state;
    test_make_folder(folder);
    snprintf(path, sizeof path, "%s/page.md", folder);
    for (int k = 0; k < 4; k++) {
        snprintf(result.text, sizeof result.text, "text %d.", k);
        assert_status_ok(experiment_write_page(experiments + k % 2, &result, path, &err), err);
    }
    assert_status_ok(file_read_all(path, 1 << 20, &page, &length, &err), err);
    assert_true(strstr(page, "# Experiments with the simulator\n") == page);
    assert_true(!strstr(page, "text 0.") && !strstr(page, "text 1."));
    const char *first = strstr(page, "text 2."), *second = strstr(page, "text 3.");
    assert_true(first && second && first < second);
    assert_true(strstr(page, "\n\n## mass\n") && strstr(page, "\n\n## contact\n") && !strstr(page, "\n\n\n"));
    free(page);
    test_remove_folder(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_found),    cmocka_unit_test(test_rounded),
                                       cmocka_unit_test(test_gradient), cmocka_unit_test(test_hopeless),
                                       cmocka_unit_test(test_figures),  cmocka_unit_test(test_page)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
