// SPDX-License-Identifier: Apache-2.0
// Edges of one kind, listed by group: rows g * k .. g * k + k - 1 are those of group g, and `index` is the row of the
// other end, or -1 if a group has fewer than k edges (an absent row, which counts in no mean). Groups are the particles
// of particle-node edges and the receivers of node-node edges.
#ifndef VPD_GNN_EDGES_H
#define VPD_GNN_EDGES_H

#include "nn/real.h"

typedef struct GnnEdges {
    size_t groups, k;     // groups * k rows
    size_t others;        // rows of the other end
    const int32_t *index; // (groups, k) into the other end; NULL: a row is its own group (k = 1), there is no other end
    const int32_t *count; // (others) number of edges that end in each, or NULL if it is not needed
} GnnEdges;

static inline size_t edge_rows(const GnnEdges *edges) { return edges->groups * edges->k; }

// Rows without an other end, for a layer over `count` separate nodes or edges.
static inline GnnEdges edges_of_rows(size_t count) { return (GnnEdges){count, 1, 0, NULL, NULL}; }

#endif
