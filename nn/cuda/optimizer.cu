// SPDX-License-Identifier: Apache-2.0
#include "nn/cuda/functions.h"

#include "nn/cuda/device.h"
#include "nn/cuda/factors.h"
#include "nn/optimizer.h"

// Arrays of one launch, which gets them by value; array i has the blocks from first[i] on. Those of Adam take PIECE
// numbers each.
constexpr size_t LAUNCH_ARRAYS = 120, PIECE = 2048;
struct Arrays {
    size_t count, all; // of the launch, of the update
    OptimizerArray array[LAUNCH_ARRAYS];
    unsigned first[LAUNCH_ARRAYS + 1];
};

// do_launch(arrays, number of the first) for so many arrays at a time, with blocks_of(array) blocks each.
template <class Blocks, class Launch>
static void each_launch(size_t count, const OptimizerArray *array, Blocks blocks_of, Launch do_launch) {
    for (size_t i = 0; i < count; i += LAUNCH_ARRAYS) {
        Arrays arrays = {};
        arrays.count = count - i < LAUNCH_ARRAYS ? count - i : LAUNCH_ARRAYS;
        arrays.all = count;
        for (size_t j = 0; j < arrays.count; j++) {
            arrays.array[j] = array[i + j];
            arrays.first[j + 1] = arrays.first[j] + static_cast<unsigned>(blocks_of(array[i + j]));
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
    auto one = [](const OptimizerArray &) { return size_t{1}; };
    each_launch(a->arrays, a->array, one, [=](const Arrays &arrays, size_t first) {
        LAUNCH(device, arrays.count, CUDA_THREADS, 0, sum_arrays, arrays, a->grad, a->sum + first);
    });
}

// The factors of an update.
struct Factors {
    real beta1, beta2, epsilon, rate, root, keep, keep_decaying, average;
};

static Factors factors_of(const UpdateArgs *a) {
    return {.beta1 = static_cast<real>(a->beta1),
            .beta2 = static_cast<real>(a->beta2),
            .epsilon = static_cast<real>(a->epsilon),
            .rate = static_cast<real>(a->rate / a->correct1),
            .root = static_cast<real>(1 / sqrt(a->correct2)),
            .keep = 1,
            .keep_decaying = static_cast<real>(1 - a->rate * a->decay),
            .average = static_cast<real>(a->ema_decay)};
}

// By which all gradients are scaled; NaN: nothing changes. The whole block takes part.
static __device__ double scale_of(const Arrays &arrays, const UpdateArgs &a) {
    double squares = 0;
    THREAD_LOOP(i, arrays.all) squares += a.squares[i];
    return gradient_scale(a.clip, block_sum(squares));
}

// The array of this block.
static __device__ size_t array_of_block(const Arrays &arrays) {
    size_t j = 0;
    while (arrays.first[j + 1] <= blockIdx.x) j++;
    return j;
}

static __device__ void change(const UpdateArgs &a, const Factors &f, size_t i, real keep, real by) {
    real value = a.value[i] = keep * a.value[i] - by;
    if (a.ema) a.ema[i] = f.average * a.ema[i] + (1 - f.average) * value;
}

static __global__ void update(const __grid_constant__ Arrays arrays, UpdateArgs a, Factors f) {
    double scale = scale_of(arrays, a);
    if (isnan(scale)) return;
    size_t j = array_of_block(arrays);
    const OptimizerArray &array = arrays.array[j];
    size_t begin = (blockIdx.x - arrays.first[j]) * PIECE, end = begin + PIECE;
    real keep = array.decays ? f.keep_decaying : f.keep;
    for (size_t n = begin + threadIdx.x; n < end && n < array.count; n += blockDim.x) {
        size_t i = array.offset + n;
        real g = a.grad[i] * static_cast<real>(scale);
        real m = a.m[i] = f.beta1 * a.m[i] + (1 - f.beta1) * g;
        real v = a.v[i] = f.beta2 * a.v[i] + (1 - f.beta2) * g * g;
        change(a, f, i, keep, f.rate * m / (real_sqrt(v) * f.root + f.epsilon));
    }
}

void adam_cuda(Device *device, const UpdateArgs *a) {
    if (!cuda_op(device, "adam", a->arrays)) return;
    cuda_factors_end(device); // weights change
    Factors f = factors_of(a);
    auto pieces = [](const OptimizerArray &array) { return array.side ? 0 : (array.count + PIECE - 1) / PIECE; };
    each_launch(a->arrays, a->array, pieces, [=](const Arrays &arrays, size_t) {
        LAUNCH(device, arrays.first[arrays.count], CUDA_THREADS, 0, update, arrays, *a, f);
    });
}

// ---- Muon: a block to a matrix, which stays in the caches

constexpr unsigned TILE = 4; // a thread's share of a product: so many rows and columns

// set(i, j, sum) for all elements of op(A) B, matrices of n * n, by the whole block. It may set neither factor.
template <bool TURNED, class Set>
static __device__ void product(unsigned n, const real *a, const real *b, const Set &set) {
    unsigned tiles = (n + TILE - 1) / TILE;
    THREAD_LOOP(t, size_t{tiles} * tiles) {
        unsigned row = static_cast<unsigned>(t) / tiles * TILE, col = static_cast<unsigned>(t) % tiles * TILE;
        real sum[TILE][TILE] = {};
        for (unsigned k = 0; k < n; k++) {
            real x[TILE], y[TILE];
            for (unsigned i = 0; i < TILE; i++) {
                unsigned r = row + i < n ? row + i : n - 1, c = col + i < n ? col + i : n - 1;
                x[i] = TURNED ? a[k * n + r] : a[r * n + k];
                y[i] = b[k * n + c];
            }
            for (unsigned i = 0; i < TILE; i++)
                for (unsigned j = 0; j < TILE; j++) sum[i][j] += x[i] * y[j];
        }
        for (unsigned i = 0; i < TILE && row + i < n; i++)
            for (unsigned j = 0; j < TILE && col + j < n; j++) set((row + i) * n + col + j, sum[i][j]);
    }
    __syncthreads();
}

// The new mean gradient of norm 1.
static __device__ void mean_gradient(const OptimizerArray &array, const UpdateArgs &a, real scale, real *x) {
    const real beta = static_cast<real>(MUON_BETA);
    double squares = 0;
    THREAD_LOOP(n, array.count) {
        size_t i = array.offset + n;
        real g = (1 - beta) * a.grad[i] * scale;
        real m = a.m[i] = beta * a.m[i] + g;
        real mean = x[n] = beta * m + g;
        squares += static_cast<double>(mean) * static_cast<double>(mean);
    }
    squares = block_sum(squares);
    real factor = squares > 0 ? static_cast<real>(1 / sqrt(squares)) : 0;
    THREAD_LOOP(n, array.count) x[n] *= factor;
    __syncthreads();
}

// room: 3 * `largest` numbers a block, from that of matrix `matrix` on.
static __global__ void orthogonal_update(const __grid_constant__ Arrays arrays, UpdateArgs a, Factors f, real *room,
                                         size_t matrix, size_t largest) {
    double scale = scale_of(arrays, a);
    if (isnan(scale)) return;
    const OptimizerArray &array = arrays.array[array_of_block(arrays)];
    unsigned n = static_cast<unsigned>(array.side);
    real *x = room + 3 * largest * (matrix + blockIdx.x), *s = x + largest, *y = s + largest;
    mean_gradient(array, a, static_cast<real>(scale), x);
    for (int step = 0; step < MUON_STEPS; step++) {
        product<true>(n, x, x, [=](unsigned i, real sum) { s[i] = sum; });
        product<false>(n, s, s, [=](unsigned i, real sum) {
            y[i] = static_cast<real>(MUON_B) * s[i] + static_cast<real>(MUON_C) * sum;
        });
        product<false>(n, x, y, [=](unsigned i, real sum) { s[i] = static_cast<real>(MUON_A) * x[i] + sum; });
        real *next = s;
        s = x;
        x = next;
    }
    real rate = static_cast<real>(a.rate * muon_size(array.side));
    THREAD_LOOP(i, array.count) change(a, f, array.offset + i, f.keep_decaying, rate * x[i]);
}

void muon_cuda(Device *device, const UpdateArgs *a) {
    size_t matrices = 0, largest = 0;
    for (size_t i = 0; i < a->arrays; i++) {
        matrices += a->array[i].side > 0;
        if (a->array[i].side && a->array[i].count > largest) largest = a->array[i].count;
    }
    if (!matrices || !cuda_op(device, "muon", a->arrays, matrices, largest)) return;
    ArenaMark mark = arena_mark(&device->scratch);
    real *room = device_scratch(device, 3 * largest * matrices);
    Factors f = factors_of(a);
    size_t done = 0;
    auto one = [](const OptimizerArray &array) { return size_t{array.side > 0}; };
    each_launch(a->arrays, a->array, one, [&](const Arrays &arrays, size_t) {
        LAUNCH(device, arrays.first[arrays.count], CUDA_THREADS, 0, orthogonal_update, arrays, *a, f, room, done,
               largest);
        done += arrays.first[arrays.count];
    });
    arena_release(&device->scratch, mark);
}
