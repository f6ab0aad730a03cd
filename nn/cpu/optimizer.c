// SPDX-License-Identifier: Apache-2.0
#include "nn/optimizer.h"
#include "nn/cpu/cpu.h"
#include "nn/cpu/functions.h"

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

static void update(const AdamArgs *a, real scale, double decay, size_t first, size_t last) {
    real beta1 = (real)a->beta1, beta2 = (real)a->beta2, epsilon = (real)a->epsilon;
    real rate = (real)(a->rate / a->correct1), root = (real)(1 / sqrt(a->correct2)), keep = (real)(1 - a->rate * decay);
    real average = (real)a->ema_decay;
    for (size_t i = first; i < last; i++) {
        real g = a->grad[i] * scale;
        a->m[i] = beta1 * a->m[i] + (1 - beta1) * g;
        a->v[i] = beta2 * a->v[i] + (1 - beta2) * g * g;
        a->value[i] = keep * a->value[i] - rate * a->m[i] / (real_sqrt(a->v[i]) * root + epsilon);
    }
    for (size_t i = first; a->ema && i < last; i++) a->ema[i] = average * a->ema[i] + (1 - average) * a->value[i];
}

static void update_array(const Device *device, const AdamArgs *a, OptimizerArray array, real scale) {
    double decay = array.decays ? a->decay : 0;
#pragma omp parallel for schedule(static) num_threads(device->threads) if (array.count > CHUNK)
    for (size_t c = 0; c < chunk_count(array.count, CHUNK); c++) {
        size_t first = array.offset + c * CHUNK;
        update(a, scale, decay, first, first + chunk_size(array.count, CHUNK, c));
    }
}

void CPU_FN(adam)(Device *device, const AdamArgs *a) {
    double squares = 0;
    for (size_t i = 0; i < a->arrays; i++) squares += a->squares[i];
    double scale = adam_grad_scale(a->clip, squares);
    for (size_t i = 0; i < a->arrays && !isnan(scale); i++) update_array(device, a, a->array[i], (real)scale);
}
