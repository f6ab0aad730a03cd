// SPDX-License-Identifier: Apache-2.0
#include "gnn/edges.h"

#include "gnn/backend.h"

void edges_order(Tape *tape, size_t count, GnnEdges *const *edges) {
    Device *device = tape->device;
    EdgesOrderArgs args = {.count = count};
    size_t rows = 0, starts = 0;
    CHECK(count <= EDGES_ORDERED);
    if (!device->gnn->edges_order) return;
    for (size_t i = 0; i < count; i++) {
        args.edges[i] = *edges[i];
        rows += edge_rows(edges[i]);
        starts += edges[i]->others + 1;
    }
    int32_t *row = args.row = tape_memory(tape, rows, sizeof *row);
    int32_t *start = args.start = tape_memory(tape, starts, sizeof *start);
    if (device->failed) return;
    device->gnn->edges_order(device, &args);
    for (size_t i = 0; i < count; i++) {
        edges[i]->by_other = row;
        edges[i]->start = start;
        row += edge_rows(edges[i]);
        start += edges[i]->others + 1;
    }
}
