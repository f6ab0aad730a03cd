// SPDX-License-Identifier: Apache-2.0
// Experiments of the differentiable simulator beside those of gradSim (Jatavallabhula, Macklin et al., ICLR 2021):
// scenes with random numbers are recorded, and the numbers are found again from states or pictures alone.
#ifndef VPD_LAB_EXPERIMENT_H
#define VPD_LAB_EXPERIMENT_H

#include "base/error.h"
#include "base/log.h"
#include "nn/device.h"

#include <stdio.h>

enum { EXPERIMENT_ROWS_MAX = 16, EXPERIMENT_CURVES_MAX = 4, EXPERIMENT_POINTS_MAX = 64 };

// Relative errors of one number over all instances.
typedef struct ExperimentRow {
    const char *what, *from; // "k_e"; "states", "pixels" or "pixels of 8 bits"
    double paper;            // the figure of the paper
    double *error;           // (instances) relative errors, absolute values
    double *bar;             // (instances) relative standard errors as the curvature says; NULL without noise
    size_t instances;
} ExperimentRow;

typedef struct ExperimentCurve {
    const char *name;
    double y[EXPERIMENT_POINTS_MAX];
} ExperimentCurve;

typedef struct ExperimentResult {
    ExperimentRow row[EXPERIMENT_ROWS_MAX];
    size_t rows;
    char text[2048]; // what else was found
    // A plot, with `points` above 0.
    double x[EXPERIMENT_POINTS_MAX];
    ExperimentCurve curve[EXPERIMENT_CURVES_MAX];
    size_t points, curves;
    double seconds;
    size_t instances;
    size_t lost[2]; // searches that ended elsewhere, from states and from pixels
} ExperimentResult;

typedef struct ExperimentOptions {
    size_t instances; // 0: the experiment's own
    int threads;
    Device *device; // for networks
    const Log *log;
} ExperimentOptions;

typedef struct Experiment {
    const char *name, *about;
    size_t instances;
    Status (*run)(const ExperimentOptions *options, ExperimentResult *out, Error *err);
} Experiment;

extern const Experiment experiments[]; // ends with a NULL name

Status experiment_run(const Experiment *experiment, const ExperimentOptions *options, ExperimentResult *out,
                      Error *err);
void experiment_free(ExperimentResult *result); // accepts {0}

// Mean, its standard error, median and largest of values.
typedef struct ExperimentFigures {
    double mean, spread, median, worst;
} ExperimentFigures;
ExperimentFigures experiment_figures(const double *values, size_t count);

// The section of a page in Markdown; `plot` is the path of the plot beside it, or NULL.
void experiment_print(const Experiment *experiment, const ExperimentResult *result, const char *plot, FILE *out);
// Puts the section into the page, in the place of an earlier one, and a plot into images/ beside it.
Status experiment_write_page(const Experiment *experiment, const ExperimentResult *result, const char *path,
                             Error *err);

#endif
