// SPDX-License-Identifier: Apache-2.0
// Fits a line to samples.
#ifndef VPD_BASE_LINE_FIT_H
#define VPD_BASE_LINE_FIT_H

#include <stddef.h>

// Sums for regressing y on x.
typedef struct LineFit {
    double x, y, xx, xy, yy;
    size_t count;
} LineFit;

void line_fit_add(LineFit *fit, double x, double y);
// NaN if the samples do not determine them.
double line_fit_slope(const LineFit *fit);         // through the origin: sum xy / sum xx
double line_fit_slope_centred(const LineFit *fit); // with an intercept
double line_fit_correlation(const LineFit *fit);

#endif
