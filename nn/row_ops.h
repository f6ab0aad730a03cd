// SPDX-License-Identifier: Apache-2.0
// Small loops over rows of device memory, without a gradient: what plans and scene flow are made of.
#ifndef VPD_NN_ROW_OPS_H
#define VPD_NN_ROW_OPS_H

#include "nn/element.h"

// out[i][column .. column + width) = scale x[index[i]]; index NULL: i itself. Rows of out have `stride` columns.
typedef struct RowGatherArgs {
    size_t count, width, stride, column;
    const real *x;        // (.., width)
    const int32_t *index; // (count) or NULL
    real scale;
    real *out;
} RowGatherArgs;

// out = a + factor b
typedef struct RowAddArgs {
    size_t count;
    const real *a, *b;
    real factor;
    real *out; // may be a or b
} RowAddArgs;

// out[q] = mean of value[index[q][j]] over the entries that are not -1 (0 without any), rows of 3.
typedef struct RowMeanArgs {
    size_t queries, k;
    const int32_t *index; // (queries, k)
    const real *value;    // (.., 3)
    real *out;            // (queries, 3)
} RowMeanArgs;

ELEMENT void row_mean_of(const RowMeanArgs *a, size_t q) {
    const int32_t *index = a->index + q * a->k;
    real sum[3] = {0};
    size_t count = 0;
    for (size_t j = 0; j < a->k && index[j] >= 0; j++, count++)
        for (size_t c = 0; c < 3; c++) sum[c] += a->value[(size_t)index[j] * 3 + c];
    for (size_t c = 0; c < 3; c++) a->out[q * 3 + c] = count ? sum[c] / (real)count : 0;
}

#endif
