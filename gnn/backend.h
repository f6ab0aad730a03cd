// SPDX-License-Identifier: Apache-2.0
// The gnn part of a back end; see nn/backend.h for the rules.
#ifndef VPD_GNN_BACKEND_H
#define VPD_GNN_BACKEND_H

#include "nn/device.h"
#include "nn/op_list.h"

// gnn/plan.h has the arguments of those whose names begin with plan_.
#define GNN_OPS(OP)                                                                                                    \
    OP(advance_forward, AdvanceArgs)                                                                                   \
    OP(advance_backward, AdvanceArgs)                                                                                  \
    OP(edge_geometry_forward, EdgeGeometryArgs)                                                                        \
    OP(edge_geometry_backward, EdgeGeometryArgs)                                                                       \
    OP(message_forward, MessageArgs)                                                                                   \
    OP(message_backward, MessageArgs)                                                                                  \
    OP(plan_rows, PlanRowsArgs)                                                                                        \
    OP(plan_spread, PlanSpreadArgs)

GNN_OPS(OP_STRUCT)
struct EdgesOrderArgs;

typedef struct GnnBackend {
    const char *name;                                             // of the instruction set
    void (*edges_order)(Device *, const struct EdgesOrderArgs *); // gnn/edges.h; NULL: sums need no order
    bool message_products;                                        // of rows, in `message`; false: `linear` makes them
    GNN_OPS(OP_MEMBER)
} GnnBackend;

#endif
