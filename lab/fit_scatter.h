// SPDX-License-Identifier: Apache-2.0
// Standard errors of a fit from how much the frames of its recording disagree.
#ifndef VPD_LAB_FIT_SCATTER_H
#define VPD_LAB_FIT_SCATTER_H

#include "lab/fit_rollout.h"

// Standard errors of z from how much the frames disagree, which holds where residuals of one frame are not independent
// (clustered, "sandwich"): H^-1 (sum of s s') H^-1 with H = J'J and a frame's s = J'r, all in z. Only the diagonal, out
// (P); of no more frames than numbers that are determined, 0.
Status fit_scatter(FitRollout *rollout, const MinimiseProblem *problem, const double *x, const MinimiseSpread *spread,
                   double *out, Error *err);

#endif
