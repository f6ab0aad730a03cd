// SPDX-License-Identifier: Apache-2.0
// The plan of one rollout step: everything that is integer or has no gradient (docs/model.md, "Dynamics"): abstract
// nodes, edges, counts, marks. A plan may be kept and reused with other positions and weights (finite differences,
// tape_checkpoint); nodes and edges are then unchanged.
//
//   gnn_plan_make   T particle sets, keys  ->  GnnPlan
//
// A plan may be that of several scenes, which do not see each other: their particles stand one behind the other in each
// set, and so do their nodes. One step of the dynamics then moves them all.
#ifndef VPD_GNN_PLAN_H
#define VPD_GNN_PLAN_H

#include "gnn/config.h"
#include "gnn/edges.h"
#include "nn/tape.h"

typedef struct GnnSet {
    Tensor *x;     // (N,3) metres
    Tensor *f;     // (N,D)
    const real *c; // (N,3) rgb in [0,1], as read from the pixels
} GnnSet;

// Sets oldest first; the last is the present.
typedef struct GnnSets {
    size_t count; // T
    GnnSet set[GNN_MAX_SETS];
} GnnSets;

// Of a scene.
typedef struct GnnPlanInput {
    GnnSets sets;
    uint32_t seed, step, episode, rollout_step;
    // (node_count) abstract nodes chosen by the caller, all different, host memory; NULL: chosen at random
    const int32_t *nodes;
    size_t node_count;
} GnnPlanInput;

typedef struct GnnPlan {
    size_t particles, nodes;        // N, M, of all scenes
    const size_t *first_node;       // (scenes + 1) in host memory
    const int32_t *node;            // (M) particle of the present set; NULL in a flat graph, where a node is a particle
    GnnEdges to_node[GNN_MAX_SETS]; // groups: particles of set t; other ends: nodes
    GnnEdges node_node;             // groups: receivers; other ends: senders, nearest first
    GnnEdges to_particle;           // groups: present particles; other ends: nodes
    GnnEdges past;                  // flat: groups: present particles; other ends: particles of the set before
    const real *mark[GNN_MAX_SETS]; // (N_t, T) one-hot time
    const real *log_count;          // (M, T) log(1 + n_a^t)
} GnnPlan;

// Of `scenes` inputs, whose tensors are rows of one tensor for each set, in order (join_rows). Arrays live as long as
// the tape's tensors. If memory is short, the device is marked as failed.
void gnn_plan_make(Tape *tape, const GnnConfig *config, size_t scenes, const GnnPlanInput *inputs, GnnPlan *plan);

// The one-hot marks of times t: mark[t] (particles[t], sets). And of edges in order (edges_order) with `nodes` others
// for each t: count[t][o] = edges that end in o, and log_count[o * sets + t] = log(1 + that).
typedef struct PlanRowsArgs {
    size_t sets, particles[GNN_MAX_SETS];
    real *mark[GNN_MAX_SETS];
    size_t nodes; // 0: no edges are counted
    GnnEdges edges[GNN_MAX_SETS];
    int32_t *count[GNN_MAX_SETS];
    real *log_count;
} PlanRowsArgs;

// Mean over channels of the standard deviation over nodes.
typedef struct PlanSpreadArgs {
    size_t nodes, channels;
    const real *h;
    real *spread; // (1)
} PlanSpreadArgs;

#endif
