// SPDX-License-Identifier: Apache-2.0
#include "nn/cuda/functions.h"
#include "nn/cuda/sums.h"

#include "nn/cuda/device.h"
#include "nn/optimizer.h"

// A block's partial sum covers this many elements.
constexpr size_t CHUNK = 4096;

static __global__ void sum_chunks(SumSquaresArgs a, double *partial) {
    BLOCK_LOOP(chunk, (a.count + CHUNK - 1) / CHUNK) {
        double sum = 0;
        THREAD_LOOP(i, CHUNK) {
            size_t at = chunk * CHUNK + i;
            double x = at < a.count ? static_cast<double>(a.x[at]) : 0;
            sum += x * x;
        }
        sum = block_sum(sum);
        if (threadIdx.x == 0) partial[chunk] = sum;
    }
}

void sum_squares_cuda(Device *device, const SumSquaresArgs *a) {
    if (!cuda_op(device, "sum of squares", a->count)) return;
    size_t chunks = (a->count + CHUNK - 1) / CHUNK;
    ArenaMark mark = arena_mark(&device->scratch);
    double *partial = static_cast<double *>(device_scratch_bytes(device, (chunks + 1) * sizeof *partial));
    LAUNCH(device, cuda_blocks(chunks, 1), CUDA_THREADS, 0, sum_chunks, *a, partial + 1);
    cuda_sum(device, chunks, partial + 1, 1, partial);
    cuda_download(device, a->sum, partial, sizeof *partial);
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
