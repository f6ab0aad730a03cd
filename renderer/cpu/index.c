// SPDX-License-Identifier: Apache-2.0
#include "renderer/index.h"
#include "renderer/cpu/functions.h"
#include "renderer/march.h"

#include <omp.h>

enum { MAX_PARTS = 8 }; // of the histogram: memory is parts x buckets

static void mark_levels(RendererIndex *index, uint32_t scene, const CellBox *box) {
    for (int level = 1; level <= index->found->levels; level++) {
        int shift = 2 * level;
        for (int32_t i = box->low[0] >> shift; i <= box->high[0] >> shift; i++)
            for (int32_t j = box->low[1] >> shift; j <= box->high[1] >> shift; j++)
                for (int32_t k = box->low[2] >> shift; k <= box->high[2] >> shift; k++) {
                    uint8_t *mark = march_mark(index, scene, level, i, j, k);
#pragma omp atomic write
                    *mark = 1;
                }
    }
}

void CPU_FN(index_measure)(Device *device, const IndexArgs *a) {
    RendererIndex *index = a->index;
    IndexFound *found = index->found;
    march_set_edge(index, a->cell, a->reach);
    real inf = (real)INFINITY;
    real x0 = inf, y0 = inf, z0 = inf, x1 = -inf, y1 = -inf, z1 = -inf;
    size_t entries = 0, left_out = 0;
#pragma omp parallel for schedule(static) num_threads(device->threads) reduction(min : x0, y0, z0) reduction(max : x1, y1, z1) reduction(+ : entries, left_out)
    for (size_t i = 0; i < a->count; i++) {
        const real *x = a->x + 3 * i;
        real R = a->radius[i], *packed = index->packed + 4 * i;
        memcpy(packed, x, 3 * sizeof(real));
        packed[3] = march_particle_fits(index, x, R, a->reach) ? element_inverse_R2(R) : 0; // 0 = left out
        left_out += packed[3] == 0;
        if (packed[3] == 0) continue;
        x0 = x[0] - R < x0 ? x[0] - R : x0;
        y0 = x[1] - R < y0 ? x[1] - R : y0;
        z0 = x[2] - R < z0 ? x[2] - R : z0;
        x1 = x[0] + R > x1 ? x[0] + R : x1;
        y1 = x[1] + R > y1 ? x[1] + R : y1;
        z1 = x[2] + R > z1 ? x[2] + R : z1;
        CellBox box = march_cell_box(index, x, R);
        entries += march_cell_count(&box);
    }
    *found = (IndexFound){{x0, y0, z0}, {x1, y1, z1}, 0, entries, left_out};
    index->room = entries;
    march_set_levels(found, index->edge);
    for (int level = 1; level <= index->found->levels; level++)
        memset(index->level[level], 0, index->scenes * ((size_t)index->level_mask[level] + 1));
}

// Adds (entry NULL) or fills the entries of particles [first, last); `next` is this part's count or place in each
// bucket.
static void scatter(const IndexArgs *a, size_t first, size_t last, int32_t *next, int32_t *entry) {
    RendererIndex *index = a->index;
    for (size_t p = first; p < last; p++) {
        if (index->packed[4 * p + 3] == 0) continue;
        uint32_t scene = scene_of_row(&a->scenes, p, 0);
        CellBox box = march_cell_box(index, a->x + 3 * p, a->radius[p]);
        for (int32_t i = box.low[0]; i <= box.high[0]; i++)
            for (int32_t j = box.low[1]; j <= box.high[1]; j++)
                for (int32_t k = box.low[2]; k <= box.high[2]; k++) {
                    uint32_t bucket = march_bucket(index, scene, i, j, k);
                    if (entry) entry[next[bucket]] = (int32_t)p;
                    next[bucket]++;
                }
        if (!entry) mark_levels(index, scene, &box);
    }
}

// Counts become places: bucket by bucket, part by part.
static void prefix(RendererIndex *index, int parts, int32_t *next) {
    size_t buckets = index_buckets(index);
    int32_t sum = 0;
    for (size_t b = 0; b < buckets; b++) {
        index->start[b] = sum;
        for (int part = 0; part < parts; part++) {
            int32_t count = next[(size_t)part * buckets + b];
            next[(size_t)part * buckets + b] = sum;
            sum += count;
        }
    }
    index->start[buckets] = sum;
}

void CPU_FN(index_fill)(Device *device, const IndexArgs *a) {
    int parts = device->threads < MAX_PARTS ? device->threads : MAX_PARTS;
    size_t buckets = index_buckets(a->index);
    ArenaMark mark = arena_mark(&device->scratch);
    int32_t *next = device_scratch_bytes(device, (size_t)parts * buckets * sizeof *next);
    if (!next) return;
    memset(next, 0, (size_t)parts * buckets * sizeof *next);
    // Parts are ranges of particles in order, so lists ascend whatever their number.
    for (int pass = 0; pass < 2; pass++) {
#pragma omp parallel for schedule(static) num_threads(parts)
        for (int part = 0; part < parts; part++) {
            size_t first, last;
            thread_range(a->count, part, parts, &first, &last);
            scatter(a, first, last, next + (size_t)part * buckets, pass ? a->index->entry : NULL);
        }
        if (pass == 0) prefix(a->index, parts, next);
    }
    arena_release(&device->scratch, mark);
}
