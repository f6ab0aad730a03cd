// SPDX-License-Identifier: Apache-2.0
// The network that says how bodies go on: messages between nearby nodes of different bodies, and a token for each body,
// pooled from its nodes and given back to them in every round.
#ifndef VPD_BODIES_BODY_NETWORK_H
#define VPD_BODIES_BODY_NETWORK_H

#include "bodies/body_inputs.h"
#include "gnn/message.h"
#include "nn/parameters.h"

// A first layer in parts (those that there are), and what follows it.
typedef struct BodyMlp {
    Tensor *sender, *receiver, *edge, *heard, *bias0, *weight1, *bias1, *gain, *offset;
} BodyMlp;

typedef struct BodyRound {
    BodyMlp contact, pool, token, node;
} BodyRound;

enum { BODY_MAX_ROUNDS = 16 };

typedef struct BodyNetwork {
    size_t C, L; // hidden width, rounds
    BodyMlp node, pair, output;
    BodyRound round[BODY_MAX_ROUNDS];
} BodyNetwork;

// Declares the parameters, named bodies.*; `set` must outlive the network.
void body_network_create(Parameters *set, size_t C, size_t L, BodyNetwork *network);

// (nodes, 3), in units of BodyScales.step; there is at least one node. The arrays of the inputs are copied.
Tensor *body_network_run(Tape *tape, const BodyNetwork *network, const BodySet *set, const BodyInputs *inputs);

#endif
