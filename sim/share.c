// SPDX-License-Identifier: Apache-2.0
#include "sim/share.h"

// What an element costs against a spring, measured roughly.
static size_t cost_of(const SimChunk *chunk) {
    static const size_t costs[SIM_KINDS] = {[SIM_KIND_SPRING] = 1, [SIM_KIND_TET] = 3, [SIM_KIND_HINGE] = 6};
    return costs[chunk->kind] * (size_t)chunk->blocks;
}

void sim_share_work(Sim *sim, int threads) {
    const SimTopology *t = &sim->topology;
    size_t all = 0, done = 0, chunk = 0;
    for (size_t c = 0; c < t->chunks; c++) all += cost_of(&t->chunk[c]);
    for (int i = 0; i < threads; i++) {
        const size_t until = all * (size_t)(i + 1) / (size_t)threads;
        sim->chunks[i][0] = chunk;
        while (chunk < t->chunks && (i + 1 == threads || done + cost_of(&t->chunk[chunk]) / 2 < until))
            done += cost_of(&t->chunk[chunk++]);
        sim->chunks[i][1] = chunk;
        sim->blocks[i][0] = t->vertex_blocks * (size_t)i / (size_t)threads;
        sim->blocks[i][1] = t->vertex_blocks * (size_t)(i + 1) / (size_t)threads;
    }
}
