// SPDX-License-Identifier: Apache-2.0
#include "motion/flags.h"

#include "nn/knn.h"

#include <string.h>

static real *scaled(Tape *tape, size_t count, const real *from, real scale) {
    real *out = tape_context(tape, (count + 1) * sizeof *out);
    for (size_t i = 0; out && i < count; i++) out[i] = scale * from[i];
    return out;
}

// Majority filter: each point with a flag keeps it if most of its nearest points in (position, lc rgb), itself
// included, have one.
void flags_confirm(Tape *tape, double colour_length, PointCloud *cloud) {
    ArenaMark mark = arena_mark(&tape->host);
    size_t count = cloud->count, k = count < FLAG_VOTERS ? count : FLAG_VOTERS, flagged = 0;
    int32_t *index = tape_context(tape, (count + 1) * sizeof *index);
    for (size_t i = 0; index && i < count; i++)
        if (cloud->moving[i] > 0) index[flagged++] = (int32_t)i;
    real *colour = scaled(tape, 3 * count, cloud->colour, (real)colour_length),
         *query = tape_context(tape, (6 * flagged + 1) * sizeof *query),
         *before = scaled(tape, count, cloud->moving, 1);
    int32_t *near = tape_context(tape, (flagged * k + 1) * sizeof *near);
    for (size_t i = 0; i < flagged && !tape->device->failed; i++) {
        memcpy(query + 3 * i, cloud->position + 3 * (size_t)index[i], 3 * sizeof *query);
        memcpy(query + 3 * (flagged + i), colour + 3 * (size_t)index[i], 3 * sizeof *query);
    }
    if (!tape->device->failed && flagged)
        knn_host(tape->device, &(KnnArgs){.points = count,
                                          .queries = flagged,
                                          .point = cloud->position,
                                          .query = query,
                                          .extra = 3,
                                          .point_extra = colour,
                                          .query_extra = query + 3 * flagged,
                                          .k = (int)k,
                                          .index = near});
    for (size_t i = 0; i < flagged && !tape->device->failed; i++) {
        size_t votes = 0;
        for (size_t j = 0; j < k; j++) votes += before[near[i * k + j]] > 0;
        cloud->moving[index[i]] = 2 * votes > k;
    }
    arena_release(&tape->host, mark);
}

void flags_pack(const PointCloud *cloud, uint8_t *bits) {
    for (size_t i = 0; i < cloud->count; i++)
        bits[cloud->pixel[i] / 8] |= (uint8_t)((cloud->moving[i] > 0) << cloud->pixel[i] % 8);
}

void flags_unpack(const uint8_t *bits, PointCloud *cloud) {
    for (size_t i = 0; i < cloud->count; i++) cloud->moving[i] = bits[cloud->pixel[i] / 8] >> cloud->pixel[i] % 8 & 1;
}
