// SPDX-License-Identifier: Apache-2.0
// The gnn part of a back end; see nn/backend.h for the rules.
#ifndef VPD_GNN_BACKEND_H
#define VPD_GNN_BACKEND_H

#include "nn/device.h"

struct AdvanceArgs;
struct EdgeGeometryArgs;
struct MessageArgs;
struct NodeBlendArgs;

typedef struct GnnBackend {
    const char *name; // of the instruction set

    void (*advance_forward)(Device *, const struct AdvanceArgs *);
    void (*advance_backward)(Device *, const struct AdvanceArgs *);
    void (*edge_geometry_forward)(Device *, const struct EdgeGeometryArgs *);
    void (*edge_geometry_backward)(Device *, const struct EdgeGeometryArgs *);
    void (*message_forward)(Device *, const struct MessageArgs *);
    void (*message_backward)(Device *, const struct MessageArgs *);
    void (*node_blend_forward)(Device *, const struct NodeBlendArgs *);
    void (*node_blend_backward)(Device *, const struct NodeBlendArgs *);
} GnnBackend;

#endif
