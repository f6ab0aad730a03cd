// SPDX-License-Identifier: Apache-2.0
#include "nn/cuda/each_row.h"

#include "gnn/cuda/functions.h"
#include "gnn/edge_elements.h"

void advance_forward_cuda(Device *device, const AdvanceArgs *a) {
    cuda_each_row<AdvanceArgs, advance_row>(device, "advance forward", a, a->count);
}

void advance_backward_cuda(Device *device, const AdvanceArgs *a) {
    cuda_each_row<AdvanceArgs, advance_row_backward>(device, "advance backward", a, a->count);
}
