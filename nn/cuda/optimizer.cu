// SPDX-License-Identifier: Apache-2.0
#include "nn/cuda/functions.h"

#include "nn/cuda/device.h"
#include "nn/cuda/factors.h"
#include "nn/optimizer.h"

// Arrays of one launch, which gets them by value. Blocks of an update take PIECE numbers each, those of array i from
// block first[i] on.
constexpr size_t LAUNCH_ARRAYS = 120, PIECE = 2048;
struct Arrays {
    size_t count, all; // of the launch, of the update
    OptimizerArray array[LAUNCH_ARRAYS];
    unsigned first[LAUNCH_ARRAYS + 1];
};

// do_launch(arrays, number of the first) for so many arrays at a time.
template <class Launch> static void each_launch(size_t count, const OptimizerArray *array, Launch do_launch) {
    for (size_t i = 0; i < count; i += LAUNCH_ARRAYS) {
        Arrays arrays = {};
        arrays.count = count - i < LAUNCH_ARRAYS ? count - i : LAUNCH_ARRAYS;
        arrays.all = count;
        for (size_t j = 0; j < arrays.count; j++) {
            arrays.array[j] = array[i + j];
            arrays.first[j + 1] = arrays.first[j] + static_cast<unsigned>((array[i + j].count + PIECE - 1) / PIECE);
        }
        do_launch(arrays, i);
    }
}

// One block per array: parameters of a network have some hundred thousand numbers at most.
static __global__ void sum_arrays(const __grid_constant__ Arrays arrays, const real *grad, double *sums) {
    const OptimizerArray &a = arrays.array[blockIdx.x];
    double sum = 0;
    THREAD_LOOP(i, a.count) {
        double g = static_cast<double>(grad[a.offset + i]);
        sum += g * g;
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

void sum_squares_cuda(Device *device, const SumSquaresArgs *a) {
    if (!cuda_op(device, "sum of squares", a->arrays)) return;
    each_launch(a->arrays, a->array, [=](const Arrays &arrays, size_t first) {
        LAUNCH(device, arrays.count, CUDA_THREADS, 0, sum_arrays, arrays, a->grad, a->sum + first);
    });
}

// The factors of an update.
struct Factors {
    real beta1, beta2, epsilon, rate, root, keep, keep_decaying, average;
    double clip;
};

static __global__ void update(const __grid_constant__ Arrays arrays, AdamArgs a, Factors f) {
    double squares = 0;
    THREAD_LOOP(i, arrays.all) squares += a.squares[i];
    double scale = adam_grad_scale(f.clip, block_sum(squares));
    if (isnan(scale)) return;
    size_t j = 0;
    while (arrays.first[j + 1] <= blockIdx.x) j++;
    const OptimizerArray &array = arrays.array[j];
    size_t begin = (blockIdx.x - arrays.first[j]) * PIECE, end = begin + PIECE;
    real keep = array.decays ? f.keep_decaying : f.keep;
    for (size_t n = begin + threadIdx.x; n < end && n < array.count; n += blockDim.x) {
        size_t i = array.offset + n;
        real g = a.grad[i] * static_cast<real>(scale);
        real m = a.m[i] = f.beta1 * a.m[i] + (1 - f.beta1) * g;
        real v = a.v[i] = f.beta2 * a.v[i] + (1 - f.beta2) * g * g;
        real value = a.value[i] = keep * a.value[i] - f.rate * m / (real_sqrt(v) * f.root + f.epsilon);
        if (a.ema) a.ema[i] = f.average * a.ema[i] + (1 - f.average) * value;
    }
}

void adam_cuda(Device *device, const AdamArgs *a) {
    if (!cuda_op(device, "adam", a->arrays)) return;
    cuda_factors_end(device); // weights change
    Factors f = {.beta1 = static_cast<real>(a->beta1),
                 .beta2 = static_cast<real>(a->beta2),
                 .epsilon = static_cast<real>(a->epsilon),
                 .rate = static_cast<real>(a->rate / a->correct1),
                 .root = static_cast<real>(1 / sqrt(a->correct2)),
                 .keep = 1,
                 .keep_decaying = static_cast<real>(1 - a->rate * a->decay),
                 .average = static_cast<real>(a->ema_decay),
                 .clip = a->clip};
    each_launch(a->arrays, a->array, [=](const Arrays &arrays, size_t) {
        LAUNCH(device, arrays.first[arrays.count], CUDA_THREADS, 0, update, arrays, *a, f);
    });
}
