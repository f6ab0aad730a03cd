// SPDX-License-Identifier: Apache-2.0
// Another system's pictures against a data set: what is there is measured, what is wrong is named.
#include "base/file.h"
#include "base/image.h"
#include "infer/eval_frames.h"
#include "tests/dataset_scene.h"

enum { F = 6, V = 3, SIDE = 32, LAST = 1 };

typedef struct Setup {
    char folder[64], data[128], frames[128];
    Scene scene;
    Dataset *dataset;
} Setup;

static const uint8_t *truth(const Setup *setup, int frame, int view) {
    return setup->scene.rgb + 3 * ((size_t)frame * V + (size_t)view) * SIDE * SIDE;
}

static void open_setup(Setup *setup, bool masks) {
    Error err;
    test_make_folder(setup->folder);
    snprintf(setup->data, sizeof setup->data, "%s/data.h5", setup->folder);
    snprintf(setup->frames, sizeof setup->frames, "%s/frames", setup->folder);
    setup->scene = scene_make(F, V, SIDE, SIDE, 0);
    scene_finish(&setup->scene);
    setup->scene.info.has_mask = masks;
    assert_status_ok(scene_write(setup->data, &setup->scene, 3, &err), err); // 000002 is the test episode
    assert_status_ok(dataset_open(setup->data, &setup->dataset, &err), err);
}

static void close_setup(Setup *setup) {
    dataset_close(setup->dataset);
    scene_free(&setup->scene);
    test_remove_folder(setup->folder);
}

// The truth with `error` added to every channel, as FRAMES/EPISODE/view_V/frame_FFFF.png.
static void write_picture(const Setup *setup, const char *episode, int frame, int view, int error, int side) {
    char path[256];
    Error err;
    Image image;
    assert_status_ok(image_create(side, side, 3, PIXEL_U8, &image, &err), err);
    for (int i = 0; i < SIDE * SIDE * 3 && side == SIDE; i++)
        ((uint8_t *)image.pixels)[i] =
            (uint8_t)(truth(setup, frame, view)[i] + (truth(setup, frame, view)[i] < 128 ? error : -error));
    snprintf(path, sizeof path, "%s/%s/view_%d/frame_%04d.png", setup->frames, episode, view, frame);
    assert_status_ok(file_make_parent(path, &err), err);
    assert_status_ok(image_write_png(&image, path, &err), err);
    image_free(&image);
}

static void write_depth(const Setup *setup, int frame, int view, double offset) {
    char path[256];
    Error err;
    Image image;
    const float *depth = setup->scene.depth + ((size_t)frame * V + (size_t)view) * SIDE * SIDE;
    assert_status_ok(image_create(SIDE, SIDE, 1, PIXEL_U16, &image, &err), err);
    for (int i = 0; i < SIDE * SIDE; i++)
        ((uint16_t *)image.pixels)[i] = depth[i] > 0 ? (uint16_t)lround(1000 * ((double)depth[i] + offset)) : 0;
    snprintf(path, sizeof path, "%s/000002/view_%d/depth_%04d.png", setup->frames, view, frame);
    assert_status_ok(image_write_png(&image, path, &err), err);
    image_free(&image);
}

static Mean value(const Report *report, ReportMethod method, ReportGroup group, ReportRegion region,
                  ReportMetric metric, int step) {
    return report_mean(report, method, group, region, metric, step, -1);
}

static void test_pictures(void **state) {
    (void)state;
    Setup setup;
    Report report;
    Error err;
    open_setup(&setup, true);
    for (int frame = 2; frame < F; frame++) {
        for (int view = 0; view < V; view++) write_picture(&setup, "000002", frame, view, view == 2 ? 0 : 51, SIDE);
    }
    write_depth(&setup, 3, 0, 0.05);
    EvalFramesOptions options = {.folder = setup.frames, .last_input = LAST, .splits = {[SPLIT_TEST] = true}};
    assert_status_ok(eval_frames(setup.dataset, &options, &report, &err), err);
    assert_int_equal(report.steps, F - 1 - LAST);
    assert_int_equal(report.rollouts, 1);
    Mean psnr = value(&report, METHOD_MODEL, GROUP_INPUT, REGION_WHOLE, METRIC_PSNR, 1);
    assert_int_equal(psnr.count, 2);
    assert_close(mean_value(&psnr), 13.979400, 1e-5, 0);
    psnr = value(&report, METHOD_MODEL, GROUP_HELDOUT, REGION_MOVING, METRIC_PSNR, 4);
    assert_close(mean_value(&psnr), METRICS_PSNR_MAX, 0, 0);
    psnr = value(&report, METHOD_MODEL, GROUP_INPUT, REGION_WHOLE, METRIC_PSNR, 0);
    assert_int_equal(psnr.count, 0); // no picture of step 0 was given
    Mean depth = value(&report, METHOD_MODEL, GROUP_INPUT, REGION_WHOLE, METRIC_DEPTH, 2);
    assert_int_equal(depth.count, 1);
    assert_close(mean_value(&depth), 0.05, 5e-4, 0); // whole millimetres
    Mean copy = value(&report, METHOD_COPY, GROUP_INPUT, REGION_MOVING, METRIC_PSNR, 4);
    assert_true(copy.count == 2 && mean_value(&copy) < 30); // the ball has moved by its diameter
    assert_non_null(strstr(report.moving, "mask"));
    report_free(&report);
    close_setup(&setup);
}

// Without masks moving pixels are those that change; steps and stride are as asked; what is missing is left out.
static void test_change_and_gaps(void **state) {
    (void)state;
    Setup setup;
    Report report;
    Error err;
    open_setup(&setup, false);
    write_picture(&setup, "000000", 3, 1, 51, SIDE);
    write_picture(&setup, "000001", 3, 1, 51, SIDE);
    EvalFramesOptions options = {.folder = setup.frames, .last_input = LAST, .steps = 1, .stride = 2};
    assert_status_ok(eval_frames(setup.dataset, &options, &report, &err), err);
    assert_int_equal(report.steps, 1);
    assert_int_equal(report.rollouts, 2);
    Mean psnr = value(&report, METHOD_MODEL, GROUP_INPUT, REGION_MOVING, METRIC_PSNR, 1);
    assert_int_equal(psnr.count, 2);
    assert_close(mean_value(&psnr), 13.979400, 1e-5, 0);
    assert_non_null(strstr(report.moving, "since the last input frame"));
    assert_close(report.time_step, 0.2, 1e-9, 0);
    report_free(&report);
    close_setup(&setup);
}

static void test_errors(void **state) {
    (void)state;
    Setup setup;
    Report report;
    Error err;
    open_setup(&setup, true);
    EvalFramesOptions options = {.folder = setup.frames, .last_input = LAST, .splits = {[SPLIT_TEST] = true}};
    assert_status_error(eval_frames(setup.dataset, &options, &report, &err), STATUS_BAD_INPUT, err,
                        "expected pictures such as 000002/view_0/frame_0002.png");
    write_picture(&setup, "000002", 2, 0, 0, SIDE / 2);
    assert_status_error(eval_frames(setup.dataset, &options, &report, &err), STATUS_BAD_INPUT, err,
                        "view_0/frame_0002.png: expected 32 x 32 pixels as in the data set, found 16 x 16");
    options.last_input = F;
    assert_status_error(eval_frames(setup.dataset, &options, &report, &err), STATUS_BAD_INPUT, err,
                        "expected an episode of split test with more than 6 frames");
    options.last_input = LAST;
    char path[256];
    snprintf(path, sizeof path, "%s/000002/view_0/frame_0002.png", setup.frames);
    assert_status_ok(file_write_bytes(path, "no picture", 10, &err), err);
    assert_status_error(eval_frames(setup.dataset, &options, &report, &err), STATUS_BAD_INPUT, err, "frame_0002.png");
    assert_null(report.cells);
    close_setup(&setup);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pictures),
        cmocka_unit_test(test_change_and_gaps),
        cmocka_unit_test(test_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
