// SPDX-License-Identifier: Apache-2.0
// Columns of several tensors beside each other.
#ifndef VPD_NN_COLUMNS_H
#define VPD_NN_COLUMNS_H

#include "nn/tape.h"

// to[i][0 .. cols) = from[i][0 .. cols), or += with `add`.
typedef struct CopyColumnsArgs {
    size_t rows, cols;
    const real *from;
    size_t from_stride; // elements between rows
    real *to;
    size_t to_stride;
    bool add;
} CopyColumnsArgs;

// y = [x_0, x_1, ..]; count >= 1, equal numbers of rows.
Tensor *concat_columns(Tape *tape, size_t count, Tensor *const *x);

#endif
