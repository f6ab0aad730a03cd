// SPDX-License-Identifier: Apache-2.0
// Fits numbers of a scene to a recording: the least squares of what a rollout and the recording differ in, by
// Levenberg-Marquardt with derivatives from rollouts of slightly changed scenes, all in one batch, or by L-BFGS or Adam
// with the adjoint. Standard errors come from the curvature. What the recording does not determine stays at its start
// and is named.
#ifndef VPD_LAB_FIT_H
#define VPD_LAB_FIT_H

#include "lab/fit_data.h"

// FIT_AUTO: LM up to 64 variables, and up to 128 where no pictures are compared, whose derivatives cost more; else
// L-BFGS
typedef enum FitMethod { FIT_AUTO, FIT_LM, FIT_LBFGS, FIT_ADAM } FitMethod;

typedef struct FitOptions {
    FitMethod method;
    long iterations;  // at most, for each horizon; 0: 100 (Adam: 300)
    long starts;      // the file's, and others drawn from within the bounds; 0: 1
    long horizon;     // frames compared at first, doubled until all are; 0: an eighth
    int threads;      // at most, and no more than pay; 0: as many as pay
    double hopeless;  // ends, without errors, when fewer than all frames are left with larger residuals; 0: never
    const double *at; // where to start, for a fit that goes on; NULL: FitVariable.start
    // After each step; may be NULL.
    void (*report)(void *context, long step, size_t frames, double rms, const double *x);
    void *context;
} FitOptions;

typedef enum FitVerdict { FIT_FITTED, FIT_AT_BOUND, FIT_UNDETERMINED, FIT_VERDICTS } FitVerdict;
extern const char *const fit_verdicts[FIT_VERDICTS];

typedef struct FitValue {
    double value, error; // standard error, of the curvature or of how frames disagree; NAN where there is none
    FitVerdict verdict;
    uint32_t with[(FIT_VARIABLES_MAX + 31) / 32]; // FIT_UNDETERMINED: bits of those that move along with it
} FitValue;

typedef struct FitStep { // of the minimisation that gave the result
    size_t frames;       // compared
    double rms;
} FitStep;

typedef struct FitResult {
    size_t count, frames;
    FitValue *value;       // (count) in the order of FitFree
    double first_rms, rms; // of the residuals, at the start and at the end
    double start_rms;      // at the scene's own start, where a fit went on from others; else first_rms
    FitStep *step;         // (steps)
    double *path;          // (steps,count) the variables
    size_t steps;
    long calls; // rollouts, batches count as one
    bool converged, has_errors;
    bool jumps;      // a contact without `fade` has k_d: the motion jumps, and numbers and errors are rough
    bool many;       // more than 16 numbers from pictures: their standard errors are rough
    bool rounded;    // states differ as rounding in single precision lets motions differ: errors are too small
    bool no_better;  // residuals are hardly lower than at the start, and larger than usual errors
    Error no_errors; // why there are none, where working them out failed
} FitResult;

// Whether these options follow the gradient of pictures: then fit_data_open has to be told.
bool fit_by_adjoint(const FitOptions *options, size_t count);
// STATUS_INTERRUPTED leaves the best values so far in `out`, without errors.
Status fit_run(const FitFree *free, FitData *data, const FitOptions *options, FitResult *out, Error *err);
void fit_result_free(FitResult *result); // accepts {0}

#endif
