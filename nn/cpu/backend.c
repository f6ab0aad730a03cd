// SPDX-License-Identifier: Apache-2.0
// The CPU's table of nn ops.
#include "nn/backend.h"

#include "nn/cpu/functions.h"

static void cpu_zero(Device *device, void *memory, size_t bytes) {
    (void)device;
    memset(memory, 0, bytes);
}

static void cpu_copy(Device *device, void *to, const void *from, size_t bytes) {
    (void)device;
    memcpy(to, from, bytes);
}

extern const NnBackend CPU_FN(nn_backend);
const NnBackend CPU_FN(nn_backend) = {
    .zero = cpu_zero,
    .copy = cpu_copy,
    .upload = cpu_copy,
    .download = cpu_copy,
    .adam = CPU_FN(adam),
    .sum_squares = CPU_FN(sum_squares),
    .activation_forward = CPU_FN(activation_forward),
    .activation_backward = CPU_FN(activation_backward),
    .knn_index = CPU_FN(knn_index),
    .knn_search = CPU_FN(knn_search),
    .linear_forward = CPU_FN(linear_forward),
    .linear_backward = CPU_FN(linear_backward),
};
