// SPDX-License-Identifier: Apache-2.0
// Marches rays through the index (renderer/march.h); samples in cells that are not empty are tested against the
// particles that their cell lists.
#include "renderer/place_samples.h"
#include "nn/cpu/lanes.h"
#include "renderer/cpu/functions.h"
#include "renderer/march.h"

enum { RAY_CHUNK = 32, BLOCK = 256 };

// The particles of one bucket, copied so that tests are vectorised.
typedef struct Candidates {
    const RendererIndex *index;
    int64_t bucket; // whose list is loaded; -1 none
    size_t tested;  // counted for tests of the cost
    int count;
    real x[BLOCK], y[BLOCK], z[BLOCK], inverse_R2[BLOCK];
    int32_t particle[BLOCK];
} Candidates;

// The K nearest so far, by (u^2, index).
typedef struct Nearest {
    int count, room;
    real limit;   // the largest u^2 that may still enter
    int32_t last; // offered
    real u2[RENDERER_MAX_NEIGHBOURS];
    int32_t particle[RENDERER_MAX_NEIGHBOURS];
} Nearest;

// Lists ascend by index: an equal u2 goes behind. A particle that is listed for two cells of one bucket is offered
// twice in a row.
static void offer(Nearest *near, real u2, int32_t particle) {
    if (particle == near->last || (near->count == near->room && u2 >= near->u2[near->room - 1])) return;
    near->last = particle;
    int at = near->count < near->room ? near->count++ : near->room - 1;
    for (; at > 0 && u2 < near->u2[at - 1]; at--) { // NOLINT: at < room <= RENDERER_MAX_NEIGHBOURS
        near->u2[at] = near->u2[at - 1];
        near->particle[at] = near->particle[at - 1];
    }
    near->u2[at] = u2;
    near->particle[at] = particle;
    if (near->count == near->room) near->limit = near->u2[near->room - 1];
}

// Copies entries [first, last), padded to a multiple of LANES with particles that reach no sample.
static void load(Candidates *c, int32_t first, int32_t last) {
    const int32_t *entry = c->index->entry + first;
    int count = last - first;
    for (int i = 0; i < count; i++) {
        const real *p = c->index->packed + 4 * (size_t)entry[i];
        c->x[i] = p[0];
        c->y[i] = p[1];
        c->z[i] = p[2];
        c->inverse_R2[i] = p[3];
        c->particle[i] = entry[i];
    }
    c->count = count;
    for (int i = count; i % LANES; i++) {
        c->x[i] = c->y[i] = c->z[i] = 0;
        c->inverse_R2[i] = (real)INFINITY;
    }
}

static void test_block(Candidates *c, const real q[3], Nearest *near) {
    for (int b = 0; b < c->count; b += LANES) {
        Lanes dx = q[0] - lanes_load(c->x + b), dy = q[1] - lanes_load(c->y + b), dz = q[2] - lanes_load(c->z + b);
        Lanes u2 = ELEMENT_U2(dx, dy, dz, lanes_load(c->inverse_R2 + b));
        for (unsigned hits = lanes_at_most(u2, near->limit); hits; hits &= hits - 1) {
            int i = __builtin_ctz(hits);
            offer(near, u2[i], c->particle[b + i]);
        }
    }
}

static void find_nearest(Candidates *c, uint32_t bucket, const real q[3], Nearest *near) {
    int32_t first = c->index->start[bucket], last = c->index->start[bucket + 1];
    c->tested += (size_t)(last - first);
    near->count = 0;
    near->limit = LARGEST_U2;
    near->last = -1;
    if (last - first <= BLOCK) { // the next sample is often in the same cell
        if (c->bucket != (int64_t)bucket) {
            c->bucket = bucket;
            load(c, first, last);
        }
        test_block(c, q, near);
        return;
    }
    c->bucket = bucket;
    for (; first < last; first += BLOCK) {
        load(c, first, last - first < BLOCK ? last : first + BLOCK);
        test_block(c, q, near);
    }
    c->bucket = -1;
}

// Writes the ray's samples from *at on; returns the number of cells looked at.
static size_t place_ray(const PlaceSamplesArgs *a, Candidates *candidates, size_t ray, size_t *at) {
    RendererSamples *out = a->samples;
    size_t K = (size_t)out->neighbours, end = *at + (size_t)a->keep;
    March march;
    Nearest near;
    near.room = out->neighbours;
    if (!march_start(&march, a->index, scene_of_row(&a->scenes, ray, 0), a->origin + 3 * ray, a->direction + 3 * ray,
                     a->jitter ? a->jitter[ray] : (real)0.5, a->delta, a->near, a->far))
        return 0;
    for (real z, q[3]; *at < end && march_next(&march, a->index, &z, q);) {
        find_nearest(candidates, march.bucket, q, &near);
        if (near.count == 0) continue;
        int32_t *list = out->neighbour + *at * K;
        memcpy(list, near.particle, (size_t)near.count * sizeof *list);
        memset(list + near.count, 0xff, (K - (size_t)near.count) * sizeof *list); // -1
        out->z[*at] = z;
        out->ray[(*at)++] = (int32_t)ray;
    }
    return march.cells;
}

// Chunks stand at their own places, RAY_CHUNK * S apart; moves them together. `start` holds each ray's count.
static void pack(const PlaceSamplesArgs *a) {
    RendererSamples *out = a->samples;
    size_t at = 0, room = (size_t)RAY_CHUNK * (size_t)a->keep, K = (size_t)out->neighbours;
    for (size_t c = 0; c < chunk_count(a->rays, RAY_CHUNK); c++) {
        size_t first = at;
        for (size_t i = c * RAY_CHUNK; i < c * RAY_CHUNK + chunk_size(a->rays, RAY_CHUNK, c); i++) {
            size_t count = (size_t)out->start[i];
            out->start[i] = (int32_t)at;
            at += count;
        }
        memmove(out->z + first, out->z + c * room, (at - first) * sizeof *out->z);
        memmove(out->ray + first, out->ray + c * room, (at - first) * sizeof *out->ray);
        memmove(out->neighbour + first * K, out->neighbour + c * room * K, (at - first) * K * sizeof *out->neighbour);
    }
    out->start[a->rays] = (int32_t)at;
    out->count = at;
}

void CPU_FN(place_samples)(Device *device, const PlaceSamplesArgs *a) {
    size_t tested = 0, cells = 0;
#pragma omp parallel num_threads(device->threads) reduction(+ : tested, cells)
    {
        Candidates candidates = {.index = a->index, .bucket = -1};
#pragma omp for schedule(dynamic)
        for (size_t c = 0; c < chunk_count(a->rays, RAY_CHUNK); c++) {
            size_t at = c * RAY_CHUNK * (size_t)a->keep;
            for (size_t i = c * RAY_CHUNK; i < c * RAY_CHUNK + chunk_size(a->rays, RAY_CHUNK, c); i++) {
                size_t first = at;
                cells += place_ray(a, &candidates, i, &at);
                a->samples->start[i] = (int32_t)(at - first);
            }
        }
        tested = candidates.tested;
    }
    *a->samples->found = (SamplesFound){tested, cells};
    pack(a);
}
