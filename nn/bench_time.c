// SPDX-License-Identifier: Apache-2.0
#include "nn/bench_time.h"

#include "nn/matmul.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

enum { ROWS = 512, WIDTH = 128, PRODUCTS = 64 };

static double clock_of(clockid_t id) {
    struct timespec now;
    clock_gettime(id, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

BenchTime bench_now(const Device *device) {
    return (BenchTime){clock_of(CLOCK_MONOTONIC), clock_of(CLOCK_PROCESS_CPUTIME_ID) / device->threads};
}

BenchTime bench_since(const Device *device, BenchTime start) {
    BenchTime end = bench_now(device);
    return (BenchTime){end.wall - start.wall, end.cpu - start.cpu};
}

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

BenchTime bench_median(const BenchTime *times, int count, double *room) {
    BenchTime m;
    for (int i = 0; i < count; i++) room[i] = times[i].wall;
    qsort(room, (size_t)count, sizeof *room, compare_doubles);
    m.wall = room[count / 2];
    for (int i = 0; i < count; i++) room[i] = times[i].cpu;
    qsort(room, (size_t)count, sizeof *room, compare_doubles);
    m.cpu = room[count / 2];
    return m;
}

// a, c (threads * ROWS, WIDTH) in turns, then b (WIDTH, WIDTH)
size_t bench_peak_size(const Device *device) { return ((size_t)device->threads * 2 * ROWS + WIDTH) * WIDTH; }

double bench_peak_flops(const Device *device) { return 2.0 * ROWS * WIDTH * WIDTH * PRODUCTS * device->threads; }

void bench_peak_fill(const Device *device, real *memory) {
    for (size_t i = 0; i < bench_peak_size(device); i++) memory[i] = (real)0.1;
}

BenchTime bench_peak(const Device *device, real *memory) {
    size_t block = ROWS * WIDTH;
    int threads = device->threads;
    const real *weight = memory + (size_t)threads * 2 * block;
    BenchTime start = bench_now(device);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int t = 0; t < threads; t++) {
        real *a = memory + (size_t)t * 2 * block;
        for (int i = 0; i < PRODUCTS; i++)
            matmul(PRECISION_F32, PLAIN, PLAIN, ROWS, WIDTH, WIDTH, a, WIDTH, weight, WIDTH, 0, a + block, WIDTH);
    }
    return bench_since(device, start);
}

size_t bench_peak_resident(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (size_t)usage.ru_maxrss * 1024;
}
