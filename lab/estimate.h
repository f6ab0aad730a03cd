// SPDX-License-Identifier: Apache-2.0
// Estimates some values of a scene from a perfect recording of it, its states or its pictures: least squares by
// Levenberg-Marquardt with derivatives from central differences, over a growing number of frames. For experiments
// whose truth is known; lab/fit.h fits scene files to recordings.
#ifndef VPD_LAB_ESTIMATE_H
#define VPD_LAB_ESTIMATE_H

#include "lab/minimise.h"
#include "lab/render.h"

typedef struct EstimateUnknown {
    SimValue value;      // a parameter
    size_t first, count; // of its entries; count 0: all
    bool scale;          // multiplies the scene's own numbers; else takes their place
    double truth, low, high;
} EstimateUnknown;

typedef enum EstimateSource { ESTIMATE_STATES, ESTIMATE_PIXELS } EstimateSource;

typedef struct EstimateProblem {
    const char *text; // the scene; its numbers are replaced or multiplied by the truth
    const EstimateUnknown *unknown;
    size_t unknowns;
    EstimateSource source;
    size_t every;    // frames between two that are compared; the last one is always
    double hopeless; // a search whose residuals stay above this ends before all frames are used; 0: none does
    bool flat;       // draws every object with flat faces, which show how a body turns
    int threads;
} EstimateProblem;

typedef struct Estimate Estimate;

// Makes the recording.
Status estimate_open(const EstimateProblem *problem, Estimate **out, Error *err);
void estimate_close(Estimate *estimate); // NULL is fine

typedef struct EstimateResult {
    double rms;    // root of the mean square of the residuals at the end
    double *error; // (unknowns) standard errors; the caller's
    size_t lost;   // directions that nothing determines
    long rollouts;
} EstimateResult;

// Rounds the recorded pictures to 8 bits, as a file of pictures holds them.
void estimate_round(Estimate *estimate);

// x (unknowns) holds the start and then the result. `horizon`: frames of the first minimisation, at least 2, doubled
// until all are used; 0: all at once.
Status estimate_solve(Estimate *estimate, size_t horizon, double *x, EstimateResult *out, Error *err);

// Loss (half the sum of squares over the compared frames) at x, and its gradient by the adjoint of pictures and
// rollout. (unknowns)
Status estimate_gradient(Estimate *estimate, const double *x, double *loss, double *gradient, Error *err);

#endif
