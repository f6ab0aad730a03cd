// SPDX-License-Identifier: Apache-2.0
#include "bench/knn_bench.h"

#include "base/random.h"
#include "nn/backend.h"
#include "nn/knn.h"
#include "nn/tape.h"

#include <stdlib.h>

enum { WARM_UP = 2 };

void knn_bench_points(uint32_t stream, size_t count, real *x) {
    RandomKey key = {.seed = 5, .purpose = RANDOM_TEST, .step = stream};
    for (size_t i = 0; i < count; i++) {
        for (size_t c = 0; c < 3; c++) x[3 * i + c] = random_uniform(key, 8 * i + c);
        x[3 * i + i % 3] *= (real)0.01;
    }
}

static KnnArgs search_of(Tape *tape, size_t points, int k, const real *x, const int32_t *self) {
    const real *point = tape_upload(tape, x, 3 * points, sizeof *x);
    return (KnnArgs){.points = points,
                     .queries = points,
                     .point = point,
                     .query = point,
                     .self = tape_upload(tape, self, points, sizeof *self),
                     .k = k,
                     .index = tape_memory(tape, points * (size_t)k, sizeof(int32_t)),
                     .distance2 = tape_memory(tape, points * (size_t)k, sizeof(real))};
}

static Status measure(Device *device, const KnnArgs *args, int repetitions, BenchTime *times, double *room,
                      BenchTime *out, Error *err) {
    for (int i = -WARM_UP; i < repetitions && !device->failed; i++) {
        BenchTime start = bench_now(device);
        knn(device, args);
        if (i >= 0) times[i] = bench_since(device, start);
        arena_reset(&device->scratch); // merges its blocks
    }
    *out = bench_median(times, repetitions, 1, room);
    return device_status(device, err);
}

Status knn_bench(Device *device, size_t points, int k, int repetitions, BenchTime *out, Error *err) {
    Tape tape;
    real *x = malloc((3 * points + 1) * sizeof *x);
    int32_t *self = malloc((points + 1) * sizeof *self);
    BenchTime *times = calloc((size_t)repetitions, sizeof *times);
    double *room = calloc((size_t)repetitions, sizeof *room);
    Status status = STATUS_OK;
    tape_init(&tape, device);
    if (!x || !self || !times || !room) status = error_set(err, STATUS_FAILED, "out of memory for %zu points", points);
    if (status == STATUS_OK) {
        knn_bench_points(0, points, x);
        for (size_t i = 0; i < points; i++) self[i] = (int32_t)i;
        KnnArgs args = search_of(&tape, points, k, x, self);
        status = measure(device, &args, repetitions, times, room, out, err);
    }
    tape_free(&tape);
    free(x);
    free(self);
    free(times);
    free(room);
    return status;
}
