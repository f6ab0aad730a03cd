// SPDX-License-Identifier: Apache-2.0
// Times the renderer's parts at the reference shapes (docs/performance.md).
#ifndef VPD_BENCH_RENDERER_BENCH_H
#define VPD_BENCH_RENDERER_BENCH_H

#include "bench/time.h"
#include "renderer/renderer.h"

typedef struct RendererBench {
    size_t particles, rays, samples;
    double neighbours;                         // particles per sample
    size_t candidates;                         // particles tested against samples
    BenchTime index, place, forward, backward; // of one step: these rays and one particle set; medians
    BenchTime frame;                           // drawing side x side pixels, including the index
    int side;
    size_t tape_bytes; // peak of one step
} RendererBench;

// D 16, K 8, S 16, hidden 64-64, one support radius for all.
RendererConfig renderer_bench_config(void);

// N particles on a floor of 2 x 2 m and three balls, with r = 2.1 x the median distance to the nearest particle
// (config->radius is overwritten), `rays` random pixels of four cameras, and a frame of a fifth camera.
Status renderer_bench(Device *device, const RendererConfig *config, size_t N, size_t rays, int side, int repetitions,
                      RendererBench *out, Error *err);

#endif
