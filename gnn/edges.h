// SPDX-License-Identifier: Apache-2.0
// Edges of one kind, listed by group: rows g * k .. g * k + k - 1 are those of group g, and `index` is the row of the
// other end, or -1 if a group has fewer than k edges (an absent row, which counts in no mean). Groups are the particles
// of particle-node edges and the receivers of node-node edges.
#ifndef VPD_GNN_EDGES_H
#define VPD_GNN_EDGES_H

#include "nn/tape.h"

typedef struct GnnEdges {
    size_t groups, k;     // groups * k rows
    size_t others;        // rows of the other end
    const int32_t *index; // (groups, k) into the other end; NULL: a row is its own group (k = 1), there is no other end
    const int32_t *count; // (others) number of edges that end in each, or NULL if it is not needed
    // The rows by their other end, absent ones last, and where each other end begins (others + 1). Made by edges_order;
    // NULL where the device's sums need no order.
    const int32_t *by_other, *start;
} GnnEdges;

enum { EDGES_ORDERED = 16 }; // at a time
typedef struct EdgesOrderArgs {
    size_t count;
    GnnEdges edges[EDGES_ORDERED];
    int32_t *row, *start; // those of all edges, one behind the other
} EdgesOrderArgs;

static inline size_t edge_rows(const GnnEdges *edges) { return edges->groups * edges->k; }

// Rows without an other end, for a layer over `count` separate nodes or edges.
static inline GnnEdges edges_of_rows(size_t count) { return (GnnEdges){count, 1, 0, NULL, NULL, NULL, NULL}; }

// Sorts the rows of edges once, for all ops that sum over their other ends; the order lives as long as the tape's
// tensors.
void edges_order(Tape *tape, size_t count, GnnEdges *const *edges);

#endif
