// SPDX-License-Identifier: Apache-2.0
// Motion of particles decoded at the nodes (docs/model.md, "Decode at nodes"):
//
//     w_ia  = softmax over the edges of particle i of [logit_ia + z_ia]
//     out_i = sum_a w_ia [ s (t_a + omega_a x (x_i - x_a)/ell) + (1 + gain_a) (v_a + spin_a x (x_i - x_a)),  features_a
//     ]
//
// with u_a = [t_a, omega_a, gain_a, features_a] (gnn/element.h). Particles are the groups of the edges, nodes the other
// ends.
#ifndef VPD_GNN_NODE_BLEND_H
#define VPD_GNN_NODE_BLEND_H

#include "gnn/edges.h"
#include "gnn/element.h"
#include "nn/tape.h"

typedef struct NodeBlendArgs {
    GnnEdges edges;
    NodeMotion motion;
    const real *u;                    // (others, U)
    const real *z;                    // (rows)
    const real *logit;                // (rows) no gradient
    const real *x_group, *x_other;    // (groups, 3), (others, 3) metres
    const real *v_other, *spin_other; // (others, 3) with a gain, else NULL: metres and radians per frame, no gradient
    real *out;                        // (groups, 3 + features): metres, then the blended features; overwritten
    const real *dout;
    real *du, *dz, *dx_group, *dx_other; // added into; NULL = not wanted
} NodeBlendArgs;

typedef struct NodeBlendCall {
    GnnEdges edges;
    NodeMotion motion;
    Tensor *u, *z, *x_group, *x_other;
    const real *logit, *v_other, *spin_other;
} NodeBlendCall;

Tensor *node_blend(Tape *tape, const NodeBlendCall *call);

#endif
