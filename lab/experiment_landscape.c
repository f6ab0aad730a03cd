// SPDX-License-Identifier: Apache-2.0
// The loss against one number, with different frames compared.
#include "lab/experiment_inside.h"
#include "lab/fit_rollout.h"

#include <math.h>
#include <string.h>

enum { POINTS = 40 };

// A soft ball of 1 kg is pushed to the side by so many newtons for one frame; mu = lambda = 1000 Pa.
static const char text[] =
    "frames: 60\nfps: 30\nsubsteps: 100\nprecision: f64\ngravity: [0, 0, 0]\n"
    "cameras: {a: {eye: [0, -8, 0], look_at: [0, 0, 0]}}\n"
    "picture: {size: [128, 128], rasteriser: soft, sigma: 1e-3, near: 1, far: 30}\n"
    "objects: {ball: {sphere: {radius: 1, cells: 2}, mass: 1, solid: {mu: 1000, lambda: 1000, k_d: 1}}}\n"
    "controls: [{object: ball, force: [%g, 0, 0], from: 0, to: 1}]\n";

typedef struct Curve {
    const char *name;
    size_t every;
    double frames; // compared, over which the loss is a mean
} Curve;

// Where the slope of the loss changes its sign, and whether it does so once, from below 0 to above.
static size_t count_minima(const double *slope, size_t count) {
    size_t minima = 0;
    for (size_t i = 1; i < count; i++) minima += slope[i - 1] < 0 && slope[i] > 0;
    return minima;
}

// The loss y and its gradient by the adjoint, at every mass x (POINTS).
static Status draw_points(const FitFree *free, FitData *data, const Curve *curve, int threads, const double *x,
                          double *y, double *slope, Error *err) {
    FitRollout rollout;
    Status status = fit_rollout_open(free, data, threads, &rollout, err);
    rollout.variable = &free->variable->range;
    for (size_t i = 0; i < POINTS && status == STATUS_OK; i++) {
        double gradient = 0;
        MinimiseSums sums = {.gradient = &gradient};
        status = fit_rollout_sums(&rollout, x + i, &sums, err);
        y[i] = sums.cost / curve->frames;
        slope[i] = gradient / curve->frames;
    }
    fit_rollout_close(&rollout);
    return status;
}

static Status draw_curve(const Curve *curve, double push, int threads, const double *x, double *y, double *slope,
                         Error *err) {
    static const char *const name = "ball.mass";
    char pushed[sizeof text + 32];
    FitFree free = {0};
    FitData data = {0};
    SimScene scene = {0};
    snprintf(pushed, sizeof pushed, text, push);
    Status status = fit_free_parse(pushed, strlen(pushed), "experiment", &name, 1, &free, err);
    if (status == STATUS_OK) status = fit_free_scene(&free, NULL, &scene, err);
    if (status == STATUS_OK) status = fit_data_record(&scene, FIT_COLOUR, threads, &data, err);
    data.every = curve->every;
    if (status == STATUS_OK) status = draw_points(&free, &data, curve, threads, x, y, slope, err);
    fit_data_close(&data);
    scene_free(&scene);
    fit_free_close(&free);
    return status;
}

// A row of the table: slopes are of the loss against log mass.
static void tell_curve(const Curve *curve, double push, const double *x, const double *slope, char *out, size_t size) {
    double steepest = 0;
    size_t above = 0;
    for (size_t i = 0; i < POINTS; i++) steepest = fmax(steepest, fabs(slope[i] * x[i]));
    while (x[above] < 1.05) above++;
    snprintf(out, size, "| %g N | %s | %zu | %.3g | %.3g |\n", push, curve->name, count_minima(slope, POINTS), steepest,
             slope[above] * x[above]);
}

// The first push is drawn, too.
Status experiment_landscape(const ExperimentOptions *options, ExperimentResult *out, Error *err) {
    static const Curve curves[] = {{"all frames", 1, 61}, {"every tenth", 10, 7}, {"first and last", 60, 2}};
    static const double pushes[] = {0.6, 2.25};
    double slope[POINTS], unseen[POINTS];
    size_t used = (size_t)snprintf(out->text, sizeof out->text,
                                   "| push | frames compared | minima | largest slope against log mass | at 1.1 kg "
                                   "|\n| --- | --- | --- | --- | --- |\n");
    Status status = STATUS_OK;
    out->points = POINTS;
    for (size_t i = 0; i < POINTS; i++) out->x[i] = 0.1 * pow(50, (i + 0.5) / POINTS); // 1 lies between two
    for (size_t c = 0; c < 6 && status == STATUS_OK; c++) {
        const Curve *curve = curves + c % 3;
        double *y = c < 3 ? out->curve[out->curves].y : unseen;
        if (c < 3) out->curve[out->curves++].name = curve->name;
        status = draw_curve(curve, pushes[c / 3], options->threads, out->x, y, slope, err);
        tell_curve(curve, pushes[c / 3], out->x, slope, out->text + used, sizeof out->text - used);
        used = strlen(out->text);
        log_note(options->log, "landscape: curve %zu of 6", c + 1);
    }
    out->text[used - 1] = 0; // the page ends the line
    return status;
}
