// SPDX-License-Identifier: Apache-2.0
// The check passes an exact scene with next to no error, and names the fault of each scene that is wrong in one way.
#include "base/image.h"
#include "datasets/check_private.h"
#include "datasets/convert.h"
#include "datasets/reproject.h"
#include "tests/check_report.h"

typedef void Spoil(Scene *scene);

// Episodes of four views, of which `spoil` changes number 1.
static CheckReport check_with_one_spoiled(int count, Spoil *spoil) {
    Error err = {0};
    WriterOptions options = {.name = "scene", .licence = "CC0-1.0", .missing_depth = MISSING_SKY};
    DatasetWriter *writer;
    assert_status_ok(dataset_writer_open(path, &options, &writer, &err), err);
    for (int i = 0; i < count; i++) {
        Scene scene = scene_make(3, 4, 48, 64, 0);
        scene_finish(&scene);
        if (i == 1) spoil(&scene);
        assert_status_ok(scene_put(writer, &scene, &err), err);
        scene_free(&scene);
    }
    assert_status_ok(dataset_writer_finish(writer, &err), err);
    return check_file();
}

// Draws the scene, spoils what is stored, checks the file.
static CheckReport check_spoiled(int F, int V, int flags, Spoil *spoil) {
    Error err = {0};
    Scene scene = scene_make(F, V, 48, 64, flags);
    scene_finish(&scene);
    if (spoil) spoil(&scene);
    assert_status_ok(scene_write(path, &scene, 2, &err), err);
    scene_free(&scene);
    return check_file();
}

static void assert_verdict(const CheckReport *report, const char *start) {
    char verdict[300];
    check_report_verdict(report, verdict, sizeof verdict);
    if (strncmp(verdict, start, strlen(start)) != 0) fail_msg("expected \"%s\", found \"%s\"", start, verdict);
}

// Each tenth of the rows and of the columns gets its tenth of 500 samples, give or take a quarter. Steps of 1000003
// pixels stay in the top rows of all sizes but the last.
static void test_even_samples(void **state) {
    (void)state;
    const int sizes[][2] = {{100, 100}, {200, 200}, {200, 250}, {400, 500}, {500, 500}, {1000, 1000}, {480, 640}};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        int rows[10] = {0}, columns[10] = {0};
        for (size_t n = 0; n < 500; n++) {
            int x, y;
            sample_pixel(n, sizes[s][0], sizes[s][1], &x, &y);
            rows[10 * y / sizes[s][0]]++;
            columns[10 * x / sizes[s][1]]++;
        }
        for (int i = 0; i < 10; i++) {
            assert_in_range(rows[i], 38, 62);
            assert_in_range(columns[i], 38, 62);
        }
    }
}

// A point a micrometre from the lens, before a wall: its error over its depth is no int.
static void test_error_of_any_size(void **state) {
    (void)state;
    WhereLists *lists = where_create();
    CheckReport report = {.guess = GUESS_NONE};
    Shot shot = {.H = 10, .W = 10};
    Landing landing = {.z = 1e-6, .there = 1e4};
    assert_non_null(lists);
    for (int i = 0; i < 200; i++) where_add(lists, &shot, 5, 5, &landing);
    where_judge(lists, &report);
    assert_true(report.where[WHERE_CENTRE] > 0.0499 && report.where[WHERE_CENTRE] < 0.05);
    where_free(lists);
    check_report_free(&report);
}

static void test_exact_scene(void **state) {
    (void)state;
    CheckReport report = check_spoiled(3, 4, 0, NULL);
    assert_false(check_report_fails(&report));
    assert_int_equal(report.pair_count, 12);
    assert_true(report.all.tested > 10000);
    assert_true(report.all.median < 1e-5); // f32 depth of a plane: rounding, 10 micrometres
    assert_true(report.all.agree > 0.9);   // the ball hides some of the floor
    assert_int_equal(report.guess, GUESS_NONE);
    assert_true(report.pass > 0.01 && report.pass < 0.05);
    assert_verdict(&report, "pass: median reprojection error 0.00 mm; the limit is ");
    check_report_free(&report);
}

// Over the floor, which agrees anyway: 87 % of the points agreed at another scale instead of 86 %.
static void moved_level(Scene *scene) { scene->poses[16 + 3] -= 0.02, scene->poses[16 + 7] += 0.02; }
static void test_camera_moved_level(void **state) {
    (void)state;
    CheckReport report = check_spoiled(3, 2, 0, moved_level);
    assert_false(mentions(&report, "the views agree far better"));
    check_report_free(&report);
}

static void one_colour(Scene *scene) {
    size_t pixels = (size_t)scene->info.H * (size_t)scene->info.W * (size_t)scene->info.F * (size_t)scene->info.V;
    memset(scene->rgb, 77, 3 * pixels);
}
static void test_pictures_of_one_colour(void **state) {
    (void)state;
    CheckReport report = check_with_one_spoiled(3, one_colour);
    assert_true(mentions(&report, "episode 000001: each colour picture is of one colour"));
    assert_int_equal(report.note_count, 1);
    assert_false(check_report_fails(&report));
    check_report_free(&report);
}

static void slower(Scene *scene) {
    for (int f = 0; f < scene->info.F; f++) scene->time[f] *= 2;
}
static void test_other_time_step(void **state) {
    (void)state;
    CheckReport report = check_with_one_spoiled(3, slower);
    assert_false(check_report_fails(&report));
    assert_int_equal(report.note_count, 1);
    assert_true(mentions(&report, "episode 000001: its time step is "));
    check_report_free(&report);
}

static void in_milliseconds(Scene *scene) {
    for (int f = 0; f < scene->info.F; f++) scene->time[f] *= 1000;
}
static void at_two_seconds(Scene *scene) {
    for (int f = 0; f < scene->info.F; f++) scene->time[f] *= 20;
}
static void test_time_unit(void **state) {
    (void)state;
    CheckReport report = check_spoiled(3, 2, 0, in_milliseconds);
    assert_true(mentions(&report, "in 2 of 2 episodes frames are 100 s apart: are their times in milliseconds (a step "
                                  "of 0.1 s)? Then multiply \"time\" by 0.001"));
    assert_false(check_report_fails(&report));
    check_report_free(&report);
    report = check_spoiled(3, 2, 0, at_two_seconds);
    assert_false(mentions(&report, "are their times in"));
    check_report_free(&report);
}

static void test_single_views(void **state) {
    (void)state;
    CheckReport moving = check_spoiled(4, 1, SCENE_MOVING, NULL);
    assert_true(!check_report_fails(&moving) && moving.all.tested > 100);
    check_report_free(&moving);
    CheckReport still = check_spoiled(2, 1, 0, NULL);
    assert_true(!check_report_fails(&still) && still.all.tested == 0);
    assert_verdict(&still, "not checked: each episode has one camera that stands still, which nothing can be compared");
    assert_true(mentions(&still, "a single camera that stands still cannot be compared"));
    check_report_free(&still);
}

static void almost_no_depth(Scene *scene) {
    size_t pixels = (size_t)scene->info.H * (size_t)scene->info.W,
           images = (size_t)scene->info.F * (size_t)scene->info.V;
    for (size_t i = 0; i < images * pixels; i++)
        if (i % pixels < pixels / 2 || i % pixels > pixels / 2 + 4 * (size_t)scene->info.W) scene->depth[i] = 0;
}
static void test_too_few_points(void **state) {
    (void)state;
    CheckReport report = check_spoiled(1, 2, 0, almost_no_depth);
    assert_in_range(report.all.tested, 1, 99);
    assert_verdict(&report, "not checked: too few points could be compared");
    check_report_free(&report);
}

// A view whose depth is the same in all pixels, and one that lacks it in one pixel of one frame.
static void one_depth(Scene *scene) {
    size_t pixels = (size_t)scene->info.H * (size_t)scene->info.W;
    for (size_t i = 0; i < 3 * pixels; i++) scene->depth[i] = 1.5f;
    scene->depth[0] = 0;
}
static void test_one_depth(void **state) {
    (void)state;
    CheckReport report = check_spoiled(3, 2, 0, one_depth);
    assert_true(mentions(&report, "episode 000000: 2 of 6 images have the same depth in all pixels (the first is of "
                                  "view 1)"));
    check_report_free(&report);
    report = check_spoiled(3, 2, 0, NULL);
    assert_false(mentions(&report, "the same depth in all pixels"));
    check_report_free(&report);
}

static size_t depth_count(const Scene *scene) {
    return (size_t)scene->info.F * (size_t)scene->info.V * (size_t)scene->info.H * (size_t)scene->info.W;
}

static void no_depth(Scene *scene) { memset(scene->depth, 0, depth_count(scene) * sizeof *scene->depth); }
static void some_without_depth(Scene *scene) { memset(scene->depth, 0, 48 * 64 * sizeof *scene->depth); }
static void foreign_mask(Scene *scene) { scene->mask[77] = 9; }
static void uneven_time(Scene *scene) { scene->time[1] += 0.05; }
static void moved_objects(Scene *scene) { scene->position[1] += 1.5; }
static void one_camera_off(Scene *scene) { scene->poses[11] += 0.06; } // metres up, floor 2 cm
static void turned_camera(Scene *scene) {
    double R[9];
    rotation_from_quaternion((double[]){1, 0.03, -0.03, 0.03}, R);
    for (int i = 0; i < 2 * 4; i++) { // rows of two poses
        double *row = scene->poses + 4 * i, turned[3];
        for (int c = 0; c < 3; c++) turned[c] = row[0] * R[c] + row[1] * R[3 + c] + row[2] * R[6 + c];
        memcpy(row, turned, sizeof turned);
    }
}

static void mask_of_bytes(Scene *scene) {
    for (size_t i = 0; i < depth_count(scene); i++) scene->mask[i] = scene->mask[i] ? 0 : 255;
}
static void colour_to_one(Scene *scene) {
    for (size_t i = 0; i < 3 * depth_count(scene); i++) scene->rgb[i] /= 200;
}
static void frame_numbers(Scene *scene) {
    for (int f = 0; f < scene->info.F; f++) scene->time[f] = f;
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
        {mask_of_bytes, "up to 255; object k (from 0 on) has id k + 1, the background 0", false},
        {colour_to_one, "no colour is above 1 of 255; were the colours numbers from 0 to 1?", false},
        {frame_numbers, "in 2 of 2 episodes the times are 0, 1, 2, ..: are they the numbers of frames?", true},
        {moved_objects, "1 of 1 objects are not at their state/object_position", false},
        {uneven_time, "uneven time steps", true},
        {one_camera_off, "above the limit", false},
        {turned_camera, "above the limit", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CheckReport report = check_spoiled(3, 2, 0, cases[i].spoil);
        if (!mentions(&report, cases[i].words)) fail_msg("nothing said of \"%s\"", cases[i].words);
        assert_int_equal(!check_report_fails(&report), cases[i].passes);
        assert_verdict(&report, cases[i].passes                   ? "pass: "
                                : cases[i].spoil == moved_objects ? "FAIL: 2 findings are wrong (above)"
                                                                  : "FAIL: ");
        check_report_free(&report);
    }
}

static void depth_millimetres(Scene *scene) {
    for (size_t i = 0; i < depth_count(scene); i++) scene->depth[i] *= 1000;
}

// One episode's depth in millimetres: its views do not agree, and the limit of the others stays.
static void test_one_in_millimetres(void **state) {
    (void)state;
    CheckReport right = check_spoiled(3, 4, 0, NULL), report = check_with_one_spoiled(4, depth_millimetres);
    assert_true(mentions(&report, "episode 000001: the median depth is "));
    assert_true(mentions(&report, " m; is its depth in millimetres?"));
    assert_false(mentions(&report, "both in millimetres"));
    assert_true(report.pass < 1.01 * right.pass);
    check_report_free(&right);
    check_report_free(&report);
}

static void opengl(Scene *scene) {
    for (int v = 0; v < scene->info.V; v++) pose_flip_opengl(scene->poses + 16 * v, scene->poses + 16 * v);
}
// Cameras that stand elsewhere and look away from each other.
static void turned_outward(Scene *scene) {
    opengl(scene);
    for (int v = 0; v < scene->info.V; v++) scene->poses[16 * v + 3] += 2;
}
static void opengl_short_of_depth(Scene *scene) {
    opengl(scene);
    for (size_t i = 0; i < depth_count(scene); i += 2) scene->depth[i] = 0;
}
static void opengl_other_lens(Scene *scene) {
    opengl(scene);
    for (int v = 0; v < scene->info.V; v++) scene->K[9 * v] *= 2, scene->K[9 * v + 4] *= 2;
}

static void opengl_without_colours(Scene *scene) {
    opengl(scene);
    one_colour(scene);
}

// One episode in which no views meet is wrong where its cameras stand as they do in episodes that are right. It is
// noted where they stand elsewhere, where it has less depth, and where the lens is another.
static void test_one_apart(void **state) {
    (void)state;
    const char *start = "episode 000001: no two views show the same place";
    Spoil *const noted[] = {turned_outward, opengl_short_of_depth, opengl_other_lens};
    CheckReport report = check_with_one_spoiled(4, opengl);
    assert_true(check_report_fails(&report));
    assert_true(mentions(&report, "episode 000001: no two views show the same place, as they do in the other episodes; "
                                  "its cameras or its depth differ from theirs"));
    assert_false(mentions(&report, "episode 000000"));
    check_report_free(&report);
    for (size_t i = 0; i < sizeof noted / sizeof noted[0]; i++) {
        report = check_with_one_spoiled(4, noted[i]);
        assert_true(!check_report_fails(&report) && mentions(&report, start));
        assert_verdict(&report, "pass: median reprojection error 0.00 mm in 3 of 4 episodes (the others could not");
        check_report_free(&report);
    }
    report = check_spoiled(3, 4, 0, opengl);
    assert_true(mentions(&report, "no two views see the same place"));
    check_report_free(&report);
    report = check_spoiled(3, 4, 0, opengl_without_colours);
    assert_verdict(&report, "not checked: no two views, or frames of a moving camera, have depth of the same place");
    check_report_free(&report);
}

static void view_raised(Scene *scene) { scene->poses[16 * 1 + 11] += 0.3; }
static void view_lowered(Scene *scene) { scene->poses[16 * 1 + 11] -= 0.3; }

// One camera of one episode is wrong: too little to show in the sums over all episodes.
static void test_one_view_of_one_episode(void **state) {
    (void)state;
    Spoil *const spoils[] = {view_raised, view_lowered};
    for (size_t i = 0; i < sizeof spoils / sizeof spoils[0]; i++) {
        CheckReport report = check_with_one_spoiled(12, spoils[i]);
        assert_true(check_report_fails(&report));
        assert_true(mentions(&report, "episode 000001: view 1 disagrees with the others ("));
        assert_int_equal(report.wrong_count, 1);
        assert_int_equal(report.episodes[0].view_off, -1);
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
    assert_status_error(dataset_check_picture(dataset, 0, 1, "title", "/dev/null/a.png", &err), STATUS_BAD_INPUT, err,
                        "/dev/null");
    dataset_close(dataset);
    scene_free(&scene);
}

static void inverted(Scene *scene) {
    foreign_mask(scene);
    for (int v = 0; v < scene->info.V; v++) pose_inverse(scene->poses + 16 * v, scene->poses + 16 * v);
}

// The cause is listed before what may follow from it, however much that is.
static void test_cause_first(void **state) {
    (void)state;
    CheckReport report = check_spoiled(3, 3, 0, inverted);
    assert_true(report.finding_count > 1);
    assert_non_null(strstr(report.findings[0].text, "invert world_from_camera"));
    check_report_free(&report);
    for (int i = 0; i < 250; i++) check_add_finding(&report, true, "error %d", i);
    check_add_cause(&report, "the cause");
    assert_string_equal(report.findings[0].text, "the cause");
    assert_int_equal(report.finding_count, 201);
    assert_int_equal(check_report_unlisted(&report), 50);
    check_report_free(&report);
}

// Of too many findings some are not listed, and the report says so; an error among them counts.
static void test_many_findings(void **state) {
    (void)state;
    CheckReport report = {0};
    char verdict[300];
    for (int i = 0; i < 250; i++) check_add_finding(&report, false, "note %d", i);
    assert_true(!check_report_fails(&report) && mentions(&report, "note 199") && !mentions(&report, "note 200"));
    assert_int_equal(check_report_unlisted(&report), 50);
    check_add_finding(&report, true, "an error behind them");
    assert_true(check_report_fails(&report));
    assert_true(mentions(&report, "an error behind them"));
    assert_verdict(&report, "FAIL: 1 finding is wrong (above)");
    for (int i = 1; i < 300; i++) check_add_finding(&report, true, "error %d", i);
    assert_int_equal(check_report_unlisted(&report), 150);
    check_report_verdict(&report, verdict, sizeof verdict);
    assert_string_equal(verdict, "FAIL: 300 findings are wrong (above)");
    check_report_free(&report);
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
                        "all kept views are held out");
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
        TEST(test_even_samples),    TEST(test_error_of_any_size),
        TEST(test_exact_scene),     TEST(test_camera_moved_level),
        TEST(test_other_time_step), TEST(test_pictures_of_one_colour),
        TEST(test_time_unit),       TEST(test_single_views),
        TEST(test_too_few_points),  TEST(test_one_depth),
        TEST(test_findings),        TEST(test_one_in_millimetres),
        TEST(test_one_apart),       TEST(test_picture),
        TEST(test_cause_first),     TEST(test_many_findings),
        TEST(test_subset),          TEST(test_one_view_of_one_episode),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
