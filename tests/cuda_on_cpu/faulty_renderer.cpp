// SPDX-License-Identifier: Apache-2.0
// The renderer's kernels compiled once more, each time with a fault that tests must notice.
#include <cmath>

#include "nn/cuda/device.h"
#include "nn/cuda/lists.h"
#include "nn/cuda/nearest_list.h"
#include "nn/cuda/silu.h"
#include "nn/cuda/sort_scan.h"
#include "nn/cuda/sums.h"
#include "nn/cuda/tile_product.h"

#include "device/cuda/tables.h"
#include "renderer/cuda/functions.h"
#include "renderer/cuda/shade_particles.h"
#include "renderer/march.h"

#include "renderer/composite.h"
#include "renderer/place_samples.h"
#include "renderer/shade.h"
#include "tests/cuda_on_cpu/faulty_renderer.h"

#include <string.h>

#pragma push_macro("__syncthreads")
#undef __syncthreads
#define __syncthreads() ((void)0)
namespace no_barrier {
#include "renderer/cuda/shade.cu"
}
#pragma pop_macro("__syncthreads")

#pragma push_macro("__syncwarp")
#undef __syncwarp
#define __syncwarp() ((void)0)
namespace no_warp_barrier {
#include "renderer/cuda/shade.cu"
}
#pragma pop_macro("__syncwarp")

// ---- on tensor cores

// A line too few of each weight.
#define tensor_add(source, weight, in) tensor_add(source, weight, (in)-1)
namespace line_too_few {
#include "renderer/cuda/shade.cu"
}
#undef tensor_add

// What a lane with another number would hold.
template <Precision P, class Store>
static void product_in_other_columns(unsigned rows, unsigned cols, const SharedTile &x, const TensorFactor &w,
                                     Store store) {
    tile_product_tensor<P>(rows, cols, x, w, [&](unsigned i, unsigned j, real sum) {
        if ((j ^ 1) < cols) store(i, j ^ 1, sum);
    });
}
#define tile_product_tensor product_in_other_columns
namespace other_columns {
#include "renderer/cuda/shade.cu"
}
#undef tile_product_tensor

template <Precision P, class Store>
static void outer_of_some_rows(unsigned rows, const SharedTile &x, const SharedTile &y, Store store) {
    tile_outer_tensor<P>(rows - TENSOR_ROWS, x, y, store);
}
#define tile_outer_tensor outer_of_some_rows
namespace rows_left_out {
#include "renderer/cuda/shade.cu"
}
#undef tile_outer_tensor

#define cuda_bits(largest) (cuda_bits(largest) - 1)
namespace bit_too_few {
#include "renderer/cuda/index.cu"
}
#undef cuda_bits

static uint64_t insert_too_early(uint64_t row, uint64_t *key) {
    return __shfl_down_sync(WHOLE_WARP, nearest_insert(row, key), 1);
}
#define nearest_insert insert_too_early
namespace place_too_early {
#include "renderer/cuda/place_samples.cu"
}
#undef nearest_insert

#pragma push_macro("__shfl_up_sync")
#undef __shfl_up_sync
#define __shfl_up_sync(mask, value, by) __shfl_xor_sync(mask, value, by)
namespace wrong_lane {
#include "renderer/cuda/composite.cu"
}
#pragma pop_macro("__shfl_up_sync")

template <class Op> static RendererBackend with(Op RendererBackend::*op, Op faulty) {
    RendererBackend backend = renderer_backend_cuda;
    backend.*op = faulty;
    return backend;
}

const FaultyRenderer *faulty_renderers(size_t *count) {
    using B = RendererBackend;
    static const FaultyRenderer all[] = {
        {"shade, no barriers", with(&B::shade_forward, no_barrier::shade_forward_cuda), PRECISION_F32},
        {"shade backward, no barriers", with(&B::shade_backward, no_barrier::shade_backward_cuda), PRECISION_F32},
        {"shade, lanes do not wait", with(&B::shade_forward, no_warp_barrier::shade_forward_cuda), PRECISION_F32},
        {"index sorted by a bit too few", with(&B::index_fill, bit_too_few::index_fill_cuda), PRECISION_F32},
        {"neighbours a place too early", with(&B::place_samples, place_too_early::place_samples_cuda), PRECISION_F32},
        {"composite, wrong lane", with(&B::composite_forward, wrong_lane::composite_forward_cuda), PRECISION_F32},
        {"composite backward, wrong lane", with(&B::composite_backward, wrong_lane::composite_backward_cuda),
         PRECISION_F32},
        {"shade in tf32, no barriers", with(&B::shade_forward, no_barrier::shade_forward_cuda), PRECISION_TF32},
        {"shade backward in bf16, no barriers", with(&B::shade_backward, no_barrier::shade_backward_cuda),
         PRECISION_BF16},
        {"tensor cores, a line too few", with(&B::shade_forward, line_too_few::shade_forward_cuda), PRECISION_TF32},
        {"tensor cores, a line too few backward", with(&B::shade_backward, line_too_few::shade_backward_cuda),
         PRECISION_BF16},
        {"tensor cores, other columns", with(&B::shade_forward, other_columns::shade_forward_cuda), PRECISION_BF16},
        {"tensor cores, other columns backward", with(&B::shade_backward, other_columns::shade_backward_cuda),
         PRECISION_TF32},
        {"tensor cores, rows left out", with(&B::shade_backward, rows_left_out::shade_backward_cuda), PRECISION_TF32},
    };
    *count = sizeof all / sizeof *all;
    return all;
}
