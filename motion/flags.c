// SPDX-License-Identifier: Apache-2.0
#include "motion/flags.h"

#include "nn/backend.h"
#include "nn/knn.h"

#include <string.h>

// Marks of the tape's host memory and the device's scratch memory, to which a call returns at its end.
typedef struct Used {
    ArenaMark host, scratch;
} Used;

static Used begin(const Tape *tape) { return (Used){arena_mark(&tape->host), arena_mark(&tape->device->scratch)}; }

static void end(Tape *tape, Used used) {
    arena_release(&tape->host, used.host);
    arena_release(&tape->device->scratch, used.scratch);
}

// A subset of the points, in host memory.
typedef struct Listed {
    size_t count;
    int32_t *index;
} Listed;

static Listed list_points(Tape *tape, const PointCloud *cloud, bool flagged) {
    Listed out = {.index = tape_context(tape, (cloud->count + 1) * sizeof *out.index)};
    for (size_t i = 0; out.index && i < cloud->count; i++)
        if (!flagged || cloud->moving[i] > 0) out.index[out.count++] = (int32_t)i;
    return out;
}

// Rows (count, 3) of the listed points, scaled, on the device.
static const real *upload_rows(Tape *tape, const Listed *listed, const real *rows, real scale) {
    real *host = tape_context(tape, (3 * listed->count + 1) * sizeof *host),
         *out = device_scratch(tape->device, 3 * listed->count + 1);
    if (!host || !out) return NULL;
    for (size_t i = 0; i < 3 * listed->count; i++) host[i] = scale * rows[3 * (size_t)listed->index[i / 3] + i % 3];
    tape->device->nn->upload(tape->device, out, host, 3 * listed->count * sizeof *host);
    return out;
}

// Majority filter: each listed point keeps its flag if most of its nearest points in (position, lc rgb), itself
// included, have one.
static void vote(Tape *tape, real lc, const Listed *listed, PointCloud *cloud) {
    Device *device = tape->device;
    size_t count = cloud->count, k = count < FLAG_VOTERS ? count : FLAG_VOTERS, entries = listed->count * k;
    real *before = tape_context(tape, (count + 1) * sizeof *before);
    Listed all = list_points(tape, cloud, false);
    int32_t *found = device_scratch_bytes(device, (entries + 1) * sizeof *found),
            *near = tape_context(tape, (entries + 1) * sizeof *near);
    KnnArgs args = {.points = count,
                    .queries = listed->count,
                    .point = upload_rows(tape, &all, cloud->position, 1),
                    .query = upload_rows(tape, listed, cloud->position, 1),
                    .extra = 3,
                    .point_extra = upload_rows(tape, &all, cloud->colour, lc),
                    .query_extra = upload_rows(tape, listed, cloud->colour, lc),
                    .k = (int)k,
                    .index = found};
    if (!device->failed) knn(device, &args);
    if (device->failed) return;
    device->nn->download(device, near, found, entries * sizeof *near);
    memcpy(before, cloud->moving, count * sizeof *before);
    for (size_t i = 0; i < listed->count; i++) {
        size_t votes = 0;
        for (size_t j = 0; j < k; j++) votes += before[near[i * k + j]] > 0;
        cloud->moving[listed->index[i]] = 2 * votes > k;
    }
}

void flags_confirm(Tape *tape, double colour_length, PointCloud *cloud) {
    Used used = begin(tape);
    Listed flagged = list_points(tape, cloud, true);
    if (flagged.count) vote(tape, (real)colour_length, &flagged, cloud);
    end(tape, used);
}

void flags_pack(const PointCloud *cloud, uint8_t *bits) {
    for (size_t i = 0; i < cloud->count; i++)
        bits[cloud->pixel[i] / 8] |= (uint8_t)((cloud->moving[i] > 0) << cloud->pixel[i] % 8);
}

void flags_unpack(const uint8_t *bits, PointCloud *cloud) {
    for (size_t i = 0; i < cloud->count; i++) cloud->moving[i] = bits[cloud->pixel[i] / 8] >> cloud->pixel[i] % 8 & 1;
}
