// SPDX-License-Identifier: Apache-2.0
// Rows picked by a list of indices, and sums of runs of rows. Lists are device memory and outlive the tape's step.
#ifndef VPD_NN_ROWS_H
#define VPD_NN_ROWS_H

#include "nn/tape.h"

typedef struct GatherArgs {
    size_t rows, cols, from_rows;
    const int32_t *index; // (rows) into x; negative: a row of zeros
    const real *x;        // (from_rows, cols)
    real *y;              // (rows, cols), overwritten
    const real *dy;
    real *dx; // added into, for each row of x in the order of the list
} GatherArgs;

// y_i = x_index[i]
Tensor *gather_rows(Tape *tape, Tensor *x, size_t rows, const int32_t *index);

typedef struct SegmentArgs {
    size_t segments, cols;
    const int32_t *start; // (segments + 1), growing: segment s holds rows start[s] .. start[s + 1)
    bool mean;
    const real *x; // (start[segments], cols)
    real *y;       // (segments, cols), overwritten; 0 for an empty segment
    const real *dy;
    real *dx; // added into
} SegmentArgs;

// y_s = sum or mean over the segment's rows of x
Tensor *segment_sum(Tape *tape, Tensor *x, size_t segments, const int32_t *start);
Tensor *segment_mean(Tape *tape, Tensor *x, size_t segments, const int32_t *start);

#endif
