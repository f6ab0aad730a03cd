// SPDX-License-Identifier: Apache-2.0
// Fits of scenes to pictures, and to recordings of the scene itself.
#include "lab/fit_pictures.h"
#include "lab/fit_rollout.h"
#include "lab/fit_write.h"
#include "tests/fit_world.h"

// ---- pictures

#define PICTURE "picture: {size: [48, 40], rasteriser: soft}\n"

// Numbers from colour, depth or masks; the same bits with more threads. Pixels are bytes.
static void test_pictures(void **state) {
    static const char *const names[] = {"b.density", "b.velocity.x"};
    static const uint32_t kinds[] = {FIT_COLOUR, FIT_DEPTH, FIT_MASK | FIT_STATES};
    const double truth[] = {350, 0.8};
    (void)state;
    for (int k = 0; k < 3; k++) {
        World w;
        Dataset *dataset;
        open_pictures(&w, SCENE PICTURE, names, 2, truth, kinds[k], false, &dataset);
        FitResult r = fit(&w, (FitOptions){.threads = 1});
        for (size_t i = 0; i < 2; i++) {
            assert_int_equal(r.value[i].verdict, FIT_FITTED);
            assert_close(r.value[i].value, truth[i], 0, 0.02);
            assert_true(r.value[i].error < 0.05 * truth[i]);
        }
        fit_result_free(&r);
        close_world(&w);
        dataset_close(dataset);
    }
}

// Depth pulls at edges: most of the recorded box is beside the one of the start, before nothing.
static void test_depth_edges(void **state) {
    static const char *const names[] = {"b.velocity"};
    static const char *const text =
        "frames: 8\nfps: 30\nsubsteps: 20\nprecision: f64\nlights: [{direction: [1, -1, 2], shadow: no}]\n"
        "cameras: {a: {eye: [0, -2.5, 1], look_at: [0.3, 0, 0.8], fov: 40}}\npicture: {size: [32, 32]}\nobjects:\n"
        "  b: {box: {size: [0.3, 0.2, 0.2], cells: [1, 1, 1]}, density: 50, spin: [1, 2, 0],\n"
        "      solid: {young: 8e3, poisson: 0.3, k_d: 1}, position: [0, 0, 0.8], velocity: [0.9, 0.2, 2.5]}\n";
    const double truth[] = {0.9, 0.2, 2.5};
    World w;
    Dataset *dataset;
    (void)state;
    open_pictures(&w, text, names, 1, NULL, FIT_DEPTH, false, &dataset);
    for (int i = 0; i < 3; i++) w.free.variable[i].start = 0.3;
    FitResult r = fit(&w, (FitOptions){.threads = 1});
    for (int i = 0; i < 3; i++) assert_close(r.value[i].value, truth[i], 1e-4, 0);
    assert_true(r.first_rms > 100 * r.rms && !r.no_better);
    fit_result_free(&r);
    close_world(&w);
    dataset_close(dataset);
}

// Residuals at the start and at the end are comparable: their ratio is that of the costs, however many pixels differ.
static void test_one_denominator(void **state) {
    static const char *const names[] = {"b.velocity.x"};
    const double truth[] = {2.5};
    World w;
    Dataset *dataset;
    FitRollout rollout;
    MinimiseSums sums[2] = {{.cost = 0}, {.cost = 0}};
    Error err;
    (void)state;
    open_pictures(&w, SCENE_OF("8") "picture: {size: [48, 40]}\n", names, 1, truth, FIT_MASK, false, &dataset);
    FitResult r = fit(&w, (FitOptions){.threads = 1, .horizon = 9});
    assert_status_ok(fit_rollout_open(&w.free, &w.data, 1, &rollout, &err), err);
    rollout.variable = &w.free.variable[0].range;
    assert_status_ok(fit_rollout_sums(&rollout, &w.free.variable[0].start, &sums[0], &err), err);
    assert_status_ok(fit_rollout_sums(&rollout, &r.value[0].value, &sums[1], &err), err);
    assert_close(r.rms / r.first_rms, sqrt(sums[1].cost / sums[0].cost), 0, 1e-9);
    assert_true(sums[1].residuals < 0.9 * sums[0].residuals); // else this would show nothing
    fit_result_free(&r);
    fit_rollout_close(&rollout);
    close_world(&w);
    dataset_close(dataset);
}

// The adjoint through SoftRas against differences of the cost. Silhouettes are smooth; colours jump where faces end.
static void test_picture_slope(void **state) {
    static const char *const names[] = {"b.density", "b.velocity.x"};
    const double truth[] = {350, 0.8}, at[] = {300, 0.9};
    World w;
    Dataset *dataset;
    FitRollout rollout;
    double gradient[2] = {0};
    MinimiseSums sums = {.gradient = gradient};
    Error err;
    (void)state;
    open_pictures(&w, SCENE "picture: {size: [48, 40], rasteriser: soft, sigma: 1e-3}\n", names, 2, truth, FIT_MASK,
                  true, &dataset);
    const MinimiseVariable variable[] = {w.free.variable[0].range, w.free.variable[1].range};
    assert_status_ok(fit_rollout_open(&w.free, &w.data, 1, &rollout, &err), err);
    rollout.variable = variable;
    assert_status_ok(fit_rollout_sums(&rollout, at, &sums, &err), err);
    for (int i = 0; i < 2; i++) {
        double x[] = {at[0], at[1]}, cost[2];
        const double h = 1e-5 * at[i];
        for (int side = 0; side < 2; side++) {
            MinimiseSums one = {0};
            x[i] = at[i] + (side ? h : -h);
            assert_status_ok(fit_rollout_sums(&rollout, x, &one, &err), err);
            cost[side] = one.cost;
        }
        assert_close(gradient[i], (cost[1] - cost[0]) / (2 * h), 0, 1e-2); // pixels that come and go at D = 1e-4
    }
    fit_rollout_close(&rollout);
    close_world(&w);
    dataset_close(dataset);
}

// ---- recordings of the scene itself, as experiments make them

// A box falls on its edge, bounces and slides.
static const char edge[] =
    "frames: 10\nfps: 30\nsubsteps: 60\nprecision: f64\n"
    "cameras: {a: {eye: [0, -4, 1], look_at: [0, 0, 0.3]}}\n"
    "picture: {size: [32, 32], rasteriser: soft, sigma: 1e-3, gamma: 1e-2, near: 1, far: 12}\n"
    "contacts: {ground: {k_e: 300, k_d: 3, k_f: 10, mu: 0.5, fade: 0.02}}\nplanes: [{contact: ground}]\n"
    "objects: {b: {box: {size: [0.6, 0.5, 0.4], cells: [1, 1, 1]}, density: 10,\n"
    "    solid: {mu: 2000, lambda: 2000, k_d: 2}, position: [-0.3, 0, 0.38],\n"
    "    rotation: {axis: [0, 1, 0.3], angle: 35}, velocity: [1.5, 0, -1]}}\n"
    "controls: [{object: b, force: [0, 3, 0], from: 0, to: 2}]\n";
static const char *const edge_names[] = {"b.density", "b.solid.mu", "ground.mu"};
static const double edge_truth[] = {0.4, 13, 2500}; // in the order of the file: ground.mu, b.density, b.solid.mu

static void open_recorded(World *w, uint32_t kind) {
    Error err;
    *w = (World){0};
    assert_status_ok(fit_free_parse(edge, strlen(edge), "edge", edge_names, 3, &w->free, &err), err);
    assert_status_ok(fit_free_scene(&w->free, edge_truth, &w->scene, &err), err);
    w->scene.objects[0].smooth = false; // flat faces show turns
    assert_status_ok(fit_data_record(&w->scene, kind, 1, &w->data, &err), err);
    w->data.every = 2;
}

static void test_recorded(void **state) {
    (void)state;
    for (int k = 0; k < 2; k++) {
        World w;
        open_recorded(&w, k ? FIT_COLOUR : FIT_STATES);
        FitResult r = fit(&w, (FitOptions){.horizon = 3, .threads = 1});
        for (size_t i = 0; i < 3; i++) assert_close(r.value[i].value, edge_truth[i], 0, 1e-7); // paper: 1e-4 to 5e-3
        assert_true(r.rms < 1e-8 && r.has_errors);
        fit_result_free(&r);
        close_world(&w);
    }
}

// A frame that a shorter horizon compared last, and a longer one does not, has no part in the errors.
static void test_left_out(void **state) {
    World w;
    FitRollout rollout;
    MinimiseVariable variable[3];
    double gradient[3], normal[9], x[3];
    Error err;
    (void)state;
    open_recorded(&w, FIT_STATES);
    assert_status_ok(fit_rollout_open(&w.free, &w.data, 1, &rollout, &err), err);
    for (size_t i = 0; i < 3; i++) variable[i] = w.free.variable[i].range, x[i] = w.free.variable[i].start;
    rollout.variable = variable;
    for (int k = 0; k < 2; k++) {
        MinimiseSums sums = {.gradient = gradient, .normal = normal};
        rollout.horizon = k ? w.data.frames : 4;
        memset(gradient, 0, sizeof gradient);
        memset(normal, 0, sizeof normal);
        assert_status_ok(fit_rollout_sums(&rollout, x, &sums, &err), err);
        for (size_t i = 0; i < 3; i++) assert_true((rollout.score[3 * 3 + i] != 0) == (k == 0));
    }
    fit_rollout_close(&rollout);
    close_world(&w);
}

// The recording is in double whatever the scene says.
static void test_recorded_precision(void **state) {
    World w;
    FitData again;
    Error err;
    (void)state;
    open_recorded(&w, FIT_STATES);
    w.scene.precision = SIM_F32;
    assert_status_ok(fit_data_record(&w.scene, FIT_STATES, 1, &again, &err), err);
    assert_true(w.scene.precision == SIM_F32);
    assert_memory_equal(again.position, w.data.position, w.data.frames * 3 * w.scene.model.particles * sizeof(double));
    fit_data_close(&again);
    close_world(&w);
}

// Of pictures with 8 bits the errors are as large as the standard errors say.
static void test_rounded(void **state) {
    World w;
    (void)state;
    open_recorded(&w, FIT_COLOUR);
    fit_pictures_round(w.data.pictures);
    FitResult r = fit(&w, (FitOptions){.horizon = 3, .threads = 1});
    assert_close(r.rms, 1 / 255.0 / sqrt(12), 0, 0.3);
    for (size_t i = 0; i < 3; i++) {
        assert_close(r.value[i].value, edge_truth[i], 4 * r.value[i].error, 0);
        assert_true(r.value[i].error > 1e-7 * edge_truth[i] && r.value[i].error < 0.01 * edge_truth[i]);
    }
    fit_result_free(&r);
    close_world(&w);
}

// The adjoint of pictures without blur against central differences of the loss, and the frames that are left out.
static void test_recorded_slope(void **state) {
    World w;
    FitRollout rollout;
    MinimiseVariable variable[3];
    double gradient[3] = {0}, x[3];
    MinimiseSums sums = {.gradient = gradient};
    Error err;
    (void)state;
    open_recorded(&w, FIT_COLOUR);
    assert_status_ok(fit_rollout_open(&w.free, &w.data, 1, &rollout, &err), err);
    for (size_t i = 0; i < 3; i++) variable[i] = w.free.variable[i].range, x[i] = w.free.variable[i].start;
    rollout.variable = variable;
    assert_status_ok(fit_rollout_sums(&rollout, x, &sums, &err), err);
    assert_true(sums.cost > 1e-3);
    for (size_t i = 0; i < 3; i++) {
        const double at = x[i], h = 1e-6 * at;
        double cost[2];
        for (int side = 0; side < 2; side++) {
            MinimiseSums one = {0};
            x[i] = at + (side ? h : -h);
            assert_status_ok(fit_rollout_sums(&rollout, x, &one, &err), err);
            cost[side] = one.cost;
        }
        x[i] = at;
        assert_close(gradient[i], (cost[1] - cost[0]) / (2 * h), 0, 1e-5); // rounding of 1e-16 / 1e-6, and h^2
    }
    fit_rollout_close(&rollout);
    close_world(&w);
}

// A start in another basin is given up, and says so; the file's own is not.
static void test_hopeless(void **state) {
    const double far_off[] = {1, 3, 9000};
    World w;
    (void)state;
    open_recorded(&w, FIT_STATES);
    for (int k = 0; k < 2; k++) {
        FitResult r = fit(&w, (FitOptions){.horizon = 3, .threads = 1, .hopeless = 1e-4, .at = k ? far_off : NULL});
        assert_true(r.has_errors == (k == 0));
        fit_result_free(&r);
    }
    close_world(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_pictures),           cmocka_unit_test(test_depth_edges),
                                       cmocka_unit_test(test_one_denominator),    cmocka_unit_test(test_picture_slope),
                                       cmocka_unit_test(test_recorded),           cmocka_unit_test(test_left_out),
                                       cmocka_unit_test(test_recorded_precision), cmocka_unit_test(test_rounded),
                                       cmocka_unit_test(test_recorded_slope),     cmocka_unit_test(test_hopeless)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
