// SPDX-License-Identifier: Apache-2.0
#include "sim/share.h"

// What an element costs against a spring, measured roughly.
static size_t cost_of(const SimChunk *chunk) {
    static const size_t costs[SIM_KINDS] = {
        [SIM_KIND_SPRING] = 1, [SIM_KIND_TET] = 3, [SIM_KIND_HINGE] = 6, [SIM_KIND_SLIDE] = 3, [SIM_KIND_SOCKET] = 9};
    return costs[chunk->kind] * (size_t)chunk->blocks;
}

// The block at or before `block` where no rigid body is cut.
static size_t whole_bodies(const SimTopology *t, size_t rigids, size_t block) {
    for (size_t r = 0; r < rigids; r++) {
        const size_t first = (size_t)t->rigid[r].vertex / t->lanes,
                     last = ((size_t)(t->rigid[r].vertex + t->rigid[r].vertices) + t->lanes - 1) / t->lanes;
        if (first < block && block < last) return first;
    }
    return block;
}

void sim_share_work(Sim *sim, int threads) {
    const SimTopology *t = &sim->topology;
    size_t all = 0, done = 0, chunk = 0, block = 0;
    for (size_t c = 0; c < t->chunks; c++) all += cost_of(&t->chunk[c]);
    for (int i = 0; i < threads; i++) {
        const size_t until = all * (size_t)(i + 1) / (size_t)threads;
        sim->chunks[i][0] = chunk;
        while (chunk < t->chunks && (i + 1 == threads || done + cost_of(&t->chunk[chunk]) / 2 < until))
            done += cost_of(&t->chunk[chunk++]);
        sim->chunks[i][1] = chunk;
        sim->blocks[i][0] = block;
        block = whole_bodies(t, sim->model.scenes * sim->model.rigids,
                             t->vertex_blocks * (size_t)(i + 1) / (size_t)threads);
        sim->blocks[i][1] = block;
    }
}
