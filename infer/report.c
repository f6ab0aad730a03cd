// SPDX-License-Identifier: Apache-2.0
#include "infer/report.h"

#include "base/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *report_method_name(ReportMethod method) {
    return (const char *[]){"model", "copy last frame", "no dynamics"}[method];
}

const char *report_region_name(ReportRegion region) {
    return (const char *[]){"whole", "moving", "moving + rim"}[region];
}

// ---- memory

Status report_init(Report *report, int steps, int views, Error *err) {
    size_t rows = METHOD_COUNT * ((size_t)steps + 1), cells;
    *report = (Report){.steps = steps, .views = views};
    CHECK(steps >= 0 && views >= 1);
    if (!size_mul(rows * GROUP_COUNT, (size_t)views, &cells)) cells = SIZE_MAX;
    report->cells = calloc(cells, sizeof *report->cells);
    report->motion = calloc(rows, sizeof *report->motion);
    if (report->cells && report->motion) return STATUS_OK;
    report_free(report);
    return error_set(err, STATUS_FAILED, "out of memory for the evaluation of %d steps and %d views", steps, views);
}

void report_add_step(Report *report, double seconds) {
    bool first = report->time_step == 0;
    if (first) report->time_step = seconds;
    else if (!(fabs(seconds - report->time_step) <= 0.01 * report->time_step)) report->time_step = NAN;
}

void report_free(Report *report) {
    free(report->cells);
    free(report->motion);
    free(report->scratch);
    free(report->masks);
    *report = (Report){0};
}

static Status need_scratch(Report *report, int H, int W, Error *err) {
    size_t pixels = (size_t)H * (size_t)W, floats = metrics_ssim_scratch(H, W) + pixels;
    // The buffers depend on W, so the same number of pixels in another shape needs other buffers.
    if (H == report->H && W == report->W) return STATUS_OK;
    free(report->scratch);
    free(report->masks);
    report->scratch = malloc(floats * sizeof *report->scratch);
    report->masks = malloc(REGION_COUNT * pixels);
    bool good = report->scratch && report->masks;
    report->H = good ? H : 0;
    report->W = good ? W : 0;
    report->pixels = good ? pixels : 0;
    return good ? STATUS_OK : error_set(err, STATUS_FAILED, "out of memory to compare pictures of %d x %d", W, H);
}

// ---- adding

static ReportCell *cell_at(const Report *report, ReportMethod method, ReportGroup group, int step, int view) {
    CHECK(step >= 0 && step <= report->steps && view >= 0 && view < report->views);
    size_t row = ((size_t)method * GROUP_COUNT + (size_t)group) * ((size_t)report->steps + 1) + (size_t)step;
    return report->cells + row * (size_t)report->views + (size_t)view;
}

// Masks of the regions; NULL means all pixels. Regions from *regions on are missing.
static void make_masks(Report *report, const ReportImage *image, const uint8_t *masks[REGION_COUNT], int *regions) {
    size_t pixels = report->pixels;
    uint8_t *moving = report->masks + pixels, *rim = moving + pixels;
    *regions = image->moving ? REGION_COUNT : REGION_WHOLE + 1;
    masks[REGION_WHOLE] = image->valid;
    masks[REGION_MOVING] = moving;
    masks[REGION_RIM] = rim;
    if (!image->moving) return;
    mask_dilate(image->moving, image->H, image->W, REPORT_RIM, rim);
    memcpy(moving, image->moving, pixels);
    mask_and(moving, image->valid, pixels);
    mask_and(rim, image->valid, pixels);
}

Status report_add_image(Report *report, const ReportImage *image, Error *err) {
    const uint8_t *masks[REGION_COUNT];
    int regions;
    double value;
    ReportCell *cell = cell_at(report, image->method, image->heldout, image->step, image->view);
    Status status = need_scratch(report, image->H, image->W, err);
    if (status != STATUS_OK) return status;
    size_t pixels = report->pixels;
    float *map = report->scratch + metrics_ssim_scratch(image->H, image->W);
    make_masks(report, image, masks, &regions);
    metrics_ssim_map(image->predicted, image->truth, image->H, image->W, report->scratch, map);
    for (int r = 0; r < regions; r++) {
        Mean *mean = cell->value[r];
        if (metrics_psnr(image->predicted, image->truth, masks[r], pixels, &value)) mean_add(mean + METRIC_PSNR, value);
        if (metrics_ssim(map, masks[r], pixels, &value)) mean_add(mean + METRIC_SSIM, value);
        if (!image->predicted_depth || !image->true_depth) continue;
        if (metrics_depth_error(image->predicted_depth, image->true_depth, masks[r], pixels, &value))
            mean_add(mean + METRIC_DEPTH, value);
    }
    return STATUS_OK;
}

MotionTally *report_motion(Report *report, ReportMethod method, int step) {
    CHECK(step >= 0 && step <= report->steps);
    return report->motion + (size_t)method * ((size_t)report->steps + 1) + (size_t)step;
}

// ---- reading

Mean report_mean(const Report *report, ReportMethod method, ReportGroup group, ReportRegion region, ReportMetric metric,
                 int step, int view) {
    Mean mean = {0};
    for (int v = 0; v < report->views; v++)
        if (view < 0 || v == view) mean_merge(&mean, &cell_at(report, method, group, step, v)->value[region][metric]);
    return mean;
}

static bool step_has_pictures(const Report *report, ReportMethod method, int step) {
    for (int g = 0; g < GROUP_COUNT; g++) {
        Mean mean = report_mean(report, method, (ReportGroup)g, REGION_WHOLE, METRIC_PSNR, step, -1);
        if (mean.count || mean.rejected) return true;
    }
    return false;
}

int report_last_step(const Report *report) {
    for (int step = report->steps; step > 0; step--) {
        for (int m = 0; m < METHOD_COUNT; m++) {
            const MotionTally *tally = report->motion + m * (report->steps + 1) + step;
            if (step_has_pictures(report, (ReportMethod)m, step) || tally->error.count || tally->floor_drift.count)
                return step;
        }
    }
    return 0;
}

int report_choose_steps(int steps, bool all, int *chosen, int capacity) {
    int count = 0;
    for (int step = 0, next = 1; step <= steps && count < capacity; step = next) {
        chosen[count++] = step;
        int power = 4; // ..., 4, 6, 8, 12, 16, 24, ...: from 4 on, a power of two and one and a half times it
        while (2 * power <= step) power *= 2;
        next = all || steps <= 8 || step < 4 ? step + 1 : step + power / 2;
        if (step < steps && next > steps) next = steps;
    }
    return count;
}
