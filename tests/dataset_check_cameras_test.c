// SPDX-License-Identifier: Apache-2.0
// The check of recordings whose cameras move or have different lenses: right ones pass without a wrong hint, and
// exchanged or transposed poses are named.
#include "datasets/check_private.h"
#include "tests/check_report.h"
#include "tests/check_scene.h"

static void assert_passes(const CheckReport *report) {
    for (int i = 0; i < report->finding_count; i++)
        if (report->findings[i].wrong) fail_msg("%s", report->findings[i].text);
}

// Shadows that move spoil the correlation of colour. Zoomed by two, the middle of each picture lands on its floor and
// its sky, which agree in any two pictures of a level camera.
static void test_shadows_before_a_moving_camera(void **state) {
    (void)state;
    Room room = {.F = 20, .V = 1, .H = 96, .W = 128, .field = 1.3};
    room.moving_cameras = room.level = room.shadows = true;
    Scene scene = room_make(&room);
    CheckReport report = check_scene(&scene);
    assert_passes(&report);
    assert_true(report.colour.told);
    check_report_free(&report);
    scene_free(&scene);
}

// One camera sees different moments in all its pictures, so errors on moving objects say nothing about clocks.
static void test_one_camera_has_one_clock(void **state) {
    (void)state;
    Room room = {.F = 8, .V = 1, .H = 60, .W = 80, .moving_cameras = true};
    Scene scene = room_make(&room);
    scene.info.has_mask = true;
    CheckReport report = check_scene(&scene);
    assert_false(mentions(&report, "the cameras may not show the same moment"));
    check_report_free(&report);
    scene_free(&scene);
}

// Asks colour alone about a guess of the geometry.
static bool colour_refutes(Scene *scene, Guess guess) {
    Error err = {0};
    Dataset *dataset;
    Frames frames = {0};
    Evidence evidence = {0};
    CheckReport report = {.guess = guess};
    bool refuted;
    assert_status_ok(scene_write(path, scene, 1, &err), err);
    assert_status_ok(dataset_open(path, &dataset, &err), err);
    assert_status_ok(evidence_plan(&evidence, dataset, &err), err);
    for (int f = 0; f < scene->info.F; f++) {
        assert_status_ok(dataset_read_frames(dataset, (FrameRequest){.first = f, .count = 1}, &frames, &err), err);
        assert_status_ok(evidence_take(&evidence, &frames, &err), err);
    }
    assert_status_ok(check_colour_refutes(&evidence, &report, &refuted, &err), err);
    assert_int_equal(report.guess, guess);
    evidence_free(&evidence);
    frames_free(&frames);
    dataset_close(dataset);
    return refuted;
}

static void mirror(Scene *scene) {
    const size_t W = (size_t)scene->info.W, rows = (size_t)(scene->info.F * scene->info.V * scene->info.H);
    for (size_t i = 0; i < rows * W; i++) {
        const size_t at = i / W * W + (W - 1 - i % W);
        if (at <= i) continue;
        float depth = scene->depth[i];
        scene->depth[i] = scene->depth[at], scene->depth[at] = depth;
        for (size_t c = 0; c < 3; c++) {
            uint8_t level = scene->rgb[3 * i + c];
            scene->rgb[3 * i + c] = scene->rgb[3 * at + c], scene->rgb[3 * at + c] = level;
        }
    }
}

// Over a floor, depth may be mirrored or not as far as it tells; colour knows.
static void test_colour_refutes_a_guess(void **state) {
    (void)state;
    Room room = {.F = 4, .V = 3, .H = 60, .W = 80, .level = true, .arc = 1};
    Scene scene = room_make(&room);
    assert_true(colour_refutes(&scene, GUESS_MIRRORED));
    mirror(&scene);
    assert_false(colour_refutes(&scene, GUESS_MIRRORED));
    scene_free(&scene);
    room.textureless = true; // says nothing
    scene = room_make(&room);
    assert_false(colour_refutes(&scene, GUESS_MIRRORED));
    scene_free(&scene);
}

static void exchange_poses(Scene *scene) {
    for (int i = 0; i < 16; i++) {
        double kept = scene->poses[i];
        scene->poses[i] = scene->poses[32 + i], scene->poses[32 + i] = kept;
    }
}

static void transpose_rotations(Scene *scene) {
    for (int v = 0; v < scene->info.V; v++) {
        double *pose = scene->poses + 16 * v;
        for (int i = 0; i < 3; i++) {
            for (int j = 0; j < i; j++) {
                double kept = pose[4 * i + j];
                pose[4 * i + j] = pose[4 * j + i], pose[4 * j + i] = kept;
            }
        }
    }
}

static void assert_named(void (*spoil)(Scene *scene), const char *advice) {
    Room room = {.F = 2, .V = 3, .H = 60, .W = 80, .arc = 1.2, .lenses = true};
    Scene scene = room_make(&room);
    CheckReport report = check_scene(&scene);
    assert_passes(&report);
    check_report_free(&report);
    spoil(&scene);
    report = check_scene(&scene);
    if (!mentions(&report, advice)) fail_msg("expected \"%s\", found \"%s\"", advice, report.findings[0].text);
    check_report_free(&report);
    scene_free(&scene);
}

static void test_exchanged_poses(void **state) {
    (void)state;
    assert_named(exchange_poses, "the poses of views 0 and 2 are exchanged, and their intrinsics are not");
}

static void test_transposed_rotations(void **state) {
    (void)state;
    assert_named(transpose_rotations, "transpose the rotation in world_from_camera and leave its translation as it is");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_shadows_before_a_moving_camera), TEST(test_one_camera_has_one_clock),
        TEST(test_colour_refutes_a_guess),         TEST(test_exchanged_poses),
        TEST(test_transposed_rotations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
