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
const NnBackend CPU_FN(nn_backend) = {.close = CPU_FN(conv2d_close),
                                      .image_block = IMAGE_BLOCK,
                                      .zero = cpu_zero,
                                      .copy = cpu_copy,
                                      .upload = cpu_copy,
                                      .download = cpu_copy,
                                      .knn_index = CPU_FN(knn_index),
                                      .knn_search = CPU_FN(knn_search),
                                      NN_OPS(OP_CPU_ENTRY)};
