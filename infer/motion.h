// SPDX-License-Identifier: Apache-2.0
// How well particles follow the true motion of the objects that they belong to. Inputs are particle positions at step 0
// and at a later step, the object of each particle (mask id at step 0) and the objects' true poses at both times.
// Results are sums for error, slope, correlation, spread and drift over steps and episodes. Lengths in metres, world
// axes.
//
// For object k with particles i, its true rigid motion takes particle i to  y_i = R1 R0^T (x0_i - c0) + c1.
//   error        |mean(x1_i - x0_i) - mean(y_i - x0_i)|        true_motion    |mean(y_i - x0_i)|
//   point_error  mean |x1_i - y_i|                              centre_motion  |c1 - c0|
//   centre_error |R (c0 - mean x0_i) + mean x1_i - c1|, R of the best rigid registration of x0 with x1 (with fewer than
//                4 particles |mean(x1_i - x0_i) - (c1 - c0)|): the turning of objects does not count
//   spread       root mean square residual of x1 after the best rigid registration of x0 (Kabsch; at least 4 particles)
// Slopes and correlations are of predicted mean(x1_i - x0_i) against true mean(y_i - x0_i). Both horizontal components
// are samples of one regression, the component along `up` of another.
#ifndef VPD_INFER_MOTION_H
#define VPD_INFER_MOTION_H

#include "base/line_fit.h"
#include "base/options.h"
#include "infer/metrics.h"
#include "model/config.h"

typedef struct MotionTally {
    // one value per object, metres
    Mean error, centre_error, point_error, true_motion, centre_motion, spread;
    Mean floor_drift; // one value per background particle: |x1 - x0|
    LineFit horizontal, vertical;
    size_t unseen;   // objects without particles
    size_t ignored;  // particles whose id is not an object
    size_t rejected; // steps with positions or poses that are not finite
} MotionTally;

typedef struct MotionStep {
    int particles, objects;                  // N, O
    const float *before, *after;             // (N,3) positions at step 0 and at the measured step
    const uint16_t *object;                  // (N) 0 = background, k+1 = object k
    const double *position0, *position1;     // (O,3)
    const double *quaternion0, *quaternion1; // (O,4) w first, world from object; both NULL: objects do not rotate
    const IntList *given;                    // objects that are not measured; NULL: none
    double up[3];                            // unit vector
} MotionStep;

// The rigid motion of an object from step 0: y = R x + t.
typedef struct TrueMotion {
    double R[9], t[3];
} TrueMotion;

// The true motion of object k; of `step` the poses alone are read.
TrueMotion motion_of_object(const MotionStep *step, int k);

// Unit vector against gravity: along the axis that training turned about (`turn`: TurnAxis), else as the cameras are
// held (base/camera_rig.h), which also say which way. poses (count,4,4).
void motion_up(int turn, const double *poses, size_t count, double up[3]);

// Returns false, and counts `rejected` alone, if a position or pose is not finite.
bool motion_add(MotionTally *tally, const MotionStep *step);

// The best rigid motion of an object's particles: x goes to rotation (x - before) + after.
typedef struct RigidFit {
    double before[3], after[3], rotation[9]; // means, metres
    double residual;                         // root mean square, metres
} RigidFit;

// Of the particles with `object` = id. Returns false for fewer than 4.
bool motion_fit_rigid(const float *before, const float *after, const uint16_t *object, int particles, int id,
                      RigidFit *out);

#endif
