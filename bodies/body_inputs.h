// SPDX-License-Identifier: Apache-2.0
// The inputs of the network for a set of bodies, none with a gradient. Host memory, which grows and is kept.
#ifndef VPD_BODIES_BODY_INPUTS_H
#define VPD_BODIES_BODY_INPUTS_H

#include "bodies/body_set.h"

#include <stdint.h>

// Columns of a node's features, in this order. Lengths are in units of BodyScales.length, velocities in units of speed.
//   3  position from the middle of its body      3  velocity
//   3  velocity less that of its body's middle   3  velocity of its body's middle
//   3  normal of the nearest surface             1  distance from it along the normal
//   1  velocity along the normal                 1  least distance of its body's nodes
//   3  normal of its body's surface, outwards    1  1 if its body is driven (BodySet.given), else 0
// Velocities are those of the last time step; those of driven bodies are those of the coming one.
// A surface farther than `reach` is not seen: its normal and velocity are 0, the distance is `reach`.
enum { BODY_FEATURES = 22 };
// Most nodes of other bodies that send messages to a node, none farther than `reach`; columns of a pair's geometry:
// position of the other from it (3), velocity of the other less its own (3), distance (1), normal of the other (3),
// distance from the other's surface along that normal (1), velocity away from it (1).
enum { BODY_CONTACTS = 2, BODY_GEOMETRY = 12 };

typedef struct BodyScales {
    real reach;  // metres
    real length; // metres
    real speed;  // metres per time step
    real step;   // metres: what the network's output is multiplied by
    real still;  // metres per time step: a body whose nodes all move less, before and after, rests
} BodyScales;

// The units of a model whose data have the extent X, in metres.
static inline BodyScales body_scales(double X) {
    return (BodyScales){.reach = (real)(0.06 * X),
                        .length = (real)(0.05 * X),
                        .speed = (real)(0.04 * X),
                        .step = (real)(0.02 * X),
                        .still = (real)(0.001 * X)};
}

// Starts as {0}.
typedef struct BodyInputs {
    real *velocity;          // (nodes, 3) metres per time step: the last one; the coming one if its body is driven
    real *carried;           // (nodes, 3) metres: displacement if the rigid motion of each body went on
    real *goal;              // (nodes, 3) metres: where the network's output puts the nodes, filled by body_motions
    real *feature;           // (nodes, BODY_FEATURES)
    int32_t *body;           // (nodes)
    int32_t *count, *window; // (bodies) nodes; the body's window
    size_t pairs;            // in which a node hears one of another body: in the order of the nodes, the nearest first
    int32_t *hearer, *heard; // (pairs) nodes
    int32_t *hears;          // (nodes) how many nodes each hears
    int32_t *contact;        // (nodes, BODY_CONTACTS) which, the nearest first
    real *geometry;          // (pairs, BODY_GEOMETRY)
    size_t node_room, body_room;
} BodyInputs;

void body_inputs_free(BodyInputs *inputs); // accepts {0}
Status body_inputs_make(const BodySet *set, const BodyScales *scales, int threads, BodyInputs *inputs, Error *err);

// The rigid motion of each body that takes its nodes nearest to now + carried + step * output (nodes, 3), or none of a
// body that rests; then bodies are kept outside each other and surfaces (bodies/outside.h): what body_set_move takes.
void body_motions(const BodySet *set, const BodyScales *scales, int threads, BodyInputs *inputs, const real *output,
                  RigidMotion *motion);

#endif
