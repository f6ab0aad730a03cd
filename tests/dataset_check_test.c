// SPDX-License-Identifier: Apache-2.0
// The check passes an exact scene with next to no error, and names the fault of each scene that is wrong in one way.
#include "base/image.h"
#include "datasets/check.h"
#include "datasets/convert.h"
#include "tests/dataset_scene.h"
#include "tests/dataset_work_folder.h"

typedef void Spoil(Scene *scene);

// Draws the scene, spoils what is stored, checks the file.
static CheckReport check_spoiled(int F, int V, int flags, Spoil *spoil) {
    Error err = {0};
    Dataset *dataset;
    CheckReport report;
    Scene scene = scene_make(F, V, 48, 64, flags);
    scene_finish(&scene);
    if (spoil) spoil(&scene);
    assert_status_ok(scene_write(path, &scene, 2, &err), err);
    assert_status_ok(dataset_open(path, &dataset, &err), err);
    assert_status_ok(dataset_check(dataset, NULL, &report, &err), err);
    dataset_close(dataset);
    scene_free(&scene);
    return report;
}

static bool mentions(const CheckReport *report, const char *words) {
    for (int i = 0; i < report->finding_count; i++) {
        if (strstr(report->findings[i].text, words)) return true;
    }
    return false;
}

static void test_exact_scene(void **state) {
    (void)state;
    CheckReport report = check_spoiled(3, 4, 0, NULL);
    assert_true(check_report_passes(&report));
    assert_int_equal(report.pair_count, 12);
    assert_true(report.all.tested > 10000);
    assert_true(report.all.median < 1e-5); // f32 depth of a plane: rounding, 10 micrometres
    assert_true(report.all.agree > 0.9);   // the ball hides some of the floor
    assert_int_equal(report.guess, GUESS_NONE);
    assert_true(report.pass > 0.01 && report.pass < 0.05);
    check_report_free(&report);
}

static void test_single_views(void **state) {
    (void)state;
    CheckReport moving = check_spoiled(4, 1, SCENE_MOVING, NULL);
    assert_true(check_report_passes(&moving) && moving.all.tested > 100);
    check_report_free(&moving);
    CheckReport still = check_spoiled(2, 1, 0, NULL);
    assert_true(check_report_passes(&still) && still.all.tested == 0);
    assert_true(mentions(&still, "one camera that stands still"));
    check_report_free(&still);
}

static size_t depth_count(const Scene *scene) {
    return (size_t)scene->info.F * (size_t)scene->info.V * (size_t)scene->info.H * (size_t)scene->info.W;
}

static void ray_length(Scene *scene) {
    for (size_t i = 0; i < depth_count(scene); i++) {
        double ray[3];
        camera_unproject(scene->K, (double)(i % 64) + 0.5, (double)(i / 64 % 48) + 0.5, 1, ray);
        scene->depth[i] *= (float)sqrt(ray[0] * ray[0] + ray[1] * ray[1] + 1);
    }
}
static void millimetres(Scene *scene) {
    for (size_t i = 0; i < depth_count(scene); i++) scene->depth[i] *= 1000;
}
static void opengl(Scene *scene) {
    for (int v = 0; v < scene->info.V; v++) pose_flip_opengl(scene->poses + 16 * v, scene->poses + 16 * v);
}
static void inverse(Scene *scene) {
    for (int v = 0; v < scene->info.V; v++) pose_inverse(scene->poses + 16 * v, scene->poses + 16 * v);
}
static void inverse_opengl(Scene *scene) { opengl(scene), inverse(scene); }
static void pose_millimetres(Scene *scene) {
    for (int v = 0; v < scene->info.V; v++) {
        for (int i = 0; i < 3; i++) scene->poses[16 * v + 4 * i + 3] *= 1000;
    }
}
static void half_pixel(Scene *scene) {
    for (int v = 0; v < scene->info.V; v++) scene->K[9 * v + 2] -= 0.5, scene->K[9 * v + 5] -= 0.5;
}
static void half_pixel_more(Scene *scene) {
    for (int v = 0; v < scene->info.V; v++) scene->K[9 * v + 2] += 0.5, scene->K[9 * v + 5] += 0.5;
}
// Turns every picture round along one axis, in place.
static void flip(Scene *scene, bool columns) {
    int H = 48, W = 64;
    float *copy = malloc(depth_count(scene) * sizeof *copy);
    assert_non_null(copy);
    memcpy(copy, scene->depth, depth_count(scene) * sizeof *copy);
    memset(scene->mask, 0, depth_count(scene) * sizeof *scene->mask);
    for (size_t i = 0; i < depth_count(scene); i++) {
        int x = (int)(i % 64), y = (int)(i / 64 % 48);
        size_t image = i / (64 * 48) * (64 * 48);
        scene->depth[i] = copy[image + (size_t)((columns ? y : H - 1 - y) * W + (columns ? W - 1 - x : x))];
    }
    free(copy);
}
static void mirrored(Scene *scene) { flip(scene, true); }
static void upside_down(Scene *scene) { flip(scene, false); }

static void swapped_focal(Scene *scene) {
    for (int v = 0; v < scene->info.V; v++) scene->K[9 * v] *= 1.4;
    scene_render(scene);
    for (int v = 0; v < scene->info.V; v++) {
        scene->K[9 * v + 4] = scene->K[9 * v];
        scene->K[9 * v] /= 1.4;
    }
}
static void swapped_centre(Scene *scene) {
    for (int v = 0; v < scene->info.V; v++) scene->K[9 * v + 2] = 24, scene->K[9 * v + 5] = 32;
}
// What comes of (x, y, z, w) read as (w, x, y, z), or the other way round.
static void misread(Scene *scene, int places) {
    for (int v = 0; v < scene->info.V; v++) {
        double *pose = scene->poses + 16 * v, R[9], q[4], read[4], t[3] = {pose[3], pose[7], pose[11]};
        for (int i = 0; i < 9; i++) R[i] = pose[4 * (i / 3) + i % 3];
        quaternion_from_rotation(R, q);
        for (int i = 0; i < 4; i++) read[i] = q[(i + places) % 4];
        rotation_from_quaternion(read, R);
        pose_from_rotation(R, t, pose);
    }
}
static void w_last(Scene *scene) { misread(scene, 1); }
static void w_first(Scene *scene) { misread(scene, 3); }

static void test_guesses(void **state) {
    (void)state;
    const struct {
        Spoil *spoil;
        Guess guess;
    } cases[] = {
        {ray_length, GUESS_RAY_LENGTH},
        {millimetres, GUESS_MILLIMETRES},
        {opengl, GUESS_OPENGL},
        {inverse, GUESS_INVERSE},
        {inverse_opengl, GUESS_INVERSE_OPENGL},
        {pose_millimetres, GUESS_POSE_MILLIMETRES},
        {mirrored, GUESS_MIRRORED},
        {upside_down, GUESS_UPSIDE_DOWN},
        {half_pixel, GUESS_HALF_PIXEL_MORE},
        {half_pixel_more, GUESS_HALF_PIXEL_LESS},
        {swapped_focal, GUESS_SWAPPED_FOCAL},
        {swapped_centre, GUESS_SWAPPED_CENTRE},
        {w_last, GUESS_W_LAST},
        {w_first, GUESS_W_FIRST},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CheckReport report = check_spoiled(2, 4, 0, cases[i].spoil);
        if (report.guess != cases[i].guess)
            fail_msg("\"%s\" is taken for \"%s\"", guess_name(cases[i].guess), guess_name(report.guess));
        assert_false(check_report_passes(&report));
        assert_true(mentions(&report, guess_advice(cases[i].guess)));
        check_report_free(&report);
    }
}

static void no_depth(Scene *scene) { memset(scene->depth, 0, depth_count(scene) * sizeof *scene->depth); }
static void some_without_depth(Scene *scene) { memset(scene->depth, 0, 48 * 64 * sizeof *scene->depth); }
static void foreign_mask(Scene *scene) { scene->mask[77] = 9; }
static void uneven_time(Scene *scene) { scene->time[1] += 0.05; }
static void moved_objects(Scene *scene) { scene->position[1] += 1.5; }
static void one_camera_off(Scene *scene) { scene->poses[11] += 0.06; } // metres up, floor 2 cm
static void turned_camera(Scene *scene) {
    double turn[16], R[9];
    rotation_from_quaternion((double[]){1, 0.03, -0.03, 0.03}, R);
    pose_from_rotation(R, (double[]){0, 0, 0}, turn);
    for (int v = 0; v < 2; v++) pose_multiply(scene->poses + 16 * v, turn, scene->poses + 16 * v);
}

static void test_findings(void **state) {
    (void)state;
    const struct {
        Spoil *spoil;
        const char *words;
        bool passes;
    } cases[] = {
        {no_depth, "no image has any depth", false},
        {some_without_depth, "1 of 6 images have no depth at all", true},
        {foreign_mask, "mask ids above the 1 objects of state/object_position in 1 images", false},
        {moved_objects, "1 of 1 objects do not lie where state/object_position says", false},
        {uneven_time, "uneven time steps", true},
        {one_camera_off, "above the floor", false},
        {turned_camera, "above the floor", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CheckReport report = check_spoiled(3, 2, 0, cases[i].spoil);
        if (!mentions(&report, cases[i].words)) fail_msg("nothing said of \"%s\"", cases[i].words);
        assert_int_equal(check_report_passes(&report), cases[i].passes);
        check_report_free(&report);
    }
}

static void test_picture(void **state) {
    (void)state;
    Error err = {0};
    Dataset *dataset;
    Image image;
    char png[128];
    Scene scene = scene_make(2, 4, 48, 64, 0);
    scene_finish(&scene);
    assert_status_ok(scene_write(path, &scene, 1, &err), err);
    assert_status_ok(dataset_open(path, &dataset, &err), err);
    snprintf(png, sizeof png, "%s/a.png", folder);
    assert_status_ok(dataset_check_picture(dataset, 0, 1, "title", png, &err), err);
    assert_status_ok(image_read(png, &image, &err), err);
    // The ball is in it: many pixels of its red.
    size_t red = 0;
    const uint8_t *rgb = image.pixels;
    for (size_t i = 0; i < (size_t)image.H * (size_t)image.W; i++) red += rgb[3 * i] == 220 && rgb[3 * i + 1] == 40;
    assert_true(red > 500);
    image_free(&image);
    assert_status_error(dataset_check_picture(dataset, 0, 1, "title", "/nonexistent/a.png", &err), STATUS_BAD_INPUT,
                        err, "/nonexistent");
    dataset_close(dataset);
    scene_free(&scene);
}

// ---- subsets

static void test_subset(void **state) {
    (void)state;
    Error err = {0};
    Dataset *dataset, *part;
    Frames whole = {0}, cut = {0};
    char out[128];
    int views[2] = {1, 3};
    Scene scene = scene_make(7, 4, 12, 16, SCENE_MOVING);
    scene.info.depth_is_u16 = true;
    scene.info.depth_scale = 0.00025;
    scene_finish(&scene);
    assert_status_ok(scene_write(path, &scene, 6, &err), err);
    assert_status_ok(dataset_open(path, &dataset, &err), err);
    snprintf(out, sizeof out, "%s/b.h5", folder);
    ConvertOptions options = {
        .episodes = {1, -1, 0}, .first = 1, .count = 3, .stride = 2, .views = views, .view_count = 2};
    assert_status_ok(dataset_convert(&dataset, 1, &options, out, NULL, &err), err);
    assert_status_ok(dataset_open(out, &part, &err), err);
    assert_int_equal(dataset_episode_count(part), 3);
    const EpisodeInfo *info = dataset_episode(part, 2);
    assert_true(info->F == 3 && info->V == 2 && info->split == SPLIT_VAL && info->heldout_count == 1 &&
                info->heldout_views[0] == 1);
    assert_string_equal(dataset_info(part)->name, "scene");
    FrameRequest request = {.episode = 4, .first = 1, .count = 3, .stride = 2, .views = views, .view_count = 2};
    assert_status_ok(dataset_read_frames(dataset, request, &whole, &err), err);
    assert_status_ok(dataset_read_frames(part, (FrameRequest){.episode = 2, .count = 3}, &cut, &err), err);
    assert_memory_equal(cut.rgb, whole.rgb, 3 * 2 * 12 * 16 * 3);
    assert_memory_equal(cut.depth, whole.depth, 3 * 2 * 12 * 16 * sizeof(float));
    assert_memory_equal(cut.world_from_camera, whole.world_from_camera, 3 * 2 * 16 * sizeof(double));
    assert_memory_equal(cut.object_position, whole.object_position, 3 * 3 * sizeof(double));
    dataset_close(part);
    options.episodes[SPLIT_TEST] = 9;
    assert_status_error(dataset_convert(&dataset, 1, &options, out, NULL, &err), STATUS_BAD_INPUT, err,
                        "expected 9 test episodes, found 2");
    options = (ConvertOptions){.episodes = {1, 0, 0}, .first = 7};
    assert_status_error(dataset_convert(&dataset, 1, &options, out, NULL, &err), STATUS_BAD_INPUT, err,
                        "expected a first frame below 7");
    options = (ConvertOptions){.episodes = {1, 0, 0}, .views = views + 1, .view_count = 1};
    assert_status_error(dataset_convert(&dataset, 1, &options, out, NULL, &err), STATUS_BAD_INPUT, err,
                        "every view that is kept is held out");
    assert_status_ok(dataset_open(out, &part, &err), err); // the failures left the first result in place
    dataset_close(part);
    frames_free(&whole);
    frames_free(&cut);
    dataset_close(dataset);
    scene_free(&scene);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_exact_scene), TEST(test_single_views), TEST(test_guesses),
        TEST(test_findings),    TEST(test_picture),      TEST(test_subset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
