// SPDX-License-Identifier: Apache-2.0
#include "bench/time.h"

#include "base/sort.h"
#include "nn/backend.h"
#include "nn/device_memory.h"
#include "nn/linear.h"
#include "nn/matmul.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { ROWS = 512, WIDTH = 128, PRODUCTS = 64, FIRST_SIDE = 256, LAST_SIDE = 16384 };
enum { CPU_COPY = 64 << 20, DEVICE_COPY = 256 << 20 }; // bytes

BenchTime bench_now(Device *device) {
    struct timespec cpu;
    double wall = device_seconds(device);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
    return (BenchTime){wall, ((double)cpu.tv_sec + 1e-9 * (double)cpu.tv_nsec) / device->threads};
}

BenchTime bench_since(Device *device, BenchTime start) {
    BenchTime end = bench_now(device);
    return (BenchTime){end.wall - start.wall, end.cpu - start.cpu};
}

BenchTime bench_median(const BenchTime *times, int count, int stride, double *room) {
    BenchTime m;
    for (int i = 0; i < count; i++) room[i] = times[i * stride].wall;
    sort_doubles(room, (size_t)count);
    m.wall = room[count / 2];
    for (int i = 0; i < count; i++) room[i] = times[i * stride].cpu;
    sort_doubles(room, (size_t)count);
    m.cpu = room[count / 2];
    return m;
}

Status bench_medians(BenchOnce *once, void *context, int warm_up, int repetitions, int count, BenchTime *medians,
                     Error *err) {
    BenchTime *times = calloc((size_t)count * (size_t)repetitions, sizeof *times);
    double *room = calloc((size_t)repetitions, sizeof *room);
    Status status = times && room ? STATUS_OK : error_set(err, STATUS_FAILED, "out of memory for times");
    for (int i = -warm_up; i < repetitions && status == STATUS_OK; i++)
        status = once(context, times + (i < 0 ? 0 : count * i), err);
    for (int k = 0; k < count && status == STATUS_OK; k++)
        medians[k] = bench_median(times + k, repetitions, count, room);
    free(times);
    free(room);
    return status;
}

// ---- peaks

// a, c (threads * ROWS, WIDTH) alternate, then b (WIDTH, WIDTH)
static size_t cpu_reals(const Device *device) { return ((size_t)device->threads * 2 * ROWS + WIDTH) * WIDTH; }

static void cpu_products(const BenchPeak *peak) {
    const size_t block = ROWS * WIDTH;
    int threads = peak->device->threads;
    real *memory = peak->product[0];
    const real *weight = memory + (size_t)threads * 2 * block;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int t = 0; t < threads; t++) {
        real *a = memory + (size_t)t * 2 * block;
        for (int i = 0; i < PRODUCTS; i++)
            matmul(PRECISION_F32, PLAIN, PLAIN, ROWS, WIDTH, WIDTH, a, WIDTH, weight, WIDTH, 0, a + block, WIDTH);
    }
}

static void device_product(const BenchPeak *peak) {
    LinearArgs args = {.rows = peak->side,
                       .in = peak->side,
                       .out = peak->side,
                       .x = peak->product[0],
                       .weight = peak->product[1],
                       .y = peak->product[2]};
    peak->device->nn->linear_forward(peak->device, &args);
}

BenchTime bench_peak_products(BenchPeak *peak) {
    BenchTime start = bench_now(peak->device);
    if (peak->side) device_product(peak);
    else cpu_products(peak);
    return bench_since(peak->device, start);
}

static void cpu_copies(const BenchPeak *peak) {
    int threads = peak->device->threads;
    size_t part = peak->copied / (size_t)threads;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int t = 0; t < threads; t++)
        memcpy((char *)peak->copy[0] + (size_t)t * part, (char *)peak->copy[1] + (size_t)t * part, part);
}

BenchTime bench_peak_copies(BenchPeak *peak) {
    BenchTime start = bench_now(peak->device);
    if (peak->side) peak->device->nn->copy(peak->device, peak->copy[0], peak->copy[1], peak->copied);
    else cpu_copies(peak);
    return bench_since(peak->device, start);
}

static real *reals_of(BenchPeak *peak, size_t count) {
    real *memory = arena_array(&peak->memory, count, sizeof(real));
    if (!memory) device_no_memory(peak->device, &peak->memory.source, count * sizeof(real), "the peaks of a benchmark");
    else peak->device->nn->zero(peak->device, memory, count * sizeof(real));
    return memory;
}

// Doubles the side until a product takes a millisecond.
static void find_side(BenchPeak *peak) {
    for (peak->side = FIRST_SIDE; !peak->device->failed; peak->side *= 2) {
        ArenaMark mark = arena_mark(&peak->memory);
        for (int i = 0; i < 3; i++) peak->product[i] = reals_of(peak, peak->side * peak->side);
        if (peak->device->failed) return;
        bench_peak_products(peak); // opens libraries
        if (bench_peak_products(peak).wall > 1e-3 || peak->side == LAST_SIDE) return;
        arena_release(&peak->memory, mark);
    }
}

Status bench_peak_open(BenchPeak *peak, Device *device, Error *err) {
    *peak = (BenchPeak){.device = device, .copied = device->nn->wait ? DEVICE_COPY : CPU_COPY};
    arena_init(&peak->memory, device->source);
    for (int i = 0; i < 2; i++) peak->copy[i] = reals_of(peak, peak->copied / sizeof(real));
    peak->bytes = 2.0 * (double)peak->copied;
    if (device->nn->wait) {
        find_side(peak);
        peak->flops = 2.0 * pow((double)peak->side, 3);
    } else {
        peak->product[0] = reals_of(peak, cpu_reals(device));
        for (size_t i = 0; peak->product[0] && i < cpu_reals(device); i++) peak->product[0][i] = (real)0.1;
        peak->flops = 2.0 * ROWS * WIDTH * WIDTH * PRODUCTS * device->threads;
    }
    return device_status(device, err);
}

void bench_peak_close(BenchPeak *peak) {
    if (peak->device) arena_free(&peak->memory);
    *peak = (BenchPeak){0};
}

size_t bench_peak_resident(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (size_t)usage.ru_maxrss * 1024;
}
