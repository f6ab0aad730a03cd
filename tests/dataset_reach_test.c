// SPDX-License-Identifier: Apache-2.0
// Where things move is found from depth alone, and a box is advised where cameras see far beyond.
#include "datasets/reach.h"
#include "tests/check_report.h"

static Reach measure(Scene *scene) {
    Error err = {0};
    Reach reach;
    assert_status_ok(scene_write(path, scene, 2, &err), err);
    Dataset *dataset = open_good(path);
    assert_status_ok(reach_measure(dataset, &reach, &err), err);
    dataset_close(dataset);
    return reach;
}

// The ball goes from x = -.3 to .8 at y = 0, z = .5; cameras see its upper sides.
static void assert_around_the_ball(const Reach *reach) {
    const double lower[3] = {-0.6, -0.3, 0.2}, upper[3] = {1.1, 0.3, 0.8};
    assert_true(reach->moves);
    for (int c = 0; c < 3; c++) {
        assert_true(reach->lower[c] > lower[c] - 0.05 && reach->lower[c] < lower[c] + 0.3);
        assert_true(reach->upper[c] < upper[c] + 0.05 && reach->upper[c] > upper[c] - 0.1);
    }
}

static void test_where_things_move(void **state) {
    (void)state;
    Scene scene = scene_make(12, 4, 48, 64, 0);
    scene_finish(&scene);
    Reach reach = measure(&scene);
    assert_around_the_ball(&reach);
    assert_true(reach.extent == 2); // the workspace box
    scene.info.bounds = NULL;
    reach = measure(&scene);
    assert_true(reach.extent > 2.2 && reach.extent < 3); // of the floor of 4 m, as far as cameras see
    scene_free(&scene);
}

// Noise of depth changes every pixel, but not its neighbours alike.
static void test_noise_does_not_move(void **state) {
    (void)state;
    Scene scene = scene_make(12, 4, 48, 64, 0);
    scene_finish(&scene);
    uint32_t random = 1;
    for (size_t i = 0; i < (size_t)12 * 4 * 48 * 64; i++) {
        double sum = -6;
        for (int n = 0; n < 12; n++) sum += (random = random * 1664525u + 1013904223u) / 4294967296.0;
        scene.depth[i] *= (float)(1 + 0.015 * sum);
    }
    Reach reach = measure(&scene);
    assert_around_the_ball(&reach);
    scene_free(&scene);
}

static void test_nothing_known(void **state) {
    (void)state;
    Scene moving = scene_make(12, 4, 48, 64, SCENE_MOVING), brief = scene_make(7, 4, 48, 64, 0);
    scene_finish(&moving);
    scene_finish(&brief);
    assert_false(measure(&moving).moves);
    assert_false(measure(&brief).moves);
    scene_free(&moving);
    scene_free(&brief);
}

static void test_advice(void **state) {
    (void)state;
    char text[500] = "";
    const Reach reach = {.moves = true, .lower = {-0.24, -0.22, 0.03}, .upper = {0.17, 0.18, 0.57}}, still = {0};
    assert_false(reach_doubt(&reach, 1.6, "a.h5", text, sizeof text));
    assert_false(reach_doubt(&still, 1.6, "a.h5", text, sizeof text));
    assert_true(reach_doubt(&reach, 1.7, "a.h5", text, sizeof text));
    assert_non_null(strstr(text, "vpd data convert a.h5 --box=-0.43,-0.41,-0.16,0.36,0.37,0.76 -o BOXED.h5"));
}

// A box of 8 m around a ball that moves within 1.7 m; one of 2 m is right.
static void test_check_notes_it(void **state) {
    (void)state;
    Scene scene = scene_make(12, 4, 48, 64, 0);
    scene_finish(&scene);
    CheckReport report = check_scene(&scene);
    assert_int_equal(report.note_count, 0);
    check_report_free(&report);
    memcpy(scene.bounds, (double[]){-4, -4, -4, 4, 4, 4}, sizeof scene.bounds);
    report = check_scene(&scene);
    assert_false(check_report_fails(&report));
    assert_int_equal(report.note_count, 1);
    assert_true(mentions(&report, "data.extent, with which all lengths of a model grow, is 8 m"));
    check_report_free(&report);
    scene_free(&scene);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {TEST(test_where_things_move), TEST(test_noise_does_not_move),
                                       TEST(test_nothing_known), TEST(test_advice), TEST(test_check_notes_it)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
