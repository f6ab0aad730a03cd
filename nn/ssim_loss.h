// SPDX-License-Identifier: Apache-2.0
// Mean of 1 - SSIM (Wang et al. 2004) over square patches of rows: windows of 8x8 pixels every 4 pixels with equal
// weights, each channel apart, C1 = 0.01^2, C2 = 0.03^2.
#ifndef VPD_NN_SSIM_LOSS_H
#define VPD_NN_SSIM_LOSS_H

#include "nn/tape.h"

enum { SSIM_SIDE = 16, SSIM_BLOCK = 8, SSIM_STRIDE = 4 }; // pixels: of a patch, of a window, between windows

typedef struct SsimLossArgs {
    size_t patches, cols;
    const int32_t *first;   // (patches) row of a patch's first pixel; its SSIM_SIDE^2 rows follow, row-major
    const real *x, *target; // (rows, cols) in [0,1]
    real *y;                // (1), overwritten
    const real *dy;         // (1)
    real *dx;               // (rows, cols), added into
} SsimLossArgs;

// first and target: device memory. 0 when there is no patch.
Tensor *ssim_loss(Tape *tape, Tensor *x, const real *target, size_t patches, const int32_t *first);

#endif
