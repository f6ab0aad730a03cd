// SPDX-License-Identifier: Apache-2.0
// The order of the four numbers of state/object_quaternion shows in how an object turns, and where it does not, nothing
// is said of it.
#include "tests/check_report.h"

// Two balls on a bar, which turn about their middle as the scene's quaternions say.
static void draw_dumbbell(Scene *scene) {
    const EpisodeInfo *info = &scene->info;
    const size_t pixels = (size_t)info->H * (size_t)info->W;
    for (size_t i = 0; i < (size_t)info->F * (size_t)info->V * pixels; i++) {
        const int v = (int)(i / pixels) % info->V, f = (int)(i / pixels) / info->V, at = (int)(i % pixels);
        double R[9];
        rotation_from_quaternion(scene->quaternion + 4 * f, R);
        scene->depth[i] = INFINITY;
        for (int side = -1; side <= 1; side += 2) {
            double ball[3];
            uint8_t rgb[3];
            uint16_t mask;
            float depth;
            for (int c = 0; c < 3; c++) ball[c] = scene->position[3 * f + c] + 0.33 * side * R[3 * c];
            scene_shade(scene->K + 9 * v, scene->poses + 16 * v, ball, at % info->W, at / info->W, rgb, &depth, &mask);
            if (!(depth < scene->depth[i])) continue;
            scene->depth[i] = depth, scene->mask[i] = mask;
            memcpy(scene->rgb + 3 * i, rgb, sizeof rgb);
        }
    }
}

// `turn`: radians between frames.
static Scene dumbbell(double turn) {
    Scene scene = scene_make(5, 3, 60, 80, 0);
    scene_finish(&scene);
    scene.info.bounds = NULL, scene.info.heldout_count = 0; // they lie in the scene, which is copied
    for (int f = 0; f < scene.info.F; f++) {
        double angle = 0.3 + turn * f;
        double q[4] = {cos(angle / 2), sin(angle / 2) / 3, sin(angle / 2) * 2 / 3, sin(angle / 2) * 2 / 3};
        memcpy(scene.position + 3 * f, (double[]){0.05 * f, 0, 0.8}, 3 * sizeof *q);
        memcpy(scene.quaternion + 4 * f, q, sizeof q);
    }
    draw_dumbbell(&scene);
    return scene;
}

static void put_w_last(Scene *scene) {
    for (int f = 0; f < scene->info.F; f++) {
        double *q = scene->quaternion + 4 * f, w = q[0];
        memmove(q, q + 1, 3 * sizeof *q);
        q[3] = w;
    }
}

static const char TURNS[] = "objects do not turn as state/object_quaternion says";

static void test_w_last(void **state) {
    (void)state;
    Scene scene = dumbbell(0.4);
    CheckReport report = check_scene(&scene);
    assert_false(check_report_fails(&report));
    check_report_free(&report);
    put_w_last(&scene);
    report = check_scene(&scene);
    assert_int_equal(report.wrong_count, 1);
    assert_true(mentions(&report, TURNS) && mentions(&report, "through 0 % with w last"));
    check_report_free(&report);
    scene_free(&scene);
}

// Either order moves what only slides by its positions.
static void test_no_turn(void **state) {
    (void)state;
    Scene scene = dumbbell(0);
    put_w_last(&scene);
    CheckReport report = check_scene(&scene);
    assert_false(check_report_fails(&report));
    check_report_free(&report);
    scene_free(&scene);
}

// Poses that are wrong in another way: neither order fits, so none is named.
static void test_other_mistake(void **state) {
    (void)state;
    Scene scene = dumbbell(0.4);
    for (int f = 0; f < scene.info.F; f++)
        for (int c = 1; c < 4; c++) scene.quaternion[4 * f + c] *= -1;
    CheckReport report = check_scene(&scene);
    assert_false(mentions(&report, TURNS));
    check_report_free(&report);
    scene_free(&scene);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {TEST(test_w_last), TEST(test_no_turn), TEST(test_other_mistake)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
