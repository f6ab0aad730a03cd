// SPDX-License-Identifier: Apache-2.0
// Adam (Kingma & Ba, ICLR 2015) with decoupled weight decay (Loshchilov & Hutter, ICLR 2019), clipping of the
// gradient's norm, and an exponential moving average (EMA) of the weights. Moments and EMA are blocks laid out like
// Parameters.values.
//
// Muon (Jordan et al., 2024) updates the square matrices that parameters_use_muon names. It replaces the mean gradient
// by a nearly orthogonal matrix, so every direction of a matrix changes at about the same speed. It has no mean square.
#ifndef VPD_NN_OPTIMIZER_H
#define VPD_NN_OPTIMIZER_H

#include "nn/parameters.h"

#include <math.h>

typedef struct OptimizerConfig {
    double beta1, beta2, epsilon; // epsilon is added to the root of the mean square
    double weight_decay;          // on weights of rank 2 and more; 0 = Adam
    double clip;                  // largest gradient norm; 0 = off
    double ema;                   // largest decay of the average; 0 = no EMA block
} OptimizerConfig;

// A wanted parameter's place in the blocks.
typedef struct OptimizerArray {
    size_t offset, count;
    bool decays; // weight_decay is for it
    size_t side; // of a matrix that Muon updates; 0: Adam updates it
} OptimizerArray;

typedef struct Optimizer {
    OptimizerConfig config;
    Parameters *set;
    real *m, *v;            // (set->size)
    real *ema;              // (set->size) or NULL
    OptimizerArray *arrays; // (set->count) filled at each update
    double *squares;        // (set->count) sums of squares of their gradients, device memory
    double *read;           // (set->count) the same in host memory
    long step;              // updates done
} Optimizer;

Status optimizer_create(Optimizer *optimizer, Parameters *set, OptimizerConfig config, Error *err);
void optimizer_free(Optimizer *optimizer); // accepts {0}

// The decay of update t is min(ema, (1 + t) / (10 + t)), so that a short run does not average over its beginning.
// The average starts at the current weights (after loading the checkpoint to start from).
void optimizer_restart_ema(Optimizer *optimizer);
// Resets moments and average, as if the run began with the current weights.
void optimizer_restart(Optimizer *optimizer);

// One update with learning rate `rate` from the gradients in the set, which are left as they are. *norm is the
// gradient's norm before clipping. A gradient that is not finite changes nothing: STATUS_FAILED names the parameter.
Status optimizer_step(Optimizer *optimizer, double rate, double *norm, Error *err);
// The same in two parts: start asks the device for the update, finish waits for it. Between them nothing may check for
// stop requests: an update that has begun is finished.
void optimizer_start(Optimizer *optimizer, double rate);
Status optimizer_finish(Optimizer *optimizer, double *norm, Error *err);

// Exchanges weights and average, for evaluation; call it again to undo. Does nothing without an EMA.
void optimizer_swap_ema(Optimizer *optimizer);

// ---- back ends

// sum[i] = the sum of squares of array i's gradient in double, in a fixed order.
typedef struct SumSquaresArgs {
    size_t arrays;
    const OptimizerArray *array; // (arrays) host memory
    const real *grad;
    double *sum; // (arrays)
} SumSquaresArgs;

// An update of the arrays that are Adam's, or Muon's, by gradients of the norm sqrt(squares[0] + ..) over both, which
// are scaled down to `clip` where that is positive and they are longer. Nothing changes where the norm is not finite.
typedef struct UpdateArgs {
    size_t arrays;
    const OptimizerArray *array; // (arrays) host memory
    const double *squares;       // (arrays)
    real *value, *m, *v;
    real *ema; // or NULL
    const real *grad;
    double rate, beta1, beta2, epsilon, decay, clip;
    double correct1, correct2; // 1 - beta^step
    double ema_decay;
} UpdateArgs;

// Muon: m = MUON_BETA m + (1 - MUON_BETA) grad; x = MUON_BETA m + (1 - MUON_BETA) grad, divided by its norm; MUON_STEPS
// times x = MUON_A x + x (MUON_B s + MUON_C s s) with s = x^T x; then the weight changes by -rate muon_size(side) x.
#define MUON_BETA 0.95
#define MUON_A 3.4445
#define MUON_B (-4.7750)
#define MUON_C 2.0315
enum { MUON_STEPS = 5 };
// Makes the root mean square of a change 0.2 rate, as Adam's is about (Liu et al., "Muon is scalable for LLM training",
// 2025).
#ifdef __CUDACC__
__host__ __device__
#endif
    static inline double
    muon_size(size_t side) {
    return 0.2 * sqrt((double)side);
}

// The factor by which clipping scales gradients with this sum of squares; NaN when that is not finite.
#ifdef __CUDACC__
__host__ __device__
#endif
    static inline double
    gradient_scale(double clip, double squares) {
    double norm = sqrt(squares);
    if (!isfinite(norm)) return (double)NAN;
    return clip > 0 && norm > clip ? clip / norm : 1;
}

#endif
