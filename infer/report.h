// SPDX-License-Identifier: Apache-2.0
// Results of `vpd eval`. Pictures and motion steps are added one at a time. The report keeps sums and is printed as a
// table, JSON and SVG plots.
//   report_init; { report_add_image per method, step and view; motion_add(report_motion(..), ..) } ...; report_write_*
// Step 0 is the last input frame (reconstruction); steps 1.. are predicted.
#ifndef VPD_INFER_REPORT_H
#define VPD_INFER_REPORT_H

#include "base/error.h"
#include "base/plot.h"
#include "infer/metrics.h"
#include "infer/motion.h"
#include "ranks/ranks.h"

#include <stdio.h>

typedef enum ReportMethod {
    METHOD_MODEL,   // the model that is evaluated
    METHOD_COPY,    // the true last input frame of the same view, at every step
    METHOD_UNMOVED, // the model's own picture of step 0, at every step ("no dynamics")
    METHOD_COUNT
} ReportMethod;

typedef enum ReportRegion {
    REGION_WHOLE,
    REGION_MOVING,
    REGION_RIM,
    REGION_COUNT
} ReportRegion; // rim: moving pixels, dilated by 2 pixels
typedef enum ReportMetric { METRIC_PSNR, METRIC_SSIM, METRIC_DEPTH, METRIC_COUNT } ReportMetric;
typedef enum ReportGroup { GROUP_INPUT, GROUP_HELDOUT, GROUP_COUNT } ReportGroup;

enum { REPORT_RIM = 2 };

const char *report_method_name(ReportMethod method); // "model", "copy last frame", "no dynamics"
const char *report_region_name(ReportRegion region); // "whole", "moving", "moving + rim"

// Means over pictures (the mean of the pictures' PSNR).
typedef struct ReportCell {
    Mean value[REGION_COUNT][METRIC_COUNT];
} ReportCell;

typedef struct Report {
    int steps, views;                                   // steps predicted: rows 0..steps; views of the data set
    ReportCell *cells;                                  // (METHOD_COUNT, GROUP_COUNT, steps+1, views)
    MotionTally *motion;                                // (METHOD_COUNT, steps+1)
    char model[512], data[512], split[64], moving[128]; // text of the heading; empty ones are left out
    char still[96];                                     // why no motion was measured, in words; "": nothing is known
    int episodes, rollouts; // how many were measured (an episode may have several rollouts), for the heading
    IntList driven;         // objects whose motion was given and is not measured
    char analytic[256];     // how bodies were simulated, "{}"; "": they moved as the model says
    double time_step;       // seconds; 0 = unknown, NaN = not the same in all episodes
    double up[3];           // unit vector, of the last rollout; 0: unknown
    float *scratch;         // for metrics_ssim_map and its map
    uint8_t *masks;         // (REGION_COUNT, pixels)
    int H, W;               // size that scratch and masks are for
    size_t pixels;          // H W
} Report;

// Adds the reports of all processes that divided the rollouts; each has the whole then.
Status report_join(Report *report, Ranks *ranks, Error *err);

Status report_init(Report *report, int steps, int views, Error *err);
void report_free(Report *report); // accepts {0}

// Notes the time step of an episode.
void report_add_step(Report *report, double seconds);

typedef struct ReportImage {
    ReportMethod method;
    int step, view;
    bool heldout; // the view is not an input
    int H, W;
    const uint8_t *predicted, *truth;          // (H,W,3)
    const float *predicted_depth, *true_depth; // (H,W) metres, 0 = missing; NULL: no depth error
    const uint8_t *moving;                     // (H,W) NULL: only the whole image is measured
    const uint8_t *valid;                      // (H,W) pixels that are measured at all (data.crop); NULL = all
} ReportImage;

Status report_add_image(Report *report, const ReportImage *image, Error *err);
MotionTally *report_motion(Report *report, ReportMethod method, int step);

// Mean over the views of a group (or of one view, when view >= 0) of one metric.
Mean report_mean(const Report *report, ReportMethod method, ReportGroup group, ReportRegion region, ReportMetric metric,
                 int step, int view);
int report_last_step(const Report *report); // the last step with anything added; 0 if none

// Three sentences: pictures compared with copying the last frame, motion compared with predicting none, and the weakest
// point with advice.
typedef struct ReportVerdict {
    char pictures[256], motion[256], weakest[256];
} ReportVerdict;
void report_verdict(const Report *report, ReportVerdict *out);

typedef struct ReportTable {
    bool all_rows;  // or else those that are compared first: PSNR beside the baselines, true motion and its error
    bool all_steps; // or else some are chosen where there are many
} ReportTable;
// Prints aligned text that ends with the verdict.
void report_print(const Report *report, ReportTable table, FILE *out);
// Every number with its count and spread, per view and for each group of views; missing values are left out, never
// null.
Status report_write_json(const Report *report, FILE *out, Error *err);
// One self-contained picture of report_plots.
Status report_write_svg(const Report *report, FILE *out, Error *err);

// PSNR over steps for moving and all pixels, for input and held-out views, and motion, if there are values.
typedef struct ReportPlots {
    Plot plots[8];
    int count;
    PlotSeries *series; // of all plots
    double *values;
} ReportPlots;
Status report_plots(const Report *report, ReportPlots *out, Error *err);
void report_plots_free(ReportPlots *plots);

// Chooses steps for a table: all up to 8, else 0, 1, 2, 3, 4, 6, 8, 12, 16, 24, ... and the last. Returns how many, at
// most `capacity`.
int report_choose_steps(int steps, bool all, int *chosen, int capacity);

#endif
