// SPDX-License-Identifier: Apache-2.0
// One rollout step of the particles (docs/model.md, "Dynamics").
//   gnn_plan_make   T particle sets, keys        ->  nodes, edges, counts (gnn/plan.h), no gradients
//   dynamics_step   T particle sets and the plan ->  displacement (N,3) metres, next positions (N,3), next features
//   (N,D)
#ifndef VPD_GNN_DYNAMICS_H
#define VPD_GNN_DYNAMICS_H

#include "gnn/plan.h"
#include "nn/parameters.h"

// Parameters of one network: `X.sender` .. for a message, `X.weight0` .. for an update or MLP. NULL: no such parameter.
typedef struct NetworkParameters {
    Tensor *sender, *receiver, *edge, *weight0;
    Tensor *bias0, *weight1, *bias1, *weight2, *bias2, *gain, *offset;
} NetworkParameters;

typedef struct RoundParameters {
    NetworkParameters edge, node;
} RoundParameters;

typedef struct Dynamics {
    GnnConfig config;
    NetworkParameters encode_edge, encode_node; // gnn.encode.edge, gnn.encode.node
    NetworkParameters edge;                     // gnn.edge
    RoundParameters *rounds;                    // (L) gnn.round{l}.edge, gnn.round{l}.node
    NetworkParameters decode_edge, decode_node; // gnn.decode.edge, gnn.decode.node
} Dynamics;

// Declares the parameters in the order of docs/model.md; `parameters` must outlive the dynamics.
Status dynamics_create(Parameters *parameters, const GnnConfig *config, Dynamics **out, Error *err);
void dynamics_free(Dynamics *dynamics); // accepts NULL

typedef struct DynamicsOutput {
    Tensor *dx; // (N,3) metres
    Tensor *x;  // (N,3) metres: next positions
    Tensor *f;  // (N,D)
    Tensor *h;  // (M,C) nodes after the last round; NULL without dynamics
} DynamicsOutput;

void dynamics_step(Tape *tape, const Dynamics *dynamics, const GnnPlan *plan, const GnnSets *sets, DynamicsOutput *out);

// Mean over channels of the standard deviation of h over nodes. It is near 0 if all nodes have become alike, because
// the learning rate was too high. *spread is device memory.
void dynamics_spread(Device *device, const Tensor *h, real *spread);

#endif
