// SPDX-License-Identifier: Apache-2.0
// The report as curves over steps.
#include "infer/report.h"

#include "base/check.h"

#include <math.h>
#include <stdlib.h>

enum { PLOTS_MAX = 8, SERIES_PER_PLOT = 4 };

// One allocation, handed out in order: plots, their series, and (steps + 1) values for each series and for the common
// x.
typedef struct Maker {
    const Report *report;
    ReportPlots *out;
    int series, rows;
} Maker;

static double *take_row(Maker *maker) {
    CHECK(maker->rows < PLOTS_MAX * SERIES_PER_PLOT + 1);
    return maker->out->values + (size_t)maker->rows++ * ((size_t)maker->report->steps + 1);
}

static Plot *begin_plot(Maker *maker, const char *title, const char *label) {
    ReportPlots *out = maker->out;
    CHECK(out->count < PLOTS_MAX);
    out->plots[out->count] =
        (Plot){.title = title, .x_label = "step", .y_label = label, .series = out->series + maker->series};
    return out->plots + out->count;
}

// Keeps the series only if it has a value.
static void end_series(Maker *maker, Plot *plot, const char *name, const double *y, int colour, bool dashed) {
    int steps = maker->report->steps;
    bool any = false;
    for (int i = 0; i <= steps; i++) any |= isfinite(y[i]);
    if (!any) return;
    maker->out->series[maker->series++] = (PlotSeries){.name = name,
                                                       .x = maker->out->values,
                                                       .y = y,
                                                       .count = steps + 1,
                                                       .colour = colour,
                                                       .dashed = dashed,
                                                       .markers = !dashed && steps <= 24};
    plot->series_count++;
}

static void end_plot(Maker *maker, const Plot *plot) { maker->out->count += plot->series_count > 0; }

static void psnr_plot(Maker *maker, const char *title, ReportGroup group, ReportRegion region) {
    static const int colours[METHOD_COUNT] = {0, 4, 1};
    Plot *plot = begin_plot(maker, title, "PSNR, dB");
    for (int m = 0; m < METHOD_COUNT; m++) {
        double *y = take_row(maker);
        for (int step = 0; step <= maker->report->steps; step++) {
            Mean mean = report_mean(maker->report, (ReportMethod)m, group, region, METRIC_PSNR, step, -1);
            y[step] = mean_value(&mean);
        }
        end_series(maker, plot, report_method_name((ReportMethod)m), y, colours[m], m != METHOD_MODEL);
    }
    end_plot(maker, plot);
}

typedef double TallyValue(const MotionTally *tally);
static double error_cm(const MotionTally *t) { return 100 * mean_value(&t->error); }
static double truth_cm(const MotionTally *t) { return 100 * mean_value(&t->true_motion); }
static double spread_cm(const MotionTally *t) { return 100 * mean_value(&t->spread); }
static double floor_cm(const MotionTally *t) { return 100 * mean_value(&t->floor_drift); }
static double slope_across(const MotionTally *t) { return line_fit_slope(&t->horizontal); }
static double slope_up(const MotionTally *t) { return line_fit_slope(&t->vertical); }
static double correlation_across(const MotionTally *t) { return line_fit_correlation(&t->horizontal); }
static double correlation_up(const MotionTally *t) { return line_fit_correlation(&t->vertical); }

static void motion_series(Maker *maker, Plot *plot, const char *name, TallyValue *value, int colour, bool dashed) {
    double *y = take_row(maker);
    for (int step = 0; step <= maker->report->steps; step++) y[step] = value(maker->report->motion + step);
    end_series(maker, plot, name, y, colour, dashed);
}

static void motion_plots(Maker *maker) {
    Plot *plot = begin_plot(maker, "Motion of objects", "cm");
    plot->y_from_zero = true;
    motion_series(maker, plot, "error", error_cm, 0, false);
    motion_series(maker, plot, "true motion", truth_cm, 4, true);
    motion_series(maker, plot, "spread within an object", spread_cm, 3, false);
    motion_series(maker, plot, "floor drift", floor_cm, 7, false);
    end_plot(maker, plot);
    plot = begin_plot(maker, "Predicted against true motion", "slope and correlation (1 is perfect)");
    plot->y_from_zero = true;
    motion_series(maker, plot, "slope, horizontal", slope_across, 0, false);
    motion_series(maker, plot, "slope, vertical", slope_up, 1, false);
    motion_series(maker, plot, "correlation, horizontal", correlation_across, 0, true);
    motion_series(maker, plot, "correlation, vertical", correlation_up, 1, true);
    end_plot(maker, plot);
}

Status report_plots(const Report *report, ReportPlots *out, Error *err) {
    Maker maker = {.report = report, .out = out};
    size_t rows = PLOTS_MAX * SERIES_PER_PLOT + 1;
    *out = (ReportPlots){0};
    out->series = calloc(PLOTS_MAX * SERIES_PER_PLOT, sizeof *out->series);
    out->values = calloc(rows * ((size_t)report->steps + 1), sizeof *out->values);
    if (!out->series || !out->values) {
        report_plots_free(out);
        return error_set(err, STATUS_FAILED, "out of memory for plots of %d steps", report->steps);
    }
    double *x = take_row(&maker);
    for (int step = 0; step <= report->steps; step++) x[step] = step;
    psnr_plot(&maker, "Moving pixels, input views", GROUP_INPUT, REGION_MOVING);
    psnr_plot(&maker, "Moving pixels, held-out views", GROUP_HELDOUT, REGION_MOVING);
    psnr_plot(&maker, "Whole image, input views", GROUP_INPUT, REGION_WHOLE);
    psnr_plot(&maker, "Whole image, held-out views", GROUP_HELDOUT, REGION_WHOLE);
    motion_plots(&maker);
    return STATUS_OK;
}

void report_plots_free(ReportPlots *plots) {
    free(plots->series);
    free(plots->values);
    *plots = (ReportPlots){0};
}

Status report_write_svg(const Report *report, FILE *out, Error *err) {
    ReportPlots plots;
    Status status = report_plots(report, &plots, err);
    if (status != STATUS_OK) return status;
    plot_write_grid(plots.plots, plots.count, out);
    report_plots_free(&plots);
    return ferror(out) ? error_set(err, STATUS_FAILED, "the plots of the evaluation cannot be written") : STATUS_OK;
}
