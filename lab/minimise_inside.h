// SPDX-License-Identifier: Apache-2.0
// Shared by lab/minimise*.c alone.
#ifndef VPD_LAB_MINIMISE_INSIDE_H
#define VPD_LAB_MINIMISE_INSIDE_H

#include "lab/minimise.h"

#include <math.h>

// Below this share of the largest eigenvalue of J'J, a direction is lost in the rounding of derivatives.
#define MINIMISE_WEAK 1e-16
// Slopes of a residual over z below this are rounding: differences of 1e-6 in z (lab/fit_rollout.c) have 2e-10.
#define MINIMISE_NOISE 1e-9

typedef struct Minimise {
    const MinimiseProblem *problem;
    const MinimiseOptions *options;
    MinimiseResult *result;
    Error *err;
    size_t P;
    double residuals; // of the last call
    double *memory;
    double *low, *high;       // (P) of z
    double *z, *trial, *x;    // (P) best point, the one that is tried, and that one as x
    double *gradient, *slope; // (P) dcost/dz at the best point and at the one that is tried
    double *normal;           // (P,P) at the best point; MINIMISE_LM
    double *step;             // (P)
} Minimise;

// x at z; a variable that is fixed keeps its bits.
void minimise_to_x(const Minimise *m, const double *z, double *x);
// The function at z; gradient and normal are of z and may be NULL. Asks for a stop first.
Status minimise_at(Minimise *m, const double *z, double *cost, double *gradient, double *normal);
// The error for a gradient that is not finite at the best point.
Status minimise_no_slope(const Minimise *m);
// Whether the variable may not follow -gradient: it is fixed, or at a bound that it would leave.
bool minimise_held(const Minimise *m, size_t i, const double *gradient);
// trial = z + factor * step within the bounds; the largest move.
double minimise_try(Minimise *m, double factor);
// The point that was tried becomes the best one.
void minimise_take(Minimise *m, double cost);

// ---- standard errors, of the variables that are free and at no bound

// Lengths of differences in z: a standard error, but no less than what their rounding allows, and no more than half of
// what counts as lost.
#define MINIMISE_SHORTEST 1e-6
#define MINIMISE_LONGEST (0.5 * MINIMISE_LOST)

typedef struct MinimiseLook {
    const MinimiseProblem *problem;
    const double *x;
    const size_t *which; // (n) variables
    size_t n;
    MinimiseSpread *out;    // its cost and variance are known
    double *value, *vector; // (n) eigenvalues of J'J; (n,n) rows: eigenvectors
    double *trial;          // (P)
    Error *err;
} MinimiseLook;

// Rising eigenvalues.
void minimise_put_in_order(size_t n, double *value, double *vector);
// J'J along the directions that were found, for more exact ones, which take their place. With `length` (n) by
// differences so long. *good: the function has values there.
Status minimise_look_along(const MinimiseLook *look, const double *length, bool *good);
// By how many variances of a residual 2 cost rises from x to `by` along direction k; beyond a bound by INFINITY, since
// nothing is known there. Keeps the best point in look->out.
Status minimise_rise(const MinimiseLook *look, size_t k, double by, double *out);
// Widens standard errors where residuals jump (lab/minimise_jumps.c).
Status minimise_past_jumps(const MinimiseLook *look);

// The standard error along direction k, as the length of a difference.
static inline double minimise_reach(const MinimiseLook *look, size_t k) {
    const double error = look->value[k] > 0 ? sqrt(look->out->variance / look->value[k]) : INFINITY;
    return fmin(fmax(error, MINIMISE_SHORTEST), MINIMISE_LONGEST);
}

// ---- methods

Status minimise_marquardt(Minimise *m);
Status minimise_lbfgs(Minimise *m);
Status minimise_adam(Minimise *m);

static inline double minimise_dot(size_t n, const double *a, const double *b) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

#endif
