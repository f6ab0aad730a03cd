// SPDX-License-Identifier: Apache-2.0
#include "renderer/cases.h"

#include "base/check.h"
#include "base/random.h"
#include "nn/backend.h"

enum { ORIGINS, DIRECTIONS, SAMPLE_RAY, SAMPLE_Z, LISTS }; // streams of random numbers

static double uniform(uint32_t stream, size_t index, double low, double high) {
    RandomKey key = {.seed = 23, .purpose = RANDOM_TEST, .step = stream};
    return low + (high - low) * (double)random_uniform(key, index);
}

static void upload(Tape *tape, void *to, const void *host, size_t bytes) {
    if (!tape->device->failed) tape->device->nn->upload(tape->device, to, host, bytes);
}

RendererRays *case_rays(Tape *tape, size_t count) {
    real *host = tape_context(tape, (6 * count + 1) * sizeof *host);
    for (size_t i = 0; i < 3 * count && host; i++) {
        host[i] = (real)uniform(ORIGINS, i, -0.2, 0.2);
        host[3 * count + i] = (real)uniform(DIRECTIONS, i, 0.2, 0.9);
    }
    return renderer_rays(tape, count, host, host ? host + 3 * count : NULL, NULL, NULL);
}

// A list of distinct particles that starts anywhere.
static void fill_list(size_t sample, int neighbours, size_t particles, int32_t *list) {
    size_t most = particles < (size_t)neighbours ? particles : (size_t)neighbours;
    size_t first = (size_t)uniform(LISTS, 2 * sample, 0, (double)particles);
    int count = 1 + (int)uniform(LISTS, 2 * sample + 1, 0, (double)most);
    for (int k = 0; k < neighbours; k++) list[k] = k < count ? (int32_t)((first + (size_t)k) % particles) : -1;
}

RendererSamples *case_samples(Tape *tape, size_t rays, size_t count, int neighbours, size_t particles) {
    size_t lists = count * (size_t)neighbours;
    RendererSamples *samples = tape_context(tape, sizeof *samples);
    int32_t *start = tape_context(tape, (rays + 1 + count + lists) * sizeof *start), *ray = start + rays + 1,
            *list = ray + count;
    real *z = tape_context(tape, (count + 1) * sizeof *z);
    CHECK(samples && start && z);
    for (size_t s = 0; s < count; s++) {
        start[(size_t)uniform(SAMPLE_RAY, s, 0, (double)rays) + 1]++;
        z[s] = (real)uniform(SAMPLE_Z, s, 0, 0.3);
        fill_list(s, neighbours, particles, list + s * (size_t)neighbours);
    }
    for (size_t i = 0; i < rays; i++) {
        start[i + 1] += start[i];
        for (int32_t s = start[i]; s < start[i + 1]; s++) ray[s] = (int32_t)i;
    }
    *samples = (RendererSamples){.rays = rays, .count = count, .neighbours = neighbours};
    samples->start = tape_memory(tape, rays + 1, sizeof *start);
    samples->ray = tape_memory(tape, count, sizeof *ray);
    samples->z = tape_memory(tape, count, sizeof *z);
    samples->neighbour = tape_memory(tape, lists, sizeof *list);
    upload(tape, samples->start, start, (rays + 1) * sizeof *start);
    upload(tape, samples->ray, ray, count * sizeof *ray);
    upload(tape, samples->z, z, count * sizeof *z);
    upload(tape, samples->neighbour, list, lists * sizeof *list);
    return samples;
}
