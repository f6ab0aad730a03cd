// SPDX-License-Identifier: Apache-2.0
// The renderer's kernels compiled once more, each time with a fault that tests must notice.
#include <cmath>

#include "nn/cuda/activation.h"
#include "nn/cuda/device.h"
#include "nn/cuda/sort_scan.h"
#include "nn/cuda/sums.h"
#include "nn/cuda/tile_product.h"

#include "renderer/cuda/backend.h"
#include "renderer/cuda/functions.h"
#include "renderer/cuda/lists.h"
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

#define cuda_bits(largest) (cuda_bits(largest) - 1)
namespace bit_too_few {
#include "renderer/cuda/index.cu"
}
#undef cuda_bits

#define __popc(bits) (__popc(bits) - 1)
namespace place_too_early {
#include "renderer/cuda/place_samples.cu"
}
#undef __popc

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
        {"shade, no barriers", with(&B::shade_forward, no_barrier::shade_forward_cuda)},
        {"shade backward, no barriers", with(&B::shade_backward, no_barrier::shade_backward_cuda)},
        {"shade, lanes do not wait", with(&B::shade_forward, no_warp_barrier::shade_forward_cuda)},
        {"index sorted by a bit too few", with(&B::index_fill, bit_too_few::index_fill_cuda)},
        {"neighbours a place too early", with(&B::place_samples, place_too_early::place_samples_cuda)},
        {"composite, wrong lane", with(&B::composite_forward, wrong_lane::composite_forward_cuda)},
        {"composite backward, wrong lane", with(&B::composite_backward, wrong_lane::composite_backward_cuda)},
    };
    *count = sizeof all / sizeof *all;
    return all;
}
