// SPDX-License-Identifier: Apache-2.0
// Rows picked by a list of indices, which is device memory and outlives the tape's step.
#ifndef VPD_NN_ROWS_H
#define VPD_NN_ROWS_H

#include "nn/tape.h"

typedef struct GatherArgs {
    size_t rows, cols, from_rows;
    const int32_t *index; // (rows) into x; negative: a row of zeros
    bool distinct;        // no row of x is named twice
    const real *x;        // (from_rows, cols)
    real *y;              // (rows, cols), overwritten
    const real *dy;
    real *dx; // added into, for each row of x in the order of the list
} GatherArgs;

// y_i = x_index[i]
Tensor *gather_rows(Tape *tape, Tensor *x, size_t rows, const int32_t *index);
Tensor *gather_distinct_rows(Tape *tape, Tensor *x, size_t rows, const int32_t *index); // the same, in less time

// Rows first, .., first + rows - 1 of x; x itself if these are all. They share its memory and its gradient: nothing is
// computed.
Tensor *tensor_rows(Tape *tape, Tensor *x, size_t first, size_t rows);
// The rows of all parts, one behind the other. Where they are so already, as tensor_rows of one tensor, nothing is
// copied; else they become tensor_rows of the result. A single part is the result.
Tensor *join_rows(Tape *tape, size_t count, Tensor **parts);

#endif
