// SPDX-License-Identifier: Apache-2.0
#include "nn/cuda/functions.h"
#include "nn/cuda/lists.h"

#include "nn/rows.h"

static __global__ void gather(GatherArgs a) {
    GRID_LOOP(at, a.rows * a.cols) {
        size_t i = cuda_quotient(at, a.cols), j = at - i * a.cols;
        a.y[at] = a.index[i] < 0 ? 0 : a.x[static_cast<size_t>(a.index[i]) * a.cols + j];
    }
}

void gather_forward_cuda(Device *device, const GatherArgs *a) {
    if (!cuda_op(device, "gather forward", a->rows, a->cols, a->from_rows)) return;
    LAUNCH(device, cuda_blocks(a->rows * a->cols), CUDA_THREADS, 0, gather, *a);
}

// A warp owns a row of x and adds the rows that were gathered from it, in the list's order.
static __global__ void add_named(GatherArgs a, CudaLists places) {
    WARP_LOOP(row, a.from_rows) {
        int32_t first = places.start[row], last = places.start[row + 1];
        for (size_t j = cuda_lane(); first < last && j < a.cols; j += CUDA_WARP) {
            real sum = a.dx[row * a.cols + j];
            for (int32_t i = first; i < last; i++) sum += a.dy[static_cast<size_t>(places.item[i]) * a.cols + j];
            a.dx[row * a.cols + j] = sum;
        }
    }
}

static __global__ void add_each(GatherArgs a) {
    GRID_LOOP(at, a.rows * a.cols) {
        size_t i = cuda_quotient(at, a.cols), j = at - i * a.cols;
        if (a.index[i] >= 0) a.dx[static_cast<size_t>(a.index[i]) * a.cols + j] += a.dy[at];
    }
}

void gather_backward_cuda(Device *device, const GatherArgs *a) {
    if (!cuda_op(device, "gather backward", a->rows, a->cols, a->from_rows)) return;
    if (a->distinct) {
        LAUNCH(device, cuda_blocks(a->rows * a->cols), CUDA_THREADS, 0, add_each, *a);
        return;
    }
    ArenaMark mark = arena_mark(&device->scratch);
    CudaLists places = cuda_lists(device, a->rows, a->index, a->from_rows);
    LAUNCH(device, cuda_blocks(a->from_rows, CUDA_THREADS / CUDA_WARP), CUDA_THREADS, 0, add_named, *a, places);
    arena_release(&device->scratch, mark);
}
