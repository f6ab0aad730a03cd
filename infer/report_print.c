// SPDX-License-Identifier: Apache-2.0
// The report as aligned text.
#include "base/vector.h"
#include "infer/report.h"

#include <math.h>

enum { STEPS_SHOWN = 4096, NAME_WIDTH = 34 };

typedef struct Columns {
    int step[STEPS_SHOWN], count;
} Columns;

// Values of one row: one per step, times `scale`, with `digits` decimals.
typedef double RowValue(const Report *report, const void *what, int step);

static void print_row(const Report *report, const Columns *columns, const char *name, RowValue *value, const void *what,
                      double scale, int digits, FILE *out) {
    fprintf(out, "%-*s", NAME_WIDTH, name);
    for (int i = 0; i < columns->count; i++) {
        double v = value(report, what, columns->step[i]) * scale;
        if (isfinite(v)) fprintf(out, " %8.*f", digits, v);
        else fprintf(out, " %8s", "-");
    }
    fputc('\n', out);
}

static void print_steps(const char *name, const Columns *columns, FILE *out) {
    fprintf(out, "\n%-*s", NAME_WIDTH, name);
    for (int i = 0; i < columns->count; i++) fprintf(out, " %8d", columns->step[i]);
    fputc('\n', out);
}

static bool row_has_value(const Report *report, RowValue *value, const void *what) {
    for (int step = 0; step <= report->steps; step++)
        if (isfinite(value(report, what, step))) return true;
    return false;
}

// ---- pictures

typedef struct PictureRow {
    ReportMethod method;
    ReportGroup group;
    ReportRegion region;
    ReportMetric metric;
    int view;
} PictureRow;

static double picture_value(const Report *report, const void *what, int step) {
    const PictureRow *row = what;
    Mean mean = report_mean(report, row->method, row->group, row->region, row->metric, step, row->view);
    return mean_value(&mean);
}

static void print_metric(const Report *report, const Columns *columns, PictureRow row, bool all, FILE *out) {
    static const char *const names[] = {"PSNR dB", "SSIM", "depth error cm"};
    static const double scales[] = {1, 1, 100};
    static const int digits[] = {2, 3, 2};
    char name[64];
    for (int r = 0; r < REGION_COUNT; r++) {
        bool first = true;
        if (r == REGION_RIM && !all) continue;
        row.region = (ReportRegion)r;
        for (int m = 0; m < METHOD_COUNT; m++) {
            row.method = (ReportMethod)m;
            if (!row_has_value(report, picture_value, &row)) continue;
            if (first) fprintf(out, "%s, %s\n", names[row.metric], report_region_name(row.region));
            first = false;
            snprintf(name, sizeof name, "  %s", report_method_name(row.method));
            print_row(report, columns, name, picture_value, &row, scales[row.metric], digits[row.metric], out);
        }
    }
}

static void print_views(const Report *report, const Columns *columns, ReportGroup group, FILE *out) {
    PictureRow row = {.group = group, .region = REGION_MOVING, .view = -1};
    if (!row_has_value(report, picture_value, &row)) row.region = REGION_WHOLE;
    fprintf(out, "PSNR dB, %s, model, each view\n", report_region_name(row.region));
    for (row.view = 0; row.view < report->views; row.view++) {
        char name[64];
        snprintf(name, sizeof name, "  view %d", row.view);
        if (row_has_value(report, picture_value, &row))
            print_row(report, columns, name, picture_value, &row, 1, 2, out);
    }
}

static void print_pictures(const Report *report, const Columns *columns, ReportGroup group, bool all, FILE *out) {
    PictureRow row = {.group = group, .view = -1};
    if (!row_has_value(report, picture_value, &row)) return;
    print_steps(group == GROUP_INPUT ? "INPUT VIEWS" : "HELD-OUT VIEWS", columns, out);
    for (int metric = 0; metric < (all ? METRIC_COUNT : METRIC_PSNR + 1); metric++) {
        row.metric = (ReportMetric)metric;
        print_metric(report, columns, row, all, out);
    }
    if (all) print_views(report, columns, group, out);
}

// ---- motion

// Slopes along directions in which next to nothing moves (3 % of the motion) say nothing.
static double motion_value(const Report *report, const void *what, int step) {
    const MotionTally *tally = report->motion + step; // of METHOD_MODEL
    const double least = 0.03 * 0.03 * (tally->horizontal.xx + tally->vertical.xx);
    bool horizontal = tally->horizontal.xx >= least, vertical = tally->vertical.xx >= least;
    switch (*(const int *)what) {
    case 0: return mean_value(&tally->true_motion);
    case 1: return mean_value(&tally->error);
    case 2: return mean_value(&tally->centre_motion);
    case 3: return mean_value(&tally->centre_error);
    case 4: return mean_value(&tally->point_error);
    case 5: return mean_value(&tally->spread);
    case 6: return mean_value(&tally->floor_drift);
    case 7: return horizontal ? line_fit_slope(&tally->horizontal) : NAN;
    case 8: return vertical ? line_fit_slope(&tally->vertical) : NAN;
    case 9: return horizontal ? line_fit_slope_centred(&tally->horizontal) : NAN;
    case 10: return vertical ? line_fit_slope_centred(&tally->vertical) : NAN;
    case 11: return horizontal ? line_fit_correlation(&tally->horizontal) : NAN;
    case 12: return vertical ? line_fit_correlation(&tally->vertical) : NAN;
    default: return NAN;
    }
}

static void print_motion(const Report *report, const Columns *columns, bool all, FILE *out) {
    static const char *const names[] = {"true motion, cm",
                                        "error, cm",
                                        "true motion of the centre, cm",
                                        "error of the centre, cm",
                                        "error of each particle, cm",
                                        "spread within an object, cm",
                                        "floor drift, cm",
                                        "slope, horizontal",
                                        "slope, vertical",
                                        "slope with offset, horizontal",
                                        "slope with offset, vertical",
                                        "correlation, horizontal",
                                        "correlation, vertical"};
    enum { ROWS = sizeof names / sizeof *names, LENGTHS = 7, FIRST = 4 };
    int first = 0;
    if (!row_has_value(report, motion_value, &first)) return;
    print_steps("MOTION OF OBJECT PARTICLES", columns, out);
    for (int i = 0; i < (all ? ROWS : FIRST); i++)
        print_row(report, columns, names[i], motion_value, &i, i < LENGTHS ? 100 : 1, 2, out);
    size_t unseen = 0, rejected = 0;
    for (int step = 0; step <= report->steps; step++) {
        unseen += report->motion[step].unseen;
        rejected += report->motion[step].rejected;
    }
    if (unseen) fprintf(out, "%zu object steps are left out, because the object had no particle\n", unseen);
    if (rejected) fprintf(out, "%zu steps are left out, because positions were not finite\n", rejected);
}

// ---- the report

static void print_heading(const Report *report, FILE *out) {
    if (report->model[0]) fprintf(out, "evaluation of %s\n", report->model);
    if (report->data[0])
        fprintf(out, "data          %s%s%s\n", report->data, report->split[0] ? ", split " : "", report->split);
    if (report->rollouts) fprintf(out, "rollouts      %d of %d episodes\n", report->rollouts, report->episodes);
    if (report->time_step > 0) fprintf(out, "step          %.4g s\n", report->time_step);
    else if (isnan(report->time_step)) fputs("step          not as long in all episodes\n", out);
    if (report->moving[0]) fprintf(out, "moving        %s\n", report->moving);
    for (int i = 0; i < report->driven.count; i++)
        fprintf(out, "%s%d%s", i ? ", " : "driven        object ", report->driven.v[i],
                i + 1 < report->driven.count ? "" : ": its true motion is given, and is not measured\n");
    if (report->analytic[0]) fprintf(out, "dynamics      analytic, not the model's: %s\n", report->analytic);
    double up[3];
    for (int c = 0; c < 3; c++) up[c] = round(100 * report->up[c]) / 100 + 0.0; // never -0
    if (vector_dot(up, up) > 0) fprintf(out, "up            (%.2f, %.2f, %.2f)\n", up[0], up[1], up[2]);
}

static void print_verdict(const Report *report, FILE *out) {
    ReportVerdict verdict;
    report_verdict(report, &verdict);
    fprintf(out, "\npictures  %s\nmotion    %s\nweakest   %s\n", verdict.pictures, verdict.motion, verdict.weakest);
}

void report_print(const Report *report, ReportTable table, FILE *out) {
    Columns columns;
    columns.count = report_choose_steps(report_last_step(report), table.all_steps, columns.step, STEPS_SHOWN);
    print_heading(report, out);
    print_pictures(report, &columns, GROUP_INPUT, table.all_rows, out);
    print_pictures(report, &columns, GROUP_HELDOUT, table.all_rows, out);
    print_motion(report, &columns, table.all_rows, out);
    print_verdict(report, out);
}
