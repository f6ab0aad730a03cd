// SPDX-License-Identifier: Apache-2.0
#include "lab/fit_scatter.h"

#include <math.h>
#include <stdlib.h>

// J'r of each frame, in rollout.score, along x. Where residuals jump, slopes at x say nothing: along the directions of
// `spread`, by differences over their standard errors, and weight[k] (P) is what a score moves x by along direction k,
// times the variance.
static Status frame_scores(FitRollout *rollout, const MinimiseProblem *problem, const double *x,
                           const MinimiseSpread *spread, double *weight, Error *err) {
    const size_t P = problem->variables;
    double *memory = calloc(P + 2 * P * P, sizeof *memory), *normal = memory + P, *basis = normal + P * P;
    if (!memory) return error_no_memory(err, "a fit of %zu numbers", rollout->free->count);
    MinimiseSums sums = {.gradient = memory, .normal = normal, .far = problem->shape >= MINIMISE_JUMPS};
    if (problem->shape >= MINIMISE_JUMPS) sums.basis = basis;
    for (size_t k = 0; k < P; k++) {
        weight[k] = spread->width[k] <= MINIMISE_LOST ? fmin(spread->width[k], MINIMISE_LOST / 2) : 0;
        for (size_t i = 0; i < P; i++) basis[k * P + i] = weight[k] * spread->direction[k * P + i];
    }
    Status status = fit_rollout_sums(rollout, x, &sums, err);
    for (size_t k = 0; k < P; k++) weight[k] *= normal[k * P + k] > 0 ? spread->variance / normal[k * P + k] : 0;
    free(memory);
    return status;
}

// What one frame's score moves z_i by, times the variance.
static double pull(const MinimiseProblem *problem, const double *x, const MinimiseSpread *spread, const double *score,
                   const double *weight, size_t i) {
    const size_t P = problem->variables;
    double step = 0;
    for (size_t k = 0; k < P; k++) {
        if (problem->shape >= MINIMISE_JUMPS) step += weight[k] * spread->direction[k * P + i] * score[k];
        else step += spread->covariance[i * P + k] * score[k] * minimise_dx_dz(problem->variable + k, x[k]);
    }
    return step;
}

Status fit_scatter(FitRollout *rollout, const MinimiseProblem *problem, const double *x, const MinimiseSpread *spread,
                   double *out, Error *err) {
    const size_t P = problem->variables;
    double *weight = calloc(P, sizeof *weight), frames = 0, used = 0;
    if (!weight) return error_no_memory(err, "a fit of %zu numbers", rollout->free->count);
    Status status = frame_scores(rollout, problem, x, spread, weight, err);
    for (size_t k = 0; k < rollout->horizon && status == STATUS_OK && spread->variance > 0; k++) {
        const double *score = rollout->score + k * P;
        bool any = false;
        for (size_t i = 0; i < P; i++) {
            const double step = pull(problem, x, spread, score, weight, i);
            out[i] += step * step / (spread->variance * spread->variance);
            any = any || score[i] != 0;
        }
        frames += any;
    }
    for (size_t i = 0; i < P; i++) used += spread->covariance[i * P + i] > 0;
    const double share = frames > used ? frames / (frames - used) : 0; // the fit has used some of them up
    for (size_t i = 0; i < P; i++) out[i] = sqrt(share * out[i]);
    free(weight);
    return status;
}
