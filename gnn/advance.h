// SPDX-License-Identifier: Apache-2.0
// The step of the particles (docs/model.md, "Dynamics"), from the network's output o per particle:
//
//     dx = scale o[0:3]
//     x' = x + dx
//     f' = f + change tanh(o[3:])    for features other than rgb if change > 0; else f' is f itself
#ifndef VPD_GNN_ADVANCE_H
#define VPD_GNN_ADVANCE_H

#include "nn/tape.h"

typedef struct AdvanceArgs {
    size_t count, width;               // particles, columns of o
    size_t features, f_width, f_first; // number of changing features, columns of f, first changing feature
    real scale, change;
    const real *x, *f, *o;                  // (count, 3), (count, f_width), (count, width)
    real *dx, *x_next, *f_next;             // overwritten; f_next NULL without features
    const real *d_dx, *d_x_next, *d_f_next; // gradients, or NULL
    real *grad_x, *grad_f, *grad_o;         // gradients are added to these; NULL = not needed
} AdvanceArgs;

typedef struct AdvanceCall {
    Tensor *x, *f, *o;
    real scale, change;
    size_t f_first; // features from this one on change (f->cols - f_first columns of o) if change > 0
} AdvanceCall;

typedef struct AdvanceOutput {
    Tensor *dx, *x, *f;
} AdvanceOutput;

AdvanceOutput advance(Tape *tape, const AdvanceCall *call);

#endif
