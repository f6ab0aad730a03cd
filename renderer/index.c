// SPDX-License-Identifier: Apache-2.0
#include "renderer/index.h"

#include "base/check.h"
#include "renderer/backend.h"
#include "renderer/renderer.h"

// Edge of a cell in units of r, and buckets per particle: measured; any value gives the same result.
static const double CELL_PER_RADIUS = 2.5;
enum { BUCKETS_PER_PARTICLE = 4, SMALLEST_TABLE = 256 };

static uint32_t table_size(size_t wanted) {
    uint32_t size = SMALLEST_TABLE;
    while (size < wanted && size < (uint32_t)1 << 30) size *= 2;
    return size;
}

// For scenes of at most `most` particles. Occupied cells of surfaces fall by 16 per level, of volumes by 64.
static void make_tables(Tape *tape, size_t most, RendererIndex *index) {
    index->packed = tape_memory(tape, index->count * 4, sizeof(real));
    index->mask = table_size(most * BUCKETS_PER_PARTICLE) - 1;
    CHECK(index_buckets(index) <= INT32_MAX);
    index->start = tape_memory(tape, index_buckets(index) + 1, sizeof(int32_t));
    index->found = tape_memory(tape, 1, sizeof *index->found);
    size_t wanted = most / 2;
    index->level_bytes = 0;
    for (int level = 1; level <= INDEX_LEVELS; level++, wanted /= 8) {
        index->level_mask[level] = table_size(wanted) - 1;
        index->level_bytes += index->scenes * ((size_t)index->level_mask[level] + 1);
    }
    uint8_t *at = tape_memory(tape, index->level_bytes, 1);
    for (int level = 1; level <= INDEX_LEVELS && at; level++) {
        index->level[level] = at;
        at += index->scenes * ((size_t)index->level_mask[level] + 1);
    }
}

real renderer_reach(size_t count, const real *radius) {
    real reach = 0;
    for (size_t i = 0; i < count; i++)
        if (radius[i] > reach && isfinite(radius[i])) reach = radius[i];
    return reach;
}

RendererIndex *renderer_index_build(Tape *tape, const Renderer *renderer, const RendererParticles *particles) {
    TAPE_CHECK_EQ(tape, particles->x->cols, 3);
    static const RendererIndex nothing;
    RendererIndex *index = tape_context(tape, sizeof *index);
    if (!index) return (RendererIndex *)&nothing; // the device has failed: nobody reads it
    *index = nothing;
    index->count = particles->x->rows;
    index->scenes = scene_rows_count(particles->scenes);
    CHECK(index->count < INT32_MAX);
    make_tables(tape, index->scenes > 1 ? particles->most : index->count, index);
    IndexArgs args = {.count = index->count,
                      .scenes = particles->scenes,
                      .x = particles->x->value,
                      .radius = particles->radius,
                      .reach = particles->reach,
                      .cell = (real)(CELL_PER_RADIUS * renderer->config.radius),
                      .index = index};
    if (tape->device->failed) return index;
    tape->device->renderer->index_measure(tape->device, &args);
    if (index->room > INT32_MAX)
        device_fail(tape->device, STATUS_FAILED, "%zu particles reach %zu cells: too many; raise renderer.radius",
                    index->count, index->room);
    index->entry = tape_memory(tape, index->room, sizeof(int32_t));
    if (index->entry) tape->device->renderer->index_fill(tape->device, &args);
    return index;
}
