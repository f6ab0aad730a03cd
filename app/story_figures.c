// SPDX-License-Identifier: Apache-2.0
#include "app/story.h"

#include "base/json.h"
#include "infer/eval.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TABLE_STEPS = 8, CELL = 24, FIGURES = 4, METRICS_BYTES = 1 << 28, CURVES = 3 };

// ---- an evaluation

// One line of the table: a name and a number per step.
typedef struct TableRow {
    const char *name;
    ReportMethod method;
    ReportGroup group;
    ReportRegion region;
    bool motion; // error of motion in cm, in place of PSNR
} TableRow;

static const TableRow table_rows[] = {
    {"PSNR of the whole image, dB", METHOD_MODEL, GROUP_INPUT, REGION_WHOLE, false},
    {"PSNR of moving pixels, dB", METHOD_MODEL, GROUP_INPUT, REGION_MOVING, false},
    {"the same, no dynamics", METHOD_UNMOVED, GROUP_INPUT, REGION_MOVING, false},
    {"the same, copy last frame", METHOD_COPY, GROUP_INPUT, REGION_MOVING, false},
    {"PSNR of the whole image, held-out cameras, dB", METHOD_MODEL, GROUP_HELDOUT, REGION_WHOLE, false},
    {"error of predicted motion, cm", METHOD_MODEL, GROUP_INPUT, REGION_WHOLE, true},
    {"true motion, cm", METHOD_COUNT, GROUP_INPUT, REGION_WHOLE, true},
};
enum { TABLE_ROWS = sizeof table_rows / sizeof *table_rows };

static double row_value(Report *report, const TableRow *row, int step) {
    const MotionTally *tally = report_motion(report, METHOD_MODEL, step);
    if (row->motion) return 100 * mean_value(row->method == METHOD_MODEL ? &tally->error : &tally->true_motion);
    Mean mean = report_mean(report, row->method, row->group, row->region, METRIC_PSNR, step, -1);
    return mean_value(&mean);
}

static void add_table(Page *page, Report *report) {
    int steps[TABLE_STEPS], count = report_choose_steps(report->steps, false, steps, TABLE_STEPS), rows = 1;
    char text[TABLE_ROWS + 1][TABLE_STEPS + 1][CELL];
    const char *cells[(TABLE_ROWS + 1) * (TABLE_STEPS + 1)] = {0};
    char caption[64], note[1024];
    cells[0] = "step";
    for (int c = 0; c < count; c++) {
        snprintf(text[0][c], CELL, "%d", steps[c]);
        cells[c + 1] = text[0][c];
    }
    for (int r = 0; r < TABLE_ROWS; r++) {
        bool known = false; // at one step at least
        cells[rows * (count + 1)] = table_rows[r].name;
        for (int c = 0; c < count; c++) {
            double value = row_value(report, &table_rows[r], steps[c]);
            snprintf(text[rows][c], CELL, "%.1f", value);
            cells[rows * (count + 1) + c + 1] = isfinite(value) ? text[rows][c] : "-";
            known = known || isfinite(value);
        }
        rows += known;
    }
    snprintf(caption, sizeof caption, "Accuracy at each step, mean over %d rollout%s", report->rollouts,
             report->rollouts == 1 ? "" : "s");
    page_table(page, caption, cells, rows, count + 1);
    snprintf(
        note, sizeof note,
        "PSNR compares pictures with the recorded ones; higher is better. Moving pixels: %s. Two baselines show "
        "what PSNR a prediction of no motion has: \"no dynamics\" repeats the model's own picture of step 0, \"copy "
        "last frame\" repeats the last input frame.\n\nTrue motion is the mean displacement of an object's "
        "particles since step 0 if they went with the object, turning included. The error of predicted motion is the "
        "distance between the predicted and the true mean displacement, so a prediction of no motion has an error "
        "equal to the true motion.",
        report->moving);
    page_note(page, note);
}

static void add_large_figures(Page *page, Report *report) {
    int mid = report->steps < 6 ? report->steps : 6;
    double values[FIGURES] = {row_value(report, &table_rows[0], report->steps < 1 ? 0 : 1),
                              row_value(report, &table_rows[1], mid), row_value(report, &table_rows[5], mid),
                              row_value(report, &table_rows[6], mid)};
    static const char *const formats[FIGURES] = {"%.1f dB", "%.1f dB", "%.1f cm", "%.1f cm"};
    static const char *const labels[FIGURES] = {"PSNR, whole image, step 1", "PSNR, moving pixels, step %d",
                                                "error of predicted motion, step %d", "true motion, step %d"};
    char value_text[FIGURES][CELL], label_text[FIGURES][64];
    PageFigure figures[FIGURES];
    int count = 0;
    for (int i = 0; i < FIGURES; i++) {
        if (!isfinite(values[i])) continue;
        snprintf(value_text[i], CELL, formats[i], values[i]);
        if (i == 0) snprintf(label_text[i], sizeof label_text[i], "%s", labels[0]);
        else snprintf(label_text[i], sizeof label_text[i], labels[i], mid);
        figures[count++] = (PageFigure){value_text[i], label_text[i]};
    }
    page_figures(page, figures, count);
}

Status story_figures(Page *page, const Session *session, const StoryOptions *options, Error *err) {
    EvalPlan plan = {0};
    Report report = {0};
    ReportPlots plots = {0};
    EvalChoice choice = {.episodes = options->measured,
                         .episode_count = options->measured_count,
                         .steps = -1}; // as many as the shortest episode has, at most 12
    Status status = eval_plan_make(session->model, options->dataset, &choice, &plan, err);
    if (status == STATUS_OK)
        status = eval_run(session->model, options->dataset, &plan, &(EvalOptions){.log = options->log}, &report, err);
    if (status == STATUS_OK) status = report_plots(&report, &plots, err);
    if (status == STATUS_OK) {
        add_large_figures(page, &report);
        add_table(page, &report);
        page_plots(
            page, plots.plots, plots.count,
            "The same figures and more at each step. Dashed curves: the baselines, the true motion, and in the last "
            "plot the correlation.");
    }
    report_plots_free(&plots);
    report_free(&report);
    eval_plan_free(&plan);
    return status;
}

// ---- the curves of a run

typedef struct Curve {
    double *x, *y;
    int count, capacity;
} Curve;

static bool curve_add(Curve *curve, double x, double y) {
    if (curve->count == curve->capacity) {
        int capacity = curve->capacity ? 2 * curve->capacity : 256;
        double *xs = realloc(curve->x, (size_t)capacity * sizeof *xs);
        if (xs) curve->x = xs;
        double *ys = realloc(curve->y, (size_t)capacity * sizeof *ys);
        if (ys) curve->y = ys;
        if (!xs || !ys) return false;
        curve->capacity = capacity;
    }
    curve->x[curve->count] = x;
    curve->y[curve->count++] = y;
    return true;
}

static const char *const curve_keys[CURVES] = {"loss", "psnr_step0", "psnr_last"};

static bool read_line(char *line, Curve *curves) {
    bool ok = true;
    json_t *object = json_loads(line, 0, NULL);
    const char *kind = object ? json_string_value(json_object_get(object, "kind")) : NULL;
    for (int i = 0; kind && !strcmp(kind, "train") && i < CURVES && ok; i++) {
        json_t *value = json_object_get(object, curve_keys[i]);
        if (json_is_number(value))
            ok = curve_add(&curves[i], json_number_value(json_object_get(object, "step")), json_number_value(value));
    }
    json_decref(object);
    return ok;
}

// Neighbouring values that a point of a plot is the mean of, since each training step sees another scene: an odd
// number, at most 15 and a fifth of the shortest of its `count` curves. The title names it.
static int smooth_window(const char *name, const Curve *curves, int count, char *title, size_t size) {
    int window = 15;
    for (int i = 0; i < count; i++)
        if (curves[i].count && curves[i].count / 5 < window) window = curves[i].count / 5;
    window = window < 3 ? 1 : window - !(window % 2);
    if (window == 1) snprintf(title, size, "%s", name);
    else snprintf(title, size, "%s, mean of up to %d log lines", name, window);
    return window;
}

static void smooth(Curve *curve, int window) {
    int half = window / 2;
    double *out = malloc(((size_t)curve->count + 1) * sizeof *out);
    if (!out) return;
    for (int i = 0; i < curve->count; i++) {
        int first = i < half ? 0 : i - half, last = i + half < curve->count ? i + half : curve->count - 1;
        out[i] = 0;
        for (int j = first; j <= last; j++) out[i] += curve->y[j] / (last - first + 1);
    }
    free(curve->y);
    curve->y = out;
}

Status story_curves(Page *page, const char *folder, Error *err) {
    char path[FILE_PATH_SIZE], titles[2][80], *text = NULL, *rest;
    size_t length;
    Curve curves[CURVES] = {{0}};
    bool ok = true;
    Status status = file_join(path, sizeof path, folder, "metrics.jsonl", err);
    if (status == STATUS_OK) status = file_read_all(path, METRICS_BYTES, &text, &length, err);
    if (status != STATUS_OK) return status;
    for (char *line = strtok_r(text, "\n", &rest); line && ok; line = strtok_r(NULL, "\n", &rest))
        ok = read_line(line, curves);
    int windows[CURVES] = {smooth_window("Loss", curves, 1, titles[0], sizeof titles[0])};
    windows[1] = windows[2] = smooth_window("PSNR of training rays", curves + 1, 2, titles[1], sizeof titles[1]);
    for (int i = 0; i < CURVES; i++) smooth(&curves[i], windows[i]);
    PlotSeries loss = {.name = "loss", .x = curves[0].x, .y = curves[0].y, .count = curves[0].count};
    PlotSeries psnr[2] = {
        {.name = "step 0 (input frame)", .x = curves[1].x, .y = curves[1].y, .count = curves[1].count},
        {.name = "last predicted step", .x = curves[2].x, .y = curves[2].y, .count = curves[2].count, .colour = 1}};
    Plot plots[2] = {
        {.title = titles[0], .x_label = "training step", .series = &loss, .series_count = 1, .log_y = true},
        {.title = titles[1], .x_label = "training step", .y_label = "dB", .series = psnr, .series_count = 2}};
    if (ok) page_plots(page, plots, curves[1].count ? 2 : 1, "Training curves.");
    else status = error_set(err, STATUS_FAILED, "out of memory for the curves of %s", path);
    for (int i = 0; i < CURVES; i++) {
        free(curves[i].x);
        free(curves[i].y);
    }
    free(text);
    return status;
}
