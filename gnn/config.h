// SPDX-License-Identifier: Apache-2.0
// Options that decide the form of the graph network, named as in docs/model.md ("Dynamics", "Notation"). All lengths
// are known, in metres.
#ifndef VPD_GNN_CONFIG_H
#define VPD_GNN_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

// With GRAPH_BODIES the network of bodies/ predicts the motion, and gnn/ has no part in it.
typedef enum GnnGraph { GRAPH_HIERARCHICAL, GRAPH_FLAT, GRAPH_NONE, GRAPH_BODIES } GnnGraph;

enum { GNN_MAX_SETS = 8 };
// Neighbours that a model looks for; tests take fewer.
enum { GNN_PARTICLE_TO_NODE = 3, GNN_NODE_TO_NODE = 10, GNN_NODE_TO_PARTICLE = 4 };

typedef struct GnnConfig {
    size_t T, D, C, L, M;
    GnnGraph graph;
    bool carry_rgb; // the first three features are rgb: they never change
    double feature_change;
    size_t k_particle_to_node, k_node_to_node, k_node_to_particle;
    double length_scale;       // ell
    double displacement_scale; // s
    bool keep; // keep products for the backward pass instead of computing them again: faster, more memory
} GnnConfig;

// Width of s_i, the input of a particle.
static inline size_t gnn_input_width(const GnnConfig *c) { return c->D + c->T; }
// Features that the network changes.
static inline size_t gnn_feature_outputs(const GnnConfig *c) {
    return c->feature_change > 0 ? c->D - (c->carry_rgb ? 3 : 0) : 0;
}

#endif
