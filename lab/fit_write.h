// SPDX-License-Identifier: Apache-2.0
// What a fit leaves behind: the scene with the fitted numbers, and a plot.
#ifndef VPD_LAB_FIT_WRITE_H
#define VPD_LAB_FIT_WRITE_H

#include "lab/fit.h"

// One number of the result in words, "301.2 +- 0.8", "not determined (with ground.k_e); kept at 500".
void fit_words(const FitFree *free, const FitResult *result, size_t i, char *out, size_t size);

// What a root mean square of residuals of these kinds is counted in: " m", behind a number.
const char *fit_residual_unit(uint32_t kinds);
// What is to be known of a result, one sentence each; `which` below FIT_WARNINGS. Whether it applies.
enum { FIT_WARNINGS = 6, FIT_WARNING_SIZE = sizeof((Error *)0)->text + 64 };
bool fit_warning(const FitResult *result, int which, char *out, size_t size);

// The user's file with other numbers, and standard errors as comments at its head if the fit has finished. `x`
// (count); NULL: result->value.
Status fit_write_scene(const FitFree *free, const FitData *data, const FitResult *result, const double *x,
                       bool finished, const char *path, Error *err);
// The same as a text, malloc'ed.
Status fit_scene_text(const FitFree *free, const FitData *data, const FitResult *result, char **out, Error *err);
// Whether the head of such a text names those numbers that are free; true where it names none.
bool fit_same_names(const FitFree *free, const char *text);
// Whether the scene can be read from the folder of `path` too, which it cannot if it names meshes elsewhere.
Status fit_check_folder(const FitFree *free, const char *path, Error *err);

// SVG: the residuals, and each number relative to its start, over the steps.
Status fit_write_plot(const FitFree *free, const FitResult *result, const char *path, Error *err);

#endif
