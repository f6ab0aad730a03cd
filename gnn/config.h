// SPDX-License-Identifier: Apache-2.0
// Options that decide the form of the dynamics, named as in docs/model.md ("Dynamics", "Notation"). They are resolved,
// and all lengths are in metres.
#ifndef VPD_GNN_CONFIG_H
#define VPD_GNN_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

// With GRAPH_BODIES the network of bodies/ predicts the motion, and gnn/ has no part in it.
typedef enum GnnGraph { GRAPH_HIERARCHICAL, GRAPH_FLAT, GRAPH_NONE, GRAPH_BODIES } GnnGraph;
// The choices of the options, in their order; AUTO is resolved before it comes here.
typedef enum GnnNodes { NODES_RANDOM, NODES_MOVING, NODES_AUTO } GnnNodes;
typedef enum GnnDistance { DISTANCE_POSITION, DISTANCE_APPEARANCE, DISTANCE_AUTO } GnnDistance;
typedef enum GnnVelocity {
    VELOCITY_NONE,
    VELOCITY_PARTICLE, // of a flat graph
    VELOCITY_NODE,     // of a hierarchical one
    VELOCITY_AUTO
} GnnVelocity;
typedef enum GnnDecode { DECODE_PARTICLE, DECODE_NODE, DECODE_AUTO } GnnDecode;

enum { GNN_MAX_SETS = 8 };
// Neighbours that a model looks for; tests take fewer.
enum { GNN_PARTICLE_TO_NODE = 3, GNN_NODE_TO_NODE = 10, GNN_NODE_TO_PARTICLE = 4 };

typedef struct GnnConfig {
    size_t T, D, C, L, M;
    GnnGraph graph;
    GnnNodes nodes;
    GnnDistance distance;
    GnnVelocity velocity;
    GnnDecode decode;
    bool moving_flag, node_extras, gap, rotation;
    bool carry_rgb; // the first three features are rgb: they never change
    double feature_change;
    size_t k_particle_to_node, k_node_to_node, k_node_to_particle, cross_edges, contact_edges;
    double extent;             // X
    double length_scale;       // ell
    double displacement_scale; // s
    double colour_length;      // lc, metres per unit of rgb
    double moving_length;      // lm, metres per unit of m
    double decode_width;       // wd
    bool keep; // keep products for the backward pass instead of computing them again: faster, more memory
} GnnConfig;

// With one input time step there is nothing to take a velocity from.
static inline bool gnn_has_velocity(const GnnConfig *c) { return c->velocity != VELOCITY_NONE && c->T > 1; }
// Nodes have a velocity and an angular velocity, with which they also carry particles.
static inline bool gnn_has_node_velocity(const GnnConfig *c) {
    return c->graph == GRAPH_HIERARCHICAL && c->velocity == VELOCITY_NODE && c->T > 1;
}
// Moving nodes see contact features (docs/model.md, "Inputs of a node").
static inline bool gnn_has_gap(const GnnConfig *c) { return c->gap && c->moving_flag && gnn_has_node_velocity(c); }
enum { GNN_EXTRAS = 8, GNN_MEETING = 12, GNN_SPIN = 3 };
// Where and how fast the gap to static surfaces closes, and the same for other bodies.
static inline size_t gnn_gap_width(const GnnConfig *c) { return gnn_has_gap(c) ? 2 * GNN_MEETING : 0; }
// Numbers that a node sees of itself, beside what particles tell it.
static inline size_t gnn_node_inputs(const GnnConfig *c) {
    return (c->node_extras ? GNN_EXTRAS : 0) + gnn_gap_width(c) + (gnn_has_node_velocity(c) ? GNN_SPIN : 0);
}
// Width of s_i, the input of a particle.
static inline size_t gnn_input_width(const GnnConfig *c) { return c->D + c->T + (c->moving_flag ? 1 : 0); }
// Features that the network changes.
static inline size_t gnn_feature_outputs(const GnnConfig *c) {
    return c->feature_change > 0 ? c->D - (c->carry_rgb ? 3 : 0) : 0;
}

#endif
