// SPDX-License-Identifier: Apache-2.0
// The plan of one rollout step: everything that is integer or has no gradient (docs/model.md, "Dynamics"): abstract
// nodes, edges, counts, marks, velocities, extras. A plan may be kept and reused with other positions and weights
// (finite differences, tape_checkpoint); nodes, edges and velocities are then unchanged.
//
//   gnn_plan_make   T particle sets, colours, moving flags, keys  ->  GnnPlan
#ifndef VPD_GNN_PLAN_H
#define VPD_GNN_PLAN_H

#include "gnn/config.h"
#include "gnn/edges.h"
#include "motion/flow.h"
#include "nn/tape.h"

typedef struct GnnSet {
    Tensor *x;          // (N,3) metres
    Tensor *f;          // (N,D)
    const real *m;      // (N) moving flag, 0 or 1; NULL: unknown, and every node reads the seen motion
    const real *c;      // (N,3) rgb in [0,1], as read from the pixels
    const real *m_host; // m in host memory; NULL: the plan downloads it, which waits for the device
} GnnSet;

// Sets oldest first; the last is the present.
typedef struct GnnSets {
    size_t count; // T
    GnnSet set[GNN_MAX_SETS];
} GnnSets;

typedef struct GnnPlanInput {
    GnnSets sets;
    Flow motion; // seen in the input, for velocities of nodes at rollout step 0; without points nothing is known
    uint32_t seed, step, episode, rollout_step;
    // (node_count) abstract nodes chosen by the caller, host memory; NULL: chosen as gnn.nodes says
    const int32_t *nodes;
    size_t node_count;
} GnnPlanInput;

typedef struct GnnPlan {
    size_t particles, nodes;        // N, M
    const int32_t *node;            // (M) particle of the present set; NULL in a flat graph, where a node is a particle
    GnnEdges to_node[GNN_MAX_SETS]; // groups: particles of set t; other ends: nodes
    GnnEdges node_node;             // groups: receivers; other ends: senders. Nearest first, then cross edges
    GnnEdges to_particle;           // groups: present particles; other ends: nodes
    GnnEdges past;                  // flat: groups: present particles; other ends: particles of the set before
    const real *mark[GNN_MAX_SETS]; // (N_t, T [+ 1]) one-hot time, moving flag
    const real *log_count;          // (M, T) log(1 + n_a^t)
    const real *extra;              // (M, 8), or NULL
    const real *gap;                // (M, gnn_gap_width), or NULL
    const real *node_velocity;      // (M, 3) metres per frame, or NULL
    const real *node_spin;          // (M, 3) radians per frame, or NULL
    const real *particle_velocity;  // (N, 3) in a flat graph, or NULL
    const real *logit;              // (N, k) -d^2 / (2 wd^2) of to_particle
} GnnPlan;

// Arrays live as long as the tape's tensors. If memory is short, the device is marked as failed.
void gnn_plan_make(Tape *tape, const GnnConfig *config, const GnnPlanInput *input, GnnPlan *plan);

#endif
