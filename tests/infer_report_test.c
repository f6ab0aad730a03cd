// SPDX-License-Identifier: Apache-2.0
// The evaluation's report: what is added comes out in the right place, groups and baselines apart, missing values as
// such.
#include "infer/report.h"
#include "tests/test.h"

#include <jansson.h>

enum { H = 16, W = 20, PIXELS = H * W, STEPS = 3, VIEWS = 3 };

typedef struct Pictures {
    uint8_t truth[PIXELS * 3], near[PIXELS * 3], far[PIXELS * 3], moving[PIXELS], none[PIXELS];
    float depth[PIXELS], depth_off[PIXELS];
} Pictures;

static void make_pictures(Pictures *p) {
    memset(p, 0, sizeof *p);
    for (int i = 0; i < PIXELS; i++) {
        p->moving[i] = i / W >= 7 && i / W < 10 && i % W >= 8 && i % W < 12;
        p->depth[i] = 2;
        p->depth_off[i] = p->moving[i] ? 2.5f : 2.1f;
        for (int c = 0; c < 3; c++) {
            p->truth[3 * i + c] = (uint8_t)(50 + 7 * c + i % 31);
            p->near[3 * i + c] = (uint8_t)(p->truth[3 * i + c] + (p->moving[i] ? 51 : 0)); // 51/255: 13.98 dB
            p->far[3 * i + c] = (uint8_t)(p->truth[3 * i + c] + 102);                      // 7.96 dB
        }
    }
}

static void add(Report *report, const Pictures *p, ReportMethod method, int step, int view, const uint8_t *picture,
                const uint8_t *moving) {
    Error err;
    ReportImage image = {.method = method,
                         .step = step,
                         .view = view,
                         .heldout = view == 2,
                         .H = H,
                         .W = W,
                         .predicted = picture,
                         .truth = p->truth,
                         .predicted_depth = p->depth_off,
                         .true_depth = p->depth,
                         .moving = moving};
    assert_status_ok(report_add_image(report, &image, &err), err);
}

static double psnr(const Report *report, ReportMethod method, ReportGroup group, ReportRegion region, int step) {
    Mean mean = report_mean(report, method, group, region, METRIC_PSNR, step, -1);
    return mean_value(&mean);
}

static void test_places(void **state) {
    (void)state;
    Error err;
    Report report;
    Pictures p;
    make_pictures(&p);
    assert_status_ok(report_init(&report, STEPS, VIEWS, &err), err);
    assert_int_equal(report_last_step(&report), 0);
    add(&report, &p, METHOD_MODEL, 1, 0, p.near, p.moving);
    add(&report, &p, METHOD_MODEL, 1, 1, p.far, p.moving);
    add(&report, &p, METHOD_MODEL, 1, 2, p.truth, p.moving);
    add(&report, &p, METHOD_COPY, 1, 0, p.far, p.moving);
    assert_int_equal(report_mean(&report, METHOD_UNMOVED, GROUP_INPUT, REGION_WHOLE, METRIC_PSNR, 1, -1).count, 0);
    const double near = 13.979400, far = 7.958800; // -20 log10 0.2, 0.4
    assert_close(psnr(&report, METHOD_MODEL, GROUP_INPUT, REGION_MOVING, 1), (near + far) / 2, 1e-5, 0);
    // 12 of 320 pixels differ; with the rim of 2 pixels 7 x 8 = 56.
    assert_close(psnr(&report, METHOD_MODEL, GROUP_INPUT, REGION_WHOLE, 1), (near + 10 * log10(320 / 12.0) + far) / 2,
                 1e-5, 0);
    assert_close(psnr(&report, METHOD_MODEL, GROUP_INPUT, REGION_RIM, 1), (near + 10 * log10(56 / 12.0) + far) / 2,
                 1e-5, 0);
    assert_close(psnr(&report, METHOD_MODEL, GROUP_HELDOUT, REGION_WHOLE, 1), METRICS_PSNR_MAX, 0, 0);
    assert_close(psnr(&report, METHOD_COPY, GROUP_INPUT, REGION_MOVING, 1), far, 1e-5, 0);
    assert_true(isnan(psnr(&report, METHOD_MODEL, GROUP_INPUT, REGION_WHOLE, 2)));
    assert_int_equal(report_last_step(&report), 1);
    Mean depth = report_mean(&report, METHOD_MODEL, GROUP_INPUT, REGION_MOVING, METRIC_DEPTH, 1, 0);
    assert_close(mean_value(&depth), 0.5, 1e-6, 0);
    report_free(&report);
}

// Scratch memory depends on the shape, not on the number of pixels: a flat picture behind an upright one of as many.
static void test_shapes(void **state) {
    (void)state;
    Error err;
    Report report;
    Pictures p;
    const int shapes[][2] = {{20, 16}, {1, 320}, {16, 20}, {320, 1}};
    make_pictures(&p);
    assert_status_ok(report_init(&report, STEPS, VIEWS, &err), err);
    for (int i = 0; i < 4; i++) {
        ReportImage image = {.step = i, .H = shapes[i][0], .W = shapes[i][1], .predicted = p.near, .truth = p.truth};
        assert_status_ok(report_add_image(&report, &image, &err), err);
        assert_true(report.H == image.H && report.W == image.W);
        assert_close(psnr(&report, METHOD_MODEL, GROUP_INPUT, REGION_WHOLE, i), 13.979400 + 10 * log10(320 / 12.0),
                     1e-5, 0);
    }
    report_free(&report);
}

// No moving pixel and no mask: nothing is counted, nothing becomes NaN. Pixels outside `valid` do not count.
static void test_missing(void **state) {
    (void)state;
    Error err;
    Report report;
    Pictures p;
    make_pictures(&p);
    assert_status_ok(report_init(&report, STEPS, VIEWS, &err), err);
    add(&report, &p, METHOD_MODEL, 0, 0, p.near, p.none);
    add(&report, &p, METHOD_MODEL, 0, 1, p.near, NULL);
    Mean moving = report_mean(&report, METHOD_MODEL, GROUP_INPUT, REGION_MOVING, METRIC_PSNR, 0, -1);
    Mean whole = report_mean(&report, METHOD_MODEL, GROUP_INPUT, REGION_WHOLE, METRIC_PSNR, 0, -1);
    assert_int_equal(moving.count + moving.rejected, 0);
    assert_int_equal(whole.count, 2);
    uint8_t valid[PIXELS];
    for (int i = 0; i < PIXELS; i++) valid[i] = !p.moving[i];
    ReportImage image = {.method = METHOD_MODEL,
                         .step = 1,
                         .H = H,
                         .W = W,
                         .predicted = p.near,
                         .truth = p.truth,
                         .moving = p.moving,
                         .valid = valid};
    assert_status_ok(report_add_image(&report, &image, &err), err);
    assert_close(psnr(&report, METHOD_MODEL, GROUP_INPUT, REGION_WHOLE, 1), METRICS_PSNR_MAX, 0, 0);
    assert_true(isnan(psnr(&report, METHOD_MODEL, GROUP_INPUT, REGION_MOVING, 1)));
    assert_close(psnr(&report, METHOD_MODEL, GROUP_INPUT, REGION_RIM, 1), METRICS_PSNR_MAX, 0, 0);
    report_free(&report);
}

static void add_motion(Report *report) {
    const float before[18] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 5, 5, 5, 6, 6, 6};
    float after[18];
    const uint16_t object[6] = {1, 1, 1, 1, 0, 0};
    const double here[3] = {0, 0, 0}, there[3] = {0.1, 0, -0.2};
    for (int i = 0; i < 18; i++) after[i] = before[i] + (i < 12 ? (float)there[i % 3] * 0.5f : 0);
    for (int step = 1; step <= STEPS; step++) {
        MotionStep s = {6, 1, before, after, object, here, there, NULL, NULL, NULL, {0, 0, 1}};
        assert_true(motion_add(report_motion(report, METHOD_MODEL, step), &s));
    }
}

static void fill(Report *report) {
    Error err;
    Pictures p;
    make_pictures(&p);
    assert_status_ok(report_init(report, STEPS, VIEWS, &err), err);
    snprintf(report->model, sizeof report->model, "runs/a/best.h5");
    snprintf(report->data, sizeof report->data,
             "bl\xF6"
             "cke.h5"); // Latin 1: no UTF-8
    snprintf(report->split, sizeof report->split, "test");
    report->episodes = 1;
    report->rollouts = 2;
    report->time_step = 1.0 / 24;
    for (int step = 0; step <= STEPS; step++) {
        for (int view = 0; view < VIEWS; view++) {
            add(report, &p, METHOD_MODEL, step, view, p.near, p.moving);
            add(report, &p, METHOD_COPY, step, view, p.far, p.moving);
            add(report, &p, METHOD_UNMOVED, step, view, p.far, p.moving);
        }
    }
    add_motion(report);
}

static char *written(const Report *report, char what) {
    char *text = NULL;
    size_t length;
    Error err;
    FILE *out = open_memstream(&text, &length);
    if (what == 't' || what == 'T') report_print(report, (ReportTable){.all_rows = what == 'T'}, out);
    if (what == 'j') assert_status_ok(report_write_json(report, out, &err), err);
    if (what == 's') assert_status_ok(report_write_svg(report, out, &err), err);
    fclose(out);
    return text;
}

static void test_table(void **state) {
    (void)state;
    Report report;
    fill(&report);
    char *text = written(&report, 'T');
    const char *const wanted[] = {"evaluation of runs/a/best.h5\n",
                                  "rollouts      2 of 1 episodes\n",
                                  "INPUT VIEWS",
                                  "HELD-OUT VIEWS",
                                  "PSNR dB, moving + rim\n",
                                  "MOTION OF OBJECT PARTICLES",
                                  "  view 2 ",
                                  "slope, horizontal                         -     0.50     0.50     0.50\n",
                                  "error, cm                                 -    11.18    11.18    11.18\n"};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (!strstr(text, wanted[i])) fail_msg("\"%s\" is not in\n%s", wanted[i], text);
    assert_null(strstr(text, "nan"));
    if (getenv("VPD_SHOW")) fputs(text, stderr);
    free(text);
    report_free(&report);
}

// Without being asked for all rows, those that are compared first.
static void test_short_table(void **state) {
    (void)state;
    Report report;
    fill(&report);
    char *text = written(&report, 't');
    const char *const wanted[] = {"PSNR dB, whole\n", "PSNR dB, moving\n",       "  copy last frame", "HELD-OUT VIEWS",
                                  "error, cm   ",     "error of the centre, cm", "\nweakest "};
    const char *const others[] = {"SSIM", "depth", "rim", "  view 2 ", "slope", "spread"};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (!strstr(text, wanted[i])) fail_msg("\"%s\" is not in\n%s", wanted[i], text);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strstr(text, others[i])) fail_msg("\"%s\" is in\n%s", others[i], text);
    free(text);
    report_free(&report);
}

static void assert_verdict(const Report *report, const char *pictures, const char *motion, const char *weakest) {
    ReportVerdict verdict;
    report_verdict(report, &verdict);
    if (!strstr(verdict.pictures, pictures) || !strstr(verdict.motion, motion) || !strstr(verdict.weakest, weakest))
        fail_msg("unexpected verdict:\n%s\n%s\n%s", verdict.pictures, verdict.motion, verdict.weakest);
}

// One pixel value for all cells of a method and a group, or motion that is wrong by a share of itself.
static void set_region(Report *report, ReportMethod method, bool heldout, int region, double db) {
    for (int step = 0; step <= STEPS; step++)
        for (int view = heldout ? 2 : 0; view < (heldout ? 3 : 2); view++) {
            ReportCell *cell = report->cells +
                               (((size_t)method * GROUP_COUNT + heldout) * (STEPS + 1) + (size_t)step) * VIEWS +
                               (size_t)view;
            cell->value[region][METRIC_PSNR] = (Mean){0};
            mean_add(&cell->value[region][METRIC_PSNR], db);
        }
}

static void set_psnr(Report *report, ReportMethod method, bool heldout, double db) {
    for (int region = 0; region < REGION_COUNT; region++) set_region(report, method, heldout, region, db);
}

static void set_motion(Report *report, int step, double way, double error) {
    MotionTally *tally = report_motion(report, METHOD_MODEL, step);
    tally->true_motion = tally->error = (Mean){0};
    mean_add(&tally->true_motion, way);
    mean_add(&tally->error, error);
}

static void test_verdict(void **state) {
    (void)state;
    Report r, empty;
    Error err;
    fill(&r);
    assert_verdict(
        &r,
        "better than copying the last frame: PSNR 14.0 dB against 8.0 on moving pixels, 28.2 against 8.0 on all pixels",
        "better than predicting no motion: error 11.2 cm, true motion 22.4 cm (50 %, steps 1 to 3)",
        "none of the known weaknesses was found");
    set_motion(&r, 3, 0.2, 0.15);
    assert_verdict(&r, "better", "better",
                   "later steps: the error is 75 % of the true motion at step 3, 50 % at step 1");
    set_psnr(&r, METHOD_MODEL, true, 24);
    assert_verdict(&r, "better", "better", "held-out views: PSNR 24.0 dB, 28.2 on input views");
    for (int heldout = 0; heldout < 2; heldout++) set_region(&r, METHOD_COPY, heldout, REGION_WHOLE, 40);
    assert_verdict(&r, "better than copying the last frame on moving pixels only: PSNR ", "better", "held-out views");
    for (int heldout = 0; heldout < 2; heldout++) set_region(&r, METHOD_COPY, heldout, REGION_WHOLE, 8);
    for (int step = 1; step <= STEPS; step++) set_motion(&r, step, 0.2, 0.3);
    assert_verdict(&r, "better", "worse than predicting no motion: error 30.0 cm", "motion: the error is 150 % of the");
    for (int heldout = 0; heldout < 2; heldout++) set_psnr(&r, METHOD_MODEL, heldout, 7);
    assert_verdict(&r, "worse than copying the last frame: PSNR 7.0 dB against 8.0", "worse",
                   "rendering: even the last input frame has a PSNR of only 7.0 dB");
    for (int step = 1; step <= STEPS; step++) set_motion(&r, step, 0, 0.01);
    for (int heldout = 0; heldout < 2; heldout++) set_psnr(&r, METHOD_MODEL, heldout, 25);
    for (int heldout = 0; heldout < 2; heldout++) set_psnr(&r, METHOD_COPY, heldout, 25.2);
    assert_verdict(&r, "no better than copying the last frame",
                   "the objects move less than 1 mm; the predicted ones move by 1 cm",
                   "static background: on all pixels copying the last frame is 0.2 dB better");
    report_free(&r);
    assert_status_ok(report_init(&empty, STEPS, VIEWS, &err), err);
    assert_verdict(&empty, "not measured", "not measured", "not measured");
    snprintf(empty.still, sizeof empty.still, "masks are missing in the data");
    assert_verdict(&empty, "not measured", "not measured: masks are missing in the data", "not measured");
    report_free(&empty);
    assert_status_ok(report_init(&empty, 0, VIEWS, &err), err);
    assert_verdict(&empty, "not measured", "not measured: no step was predicted", "not measured");
    report_free(&empty);
}

static void test_json(void **state) {
    (void)state;
    Report report;
    fill(&report);
    char *text = written(&report, 'j');
    json_error_t problem;
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &problem);
    if (!root) fail_msg("%s at line %d of\n%s", problem.text, problem.line, text);
    json_t *pictures = json_object_get(root, "pictures"), *row = json_array_get(pictures, 0), *value;
    // 3 methods, 4 steps; input: mean and 2 views, held out: mean and 1 view
    assert_int_equal(json_array_size(pictures), 3 * 4 * (3 + 2));
    assert_true(json_is_null(json_object_get(row, "view")));
    value = json_object_get(json_object_get(row, "moving"), "psnr_db");
    assert_close(json_real_value(json_object_get(value, "mean")), 13.979400, 1e-5, 0);
    assert_int_equal(json_integer_value(json_object_get(value, "count")), 2);
    row = json_array_get(json_object_get(root, "motion"), 0);
    assert_int_equal(json_integer_value(json_object_get(row, "step")), 1);
    assert_close(json_real_value(json_object_get(json_object_get(row, "vertical"), "slope")), 0.5, 1e-6, 0);
    assert_true(json_is_null(json_object_get(json_object_get(row, "vertical"), "correlation"))); // one sample
    assert_string_equal(json_string_value(json_object_get(root, "data")), "bl?cke.h5");
    json_decref(root);
    free(text);
    report_free(&report);
}

// A step's number says nothing of time where episodes have different rates.
static void test_rates(void **state) {
    (void)state;
    Report report;
    fill(&report);
    report_add_step(&report, 1.0 / 24.1);
    assert_true(report.time_step == 1.0 / 24);
    report_add_step(&report, 1.0 / 30);
    report_add_step(&report, 1.0 / 24);
    char *text = written(&report, 't'), *json = written(&report, 'j');
    assert_non_null(strstr(text, "\nstep          not as long in all episodes\n"));
    assert_non_null(strstr(json, "\"time_step_s\": null,"));
    free(text);
    free(json);
    report_free(&report);
}

// What hardly moves upward has no vertical slope in the table.
static void test_next_to_no_motion(void **state) {
    (void)state;
    for (int still = 0; still < 2; still++) {
        Report report;
        fill(&report);
        for (int step = 1; step <= STEPS; step++) {
            MotionTally *tally = report_motion(&report, METHOD_MODEL, step);
            tally->horizontal = tally->vertical = (LineFit){0};
            line_fit_add(&tally->horizontal, 1, 0.5);
            line_fit_add(&tally->vertical, still ? 0.02 : 0.04, 0.5);
        }
        char *text = written(&report, 'T'), *row = strstr(text, "slope, vertical");
        assert_non_null(row);
        *strchr(row, '\n') = 0;
        assert_int_equal(strstr(row, "12.50") == NULL, still);
        assert_non_null(strstr(text, "0.50")); // horizontal
        free(text);
        report_free(&report);
    }
}

static void test_svg(void **state) {
    (void)state;
    Report report;
    ReportPlots plots;
    Error err;
    fill(&report);
    assert_status_ok(report_plots(&report, &plots, &err), err);
    assert_int_equal(plots.count, 6);
    assert_int_equal(plots.plots[0].series_count, 3);
    assert_close(plots.plots[0].series[0].y[2], 13.979400, 1e-5, 0);
    report_plots_free(&plots);
    char *text = written(&report, 's');
    assert_non_null(strstr(text, "Moving pixels, held-out views"));
    assert_null(strstr(text, "nan"));
    free(text);
    report_free(&report);
}

static void test_chosen_steps(void **state) {
    (void)state;
    int steps[64];
    const int wanted[] = {0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 50};
    assert_int_equal(report_choose_steps(50, false, steps, 64), 13);
    assert_memory_equal(steps, wanted, sizeof wanted);
    assert_int_equal(report_choose_steps(12, false, steps, 64), 8);
    assert_int_equal(steps[7], 12);
    assert_int_equal(report_choose_steps(6, false, steps, 64), 7);
    assert_int_equal(report_choose_steps(50, true, steps, 64), 51);
    assert_int_equal(report_choose_steps(0, false, steps, 64), 1);
    assert_int_equal(report_choose_steps(50, true, steps, 4), 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places),      cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_missing),     cmocka_unit_test(test_table),
        cmocka_unit_test(test_short_table), cmocka_unit_test(test_json),
        cmocka_unit_test(test_rates),       cmocka_unit_test(test_next_to_no_motion),
        cmocka_unit_test(test_svg),         cmocka_unit_test(test_chosen_steps),
        cmocka_unit_test(test_verdict),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
