// SPDX-License-Identifier: Apache-2.0
// The cost of numbers of a scene, and its derivatives, for lab/minimise.h.
#ifndef VPD_LAB_FIT_ROLLOUT_H
#define VPD_LAB_FIT_ROLLOUT_H

#include "lab/fit_data.h"

typedef struct FitRollout {
    const FitFree *free;
    FitData *data;
    size_t horizon;                   // frames compared, the first included
    const MinimiseVariable *variable; // those that are fixed have no derivative
    double hold;    // adds hold (z - z of the start)^2 / 2 for each variable to the cost, in square metres
    SimScene scene; // of the start: model and shapes of arrays
    SimScene batch; // 1 + 2 P of it; made when first needed
    Sim *one, *many;
    int threads;
    double *along, *slope; // (P,N,3); (frames,N,3)
    const double *mass;    // (N) of the rollout that runs
    double *mass_along;    // (P,N) dmass/dx, in the memory of `along`
    double *mass_slope;    // (N) dcost/dmass of all frames, in the memory of `slope`
    double *score;         // (frames,P) J'r of each frame, along x, of the last J'J; 0: not compared
    double *x, *apart;     // (P) the point that is asked for; how far the two beside it are from each other
    const double *basis;   // of the sums that run
    double step;           // along it, of its rows
    SimValues gradient;
    MinimiseSums *sums; // of the rollout that runs
    double residuals;   // of the last rollout with a result
    Error last;         // why the last rollout had no result
    Status status;      // of what compares
} FitRollout;

Status fit_rollout_open(const FitFree *free, FitData *data, int threads, FitRollout *out, Error *err);
void fit_rollout_close(FitRollout *rollout);

// A MinimiseFunction; context is a FitRollout. J'J by central differences, in f64; the gradient without it by the
// adjoint. Where the reader refuses the numbers or the rollout explodes, the cost is infinite.
Status fit_rollout_sums(void *context, const double *x, MinimiseSums *out, Error *err);

#endif
