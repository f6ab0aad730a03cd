// SPDX-License-Identifier: Apache-2.0
// Adam (Kingma & Ba, ICLR 2015) with decoupled weight decay (Loshchilov & Hutter, ICLR 2019), clipping of the
// gradient's norm, and an exponential moving average (EMA) of the weights. Moments and EMA are blocks laid out like
// Parameters.values.
#ifndef VPD_NN_OPTIMIZER_H
#define VPD_NN_OPTIMIZER_H

#include "nn/parameters.h"

typedef struct OptimizerConfig {
    double beta1, beta2, epsilon; // epsilon is added to the root of the mean square
    double weight_decay;          // on weights of rank 2 and more; 0 = Adam
    double clip;                  // largest gradient norm; 0 = off
    double ema;                   // largest decay of the average; 0 = no EMA block
} OptimizerConfig;

typedef struct SumSquaresArray {
    size_t count;
    const real *x;
} SumSquaresArray;

typedef struct Optimizer {
    OptimizerConfig config;
    Parameters *set;
    real *m, *v;             // (set->size)
    real *ema;               // (set->size) or NULL
    SumSquaresArray *arrays; // (set->count) gradients that are wanted
    double *squares;         // (set->count) their sums of squares
    long step;               // updates done
} Optimizer;

Status optimizer_create(Optimizer *optimizer, Parameters *set, OptimizerConfig config, Error *err);
void optimizer_free(Optimizer *optimizer); // accepts {0}

// The decay of update t is min(ema, (1 + t) / (10 + t)), so that a short run does not average over its beginning.
// The average starts as the weights are now (after loading a checkpoint to start from).
void optimizer_restart_ema(Optimizer *optimizer);
// As if the run began with the weights as they are now: moments and average anew.
void optimizer_restart(Optimizer *optimizer);

// One update with learning rate `rate` from the gradients in the set, which are left as they are. *norm is the
// gradient's norm before clipping. A gradient that is not finite changes nothing: STATUS_FAILED names the parameter.
Status optimizer_step(Optimizer *optimizer, double rate, double *norm, Error *err);

// Exchanges weights and average, for evaluation; call it again to go back. Does nothing without an EMA.
void optimizer_swap_ema(Optimizer *optimizer);

// ---- back ends

typedef struct AdamArgs {
    size_t count;
    real *value, *m, *v;
    real *ema; // or NULL
    const real *grad;
    double rate, beta1, beta2, epsilon, decay;
    double grad_scale;         // from clipping
    double correct1, correct2; // 1 - beta^step
    double ema_decay;
} AdamArgs;

// sum[i] = the sum of squares of array i in double, in a fixed order, in host memory: one wait for all of them.
typedef struct SumSquaresArgs {
    size_t arrays;
    const SumSquaresArray *array; // (arrays), host memory, as is sum
    double *sum;
} SumSquaresArgs;

#endif
