// SPDX-License-Identifier: Apache-2.0
#include "nn/linear.h"
#include "base/stop.h"
#include "nn/cpu/cpu.h"
#include "nn/cpu/functions.h"
#include "nn/matmul.h"

static void report(Device *device, bool ok, const LinearArgs *a) {
    if (!device_stopped(device) && !ok)
        device_fail(device, STATUS_FAILED, "linear (%zu,%zu)x(%zu,%zu): the matrix product failed", a->rows, a->in,
                    a->in, a->out);
}

void CPU_FN(linear_forward)(Device *device, const LinearArgs *a) {
    bool ok = true;
#pragma omp parallel for schedule(static) num_threads(device->threads) reduction(&& : ok)
    for (size_t c = 0; c < chunk_count(a->rows, CPU_CHUNK_ROWS); c++) {
        if (stop_requested()) continue; // report makes it a failure
        size_t first = c * CPU_CHUNK_ROWS, n = chunk_size(a->rows, CPU_CHUNK_ROWS, c);
        real *y = a->y + first * a->out;
        if (a->bias)
            for (size_t i = 0; i < n; i++) memcpy(y + i * a->out, a->bias, a->out * sizeof(real));
        ok = matmul(device->precision, PLAIN, PLAIN, n, a->out, a->in, a->x + first * a->in, a->in, a->weight, a->out,
                    a->bias ? 1 : 0, y, a->out) &&
             ok;
    }
    report(device, ok, a);
}

// Adds the weight and bias gradient of one chunk of rows.
static bool add_weight_gradient(Precision precision, const LinearArgs *a, size_t first, size_t n, real *dweight,
                                real *dbias) {
    const real *dy = a->dy + first * a->out;
    if (dbias)
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < a->out; j++) dbias[j] += dy[i * a->out + j];
    return !dweight || matmul(precision, TRANSPOSED, PLAIN, a->in, a->out, n, a->x + first * a->in, a->in, dy, a->out,
                              1, dweight, a->out);
}

void CPU_FN(linear_backward)(Device *device, const LinearArgs *a) {
    size_t chunks = chunk_count(a->rows, CPU_CHUNK_ROWS), weights = a->in * a->out;
    ArenaMark mark = arena_mark(&device->scratch);
    // Each part of the chunks is summed apart; the partial sums are added in their order.
    int parts = sum_parts(chunks);
    real *partial = device_scratch(device, (size_t)parts * (weights + a->out));
    if (!partial) return;
    bool ok = true;
#pragma omp parallel for schedule(static) num_threads(device->threads) reduction(&& : ok)
    for (int p = 0; p < parts; p++) {
        real *dweight = partial + (size_t)p * (weights + a->out), *dbias = dweight + weights;
        memset(dweight, 0, (weights + a->out) * sizeof(real));
        size_t begin, end;
        thread_range(chunks, p, parts, &begin, &end);
        for (size_t c = begin; c < end && !stop_requested(); c++) {
            size_t first = c * CPU_CHUNK_ROWS, n = chunk_size(a->rows, CPU_CHUNK_ROWS, c);
            if (a->dx)
                ok = matmul(device->precision, PLAIN, TRANSPOSED, n, a->in, a->out, a->dy + first * a->out, a->out,
                            a->weight, a->out, 1, a->dx + first * a->in, a->in) &&
                     ok;
            ok = add_weight_gradient(device->precision, a, first, n, a->dweight ? dweight : NULL,
                                     a->dbias ? dbias : NULL) &&
                 ok;
        }
    }
    for (int p = 0; p < parts; p++) {
        const real *dweight = partial + (size_t)p * (weights + a->out), *dbias = dweight + weights;
        for (size_t i = 0; a->dweight && i < weights; i++) a->dweight[i] += dweight[i];
        for (size_t i = 0; a->dbias && i < a->out; i++) a->dbias[i] += dbias[i];
    }
    report(device, ok, a);
    arena_release(&device->scratch, mark);
}
