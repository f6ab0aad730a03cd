// SPDX-License-Identifier: Apache-2.0
// How well particles follow the true motion of the objects that they lie on. In go the particles' places at step 0 and
// at a later step, the object of each (mask id at step 0) and the objects' true poses at both times; out come sums for
// error, slope, correlation, spread and drift over steps and episodes. Lengths in metres, world axes.
//
// For object k with particles i: where its rigid motion takes particle i:  y_i = R1 R0^T (x0_i - c0) + c1.
//   error        |mean(x1_i - x0_i) - mean(y_i - x0_i)|        centre_error   |mean(x1_i - x0_i) - (c1 - c0)|
//   point_error  mean |x1_i - y_i|                              true_motion    |mean(y_i - x0_i)|
//   spread       root mean square distance of x1 from the best rigid motion of x0 (Kabsch; at least 4 particles)
// Slopes and correlations are of predicted mean(x1_i - x0_i) on true mean(y_i - x0_i): both horizontal components are
// samples of one regression, the component along `up` of the other.
#ifndef VPD_INFER_MOTION_H
#define VPD_INFER_MOTION_H

#include "infer/metrics.h"

// Sums for regressing y on x.
typedef struct LineFit {
    double x, y, xx, xy, yy;
    size_t count;
} LineFit;

void line_fit_add(LineFit *fit, double x, double y);
// NaN when the samples do not determine them.
double line_fit_slope(const LineFit *fit);         // through the origin: sum xy / sum xx
double line_fit_slope_centred(const LineFit *fit); // with an intercept
double line_fit_correlation(const LineFit *fit);

typedef struct MotionTally {
    Mean error, centre_error, point_error, true_motion, spread; // one value per object, metres
    Mean floor_drift;                                           // one value per background particle: |x1 - x0|
    LineFit horizontal, vertical;
    size_t unseen;   // objects without a particle
    size_t ignored;  // particles whose id names no object
    size_t rejected; // steps with a place or pose that is not finite
} MotionTally;

typedef struct MotionStep {
    int particles, objects;                  // N, O
    const float *before, *after;             // (N,3) places at step 0 and at the step measured
    const uint16_t *object;                  // (N) 0 = background, k+1 = object k
    const double *position0, *position1;     // (O,3)
    const double *quaternion0, *quaternion1; // (O,4) w first, world from object; both NULL: objects do not turn
    const double *up;                        // (3) unit vector; NULL = z
} MotionStep;

// false, and only `rejected` counted, when a place or a pose is not finite.
bool motion_add(MotionTally *tally, const MotionStep *step);

// Root mean square distance between `after` and the best rigid motion of `before`, over the particles with `object` =
// id. No value (false) when there are fewer than 4.
bool motion_rigid_residual(const float *before, const float *after, const uint16_t *object, int particles, int id,
                           double *out);

#endif
