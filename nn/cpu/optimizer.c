// SPDX-License-Identifier: Apache-2.0
#include "nn/optimizer.h"
#include "nn/cpu/cpu.h"
#include "nn/cpu/functions.h"
#include "nn/matmul.h"

#include <omp.h>

enum { CHUNK = 1 << 13, LANES_OF_SUM = 16 };

static double sum_array(size_t count, const real *x) {
    // Sixteen running sums vectorise; their order is fixed.
    double lane[LANES_OF_SUM] = {0}, sum = 0;
    size_t whole = count / LANES_OF_SUM * LANES_OF_SUM;
    for (size_t i = 0; i < whole; i += LANES_OF_SUM)
        for (size_t j = 0; j < LANES_OF_SUM; j++) lane[j] += (double)x[i + j] * (double)x[i + j];
    for (size_t i = whole; i < count; i++) lane[0] += (double)x[i] * (double)x[i];
    for (size_t j = 0; j < LANES_OF_SUM; j++) sum += lane[j];
    return sum;
}

void CPU_FN(sum_squares)(Device *device, const SumSquaresArgs *a) {
    (void)device;
    for (size_t i = 0; i < a->arrays; i++) a->sum[i] = sum_array(a->array[i].count, a->grad + a->array[i].offset);
}

// The moving average of the weights from `first` to `last`.
static void follow(const UpdateArgs *a, size_t first, size_t last) {
    real average = (real)a->ema_decay;
    for (size_t i = first; a->ema && i < last; i++) a->ema[i] = average * a->ema[i] + (1 - average) * a->value[i];
}

static void update(const UpdateArgs *a, real scale, double decay, size_t first, size_t last) {
    real beta1 = (real)a->beta1, beta2 = (real)a->beta2, epsilon = (real)a->epsilon;
    real rate = (real)(a->rate / a->correct1), root = (real)(1 / sqrt(a->correct2)), keep = (real)(1 - a->rate * decay);
    for (size_t i = first; i < last; i++) {
        real g = a->grad[i] * scale;
        a->m[i] = beta1 * a->m[i] + (1 - beta1) * g;
        a->v[i] = beta2 * a->v[i] + (1 - beta2) * g * g;
        a->value[i] = keep * a->value[i] - rate * a->m[i] / (real_sqrt(a->v[i]) * root + epsilon);
    }
    follow(a, first, last);
}

static void update_array(const Device *device, const UpdateArgs *a, OptimizerArray array, real scale) {
    double decay = array.decays ? a->decay : 0;
#pragma omp parallel for schedule(static) num_threads(device->threads) if (array.count > CHUNK)
    for (size_t c = 0; c < chunk_count(array.count, CHUNK); c++) {
        size_t first = array.offset + c * CHUNK;
        update(a, scale, decay, first, first + chunk_size(array.count, CHUNK, c));
    }
}

// The factor of all gradients; NaN: nothing changes.
static double scale_of(const UpdateArgs *a) {
    double squares = 0;
    for (size_t i = 0; i < a->arrays; i++) squares += a->squares[i];
    return gradient_scale(a->clip, squares);
}

void CPU_FN(adam)(Device *device, const UpdateArgs *a) {
    double scale = scale_of(a);
    for (size_t i = 0; i < a->arrays && !isnan(scale); i++)
        if (!a->array[i].side) update_array(device, a, a->array[i], (real)scale);
}

// ---- Muon

static bool product(Transpose ta, size_t n, const real *a, const real *b, real beta, real *c) {
    return matmul(PRECISION_F32, ta, PLAIN, n, n, n, a, n, b, n, beta, c, n);
}

// The new mean gradient, as it is to be made orthogonal: of norm 1.
static void mean_gradient(const UpdateArgs *a, OptimizerArray array, real scale, real *x) {
    const real *grad = a->grad + array.offset, beta = (real)MUON_BETA;
    real *m = a->m + array.offset;
    for (size_t i = 0; i < array.count; i++) {
        real g = (1 - beta) * grad[i] * scale;
        m[i] = beta * m[i] + g;
        x[i] = beta * m[i] + g;
    }
    double squares = sum_array(array.count, x);
    real factor = squares > 0 ? (real)(1 / sqrt(squares)) : 0;
    for (size_t i = 0; i < array.count; i++) x[i] *= factor;
}

// *x, of norm 1, becomes nearly orthogonal; s and y (n * n) are room, of which one has the result.
static bool make_orthogonal(size_t n, real **x, real *s, real *y) {
    bool ok = true;
    for (int step = 0; step < MUON_STEPS && ok; step++) {
        ok = product(TRANSPOSED, n, *x, *x, 0, s) && product(PLAIN, n, s, s, 0, y);
        for (size_t i = 0; i < n * n; i++) y[i] = (real)MUON_B * s[i] + (real)MUON_C * y[i];
        memcpy(s, *x, n * n * sizeof *s);
        ok = ok && product(PLAIN, n, *x, y, (real)MUON_A, s);
        real *next = s;
        s = *x;
        *x = next;
    }
    return ok;
}

static bool update_matrix(const UpdateArgs *a, OptimizerArray array, real scale, real *room) {
    real *x = room;
    mean_gradient(a, array, scale, x);
    if (!make_orthogonal(array.side, &x, room + array.count, room + 2 * array.count)) return false;
    real rate = (real)(a->rate * muon_size(array.side)), keep = (real)(1 - a->rate * a->decay);
    real *value = a->value + array.offset;
    for (size_t i = 0; i < array.count; i++) value[i] = keep * value[i] - rate * x[i];
    follow(a, array.offset, array.offset + array.count);
    return true;
}

void CPU_FN(muon)(Device *device, const UpdateArgs *a) {
    double scale = scale_of(a);
    size_t largest = 0;
    for (size_t i = 0; i < a->arrays; i++)
        if (a->array[i].side && a->array[i].count > largest) largest = a->array[i].count;
    if (!largest || isnan(scale)) return;
    ArenaMark mark = arena_mark(&device->scratch);
    real *room = device_scratch(device, (size_t)device->threads * 3 * largest);
    bool ok = true;
#pragma omp parallel for schedule(static) num_threads(device->threads) reduction(&& : ok)
    for (size_t i = 0; i < (room ? a->arrays : 0); i++)
        if (a->array[i].side)
            ok = update_matrix(a, a->array[i], (real)scale, room + (size_t)omp_get_thread_num() * 3 * largest) && ok;
    if (!ok) device_fail(device, STATUS_FAILED, "the optimiser's matrix product failed");
    arena_release(&device->scratch, mark);
}
