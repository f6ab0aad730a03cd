// SPDX-License-Identifier: Apache-2.0
// The CPU's table of nn ops.
#include "nn/backend.h"

#include "nn/cpu/functions.h"

enum { MEMORY_CHUNK = 1 << 19 }; // bytes

static void cpu_zero(Device *device, void *memory, size_t bytes) {
#pragma omp parallel for schedule(static) num_threads(device->threads) if (bytes > MEMORY_CHUNK)
    for (size_t c = 0; c < chunk_count(bytes, MEMORY_CHUNK); c++)
        memset((char *)memory + c * MEMORY_CHUNK, 0, chunk_size(bytes, MEMORY_CHUNK, c));
}

static void cpu_copy(Device *device, void *to, const void *from, size_t bytes) {
#pragma omp parallel for schedule(static) num_threads(device->threads) if (bytes > MEMORY_CHUNK)
    for (size_t c = 0; c < chunk_count(bytes, MEMORY_CHUNK); c++)
        memcpy((char *)to + c * MEMORY_CHUNK, (const char *)from + c * MEMORY_CHUNK,
               chunk_size(bytes, MEMORY_CHUNK, c));
}

// The blocks that oneDNN prefers with AVX-512 and with AVX2; elsewhere and in double NHWC.
#if defined(VPD_DOUBLE) || !defined(__x86_64__)
#define IMAGE_BLOCK 0
#elif defined(__AVX512F__)
#define IMAGE_BLOCK 16
#else
#define IMAGE_BLOCK 8
#endif

extern const NnBackend CPU_FN(nn_backend);
const NnBackend CPU_FN(nn_backend) = {
    .close = CPU_FN(conv2d_close),
    .image_block = IMAGE_BLOCK,
    .zero = cpu_zero,
    .copy = cpu_copy,
    .upload = cpu_copy,
    .download = cpu_copy,
    .adam = CPU_FN(adam),
    .sum_squares = CPU_FN(sum_squares),
    .activation_forward = CPU_FN(activation_forward),
    .activation_backward = CPU_FN(activation_backward),
    .conv2d_forward = CPU_FN(conv2d_forward),
    .conv2d_backward = CPU_FN(conv2d_backward),
    .group_norm_forward = CPU_FN(group_norm_forward),
    .group_norm_backward = CPU_FN(group_norm_backward),
    .image_op_forward = CPU_FN(image_op_forward),
    .image_op_backward = CPU_FN(image_op_backward),
    .knn_index = CPU_FN(knn_index),
    .knn_search = CPU_FN(knn_search),
    .linear_forward = CPU_FN(linear_forward),
    .linear_backward = CPU_FN(linear_backward),
    .combine_forward = CPU_FN(combine_forward),
    .combine_backward = CPU_FN(combine_backward),
    .copy_columns = CPU_FN(copy_columns),
    .gather_forward = CPU_FN(gather_forward),
    .gather_backward = CPU_FN(gather_backward),
    .layer_norm_forward = CPU_FN(layer_norm_forward),
    .layer_norm_backward = CPU_FN(layer_norm_backward),
    .reduce_forward = CPU_FN(reduce_forward),
    .reduce_backward = CPU_FN(reduce_backward),
    .row_add = CPU_FN(row_add),
    .row_gather = CPU_FN(row_gather),
    .row_mean = CPU_FN(row_mean),
    .segment_forward = CPU_FN(segment_forward),
    .segment_backward = CPU_FN(segment_backward),
    .ssim_loss_forward = CPU_FN(ssim_loss_forward),
    .ssim_loss_backward = CPU_FN(ssim_loss_backward),
};
