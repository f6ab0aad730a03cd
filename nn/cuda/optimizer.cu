// SPDX-License-Identifier: Apache-2.0
#include "nn/cuda/functions.h"

#include "nn/cuda/device.h"
#include "nn/optimizer.h"

// Arrays of one launch, which gets them by value.
constexpr size_t SUM_ARRAYS = 128;
struct SumArrays {
    SumSquaresArray array[SUM_ARRAYS];
};

// A block an array: they are the parameters of a network, some hundred thousand numbers at most.
static __global__ void sum_arrays(const __grid_constant__ SumArrays arrays, double *sums) {
    const SumSquaresArray &a = arrays.array[blockIdx.x];
    double sum = 0;
    THREAD_LOOP(i, a.count) sum += static_cast<double>(a.x[i]) * static_cast<double>(a.x[i]);
    sum = block_sum(sum);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

void sum_squares_cuda(Device *device, const SumSquaresArgs *a) {
    if (!cuda_op(device, "sum of squares", a->arrays)) return;
    ArenaMark mark = arena_mark(&device->scratch);
    double *sums = static_cast<double *>(device_scratch_bytes(device, a->arrays * sizeof *sums));
    for (size_t i = 0; i < a->arrays; i += SUM_ARRAYS) {
        size_t count = a->arrays - i < SUM_ARRAYS ? a->arrays - i : SUM_ARRAYS;
        SumArrays arrays = {};
        for (size_t j = 0; j < count; j++) arrays.array[j] = a->array[i + j];
        LAUNCH(device, count, CUDA_THREADS, 0, sum_arrays, arrays, sums + i);
    }
    if (a->arrays) cuda_download(device, a->sum, sums, a->arrays * sizeof *sums);
    arena_release(&device->scratch, mark);
}

// What an update multiplies by.
struct Factors {
    real beta1, beta2, scale, epsilon, rate, root, keep, average;
};

static __global__ void update(AdamArgs a, Factors f) {
    GRID_LOOP(i, a.count) {
        real g = a.grad[i] * f.scale;
        real m = a.m[i] = f.beta1 * a.m[i] + (1 - f.beta1) * g;
        real v = a.v[i] = f.beta2 * a.v[i] + (1 - f.beta2) * g * g;
        real value = a.value[i] = f.keep * a.value[i] - f.rate * m / (real_sqrt(v) * f.root + f.epsilon);
        if (a.ema) a.ema[i] = f.average * a.ema[i] + (1 - f.average) * value;
    }
}

void adam_cuda(Device *device, const AdamArgs *a) {
    if (!cuda_op(device, "adam", a->count)) return;
    Factors f = {.beta1 = static_cast<real>(a->beta1),
                 .beta2 = static_cast<real>(a->beta2),
                 .scale = static_cast<real>(a->grad_scale),
                 .epsilon = static_cast<real>(a->epsilon),
                 .rate = static_cast<real>(a->rate / a->correct1),
                 .root = static_cast<real>(1 / sqrt(a->correct2)),
                 .keep = static_cast<real>(1 - a->rate * a->decay),
                 .average = static_cast<real>(a->ema_decay)};
    LAUNCH(device, cuda_blocks(a->count), CUDA_THREADS, 0, update, *a, f);
}
