// SPDX-License-Identifier: Apache-2.0
#include "base/line_fit.h"

#include <math.h>
#include <stdbool.h>

void line_fit_add(LineFit *fit, double x, double y) {
    fit->x += x;
    fit->y += y;
    fit->xx += x * x;
    fit->xy += x * y;
    fit->yy += y * y;
    fit->count++;
}

double line_fit_slope(const LineFit *fit) { return fit->xx > 0 ? fit->xy / fit->xx : NAN; }

// Centred sums; false if a spread is only rounding error.
static bool centre(const LineFit *fit, double *xx, double *xy, double *yy) {
    if (fit->count < 2) return false;
    double n = (double)fit->count;
    *xx = fit->xx - fit->x * fit->x / n;
    *xy = fit->xy - fit->x * fit->y / n;
    *yy = fit->yy - fit->y * fit->y / n;
    return *xx > 1e-12 * fit->xx;
}

double line_fit_slope_centred(const LineFit *fit) {
    double xx, xy, yy;
    return centre(fit, &xx, &xy, &yy) ? xy / xx : NAN;
}

double line_fit_correlation(const LineFit *fit) {
    double xx, xy, yy;
    if (!centre(fit, &xx, &xy, &yy) || yy <= 1e-12 * fit->yy) return NAN;
    return xy / sqrt(xx * yy);
}
