// SPDX-License-Identifier: Apache-2.0
// Sums over all elements, weighted by row: y = scale * sum_i w_i sum_j f(x_ij - t_ij), y (1,1). Summed in double in a
// fixed order, the same for any number of threads.
#ifndef VPD_NN_REDUCE_H
#define VPD_NN_REDUCE_H

#include "nn/tape.h"

typedef enum ReduceKind {
    REDUCE_VALUE,  // f(e) = e
    REDUCE_ABS,    // f(e) = |e|
    REDUCE_SQUARE, // f(e) = e^2
    REDUCE_HUBER   // of a row: sqrt(sum_j e_j^2 + h^2) - h, in place of the sum over j
} ReduceKind;

typedef struct ReduceArgs {
    ReduceKind kind;
    size_t rows, cols;
    const real *x;
    const real *target; // (rows, cols) device memory, or NULL: 0
    const real *weight; // (rows) device memory, or NULL: 1
    double scale;
    double huber;   // h, REDUCE_HUBER alone
    real *y;        // (1), overwritten
    const real *dy; // (1)
    real *dx;       // added into
} ReduceArgs;

Tensor *reduce(Tape *tape, Tensor *x, ReduceKind kind, const real *target, const real *weight, double scale);
// Pseudo-Huber distance of rows from their targets, summed with the weights.
Tensor *reduce_huber(Tape *tape, Tensor *x, const real *target, const real *weight, double huber, double scale);
// The mean over all elements; 0 when there are none.
Tensor *reduce_mean(Tape *tape, Tensor *x);

#endif
