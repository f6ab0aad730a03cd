// SPDX-License-Identifier: Apache-2.0
#include "gnn/edge_geometry.h"

#include "gnn/backend.h"

typedef struct EdgeGeometryNode {
    EdgeGeometryArgs args;
    Tensor *x_group, *x_other, *g;
} EdgeGeometryNode;

static void edge_geometry_backward_node(Tape *tape, void *context) {
    EdgeGeometryNode *node = context;
    EdgeGeometryArgs *a = &node->args;
    a->dg = node->g->grad;
    if (!a->dg) return;
    a->dx_group = tape_grad(tape, node->x_group);
    a->dx_other = tape_grad(tape, node->x_other);
    if (!tape->device->failed) tape->device->gnn->edge_geometry_backward(tape->device, a);
}

Tensor *edge_geometry(Tape *tape, const EdgeGeometryCall *call) {
    Tensor *inputs[] = {call->x_group, call->x_other};
    TAPE_CHECK_EQ(tape, call->x_group->rows, call->edges.groups);
    TAPE_CHECK_EQ(tape, call->x_other->rows, call->edges.others);
    Tensor *g = tape_tensor(tape, edge_rows(&call->edges), EDGE_GEOMETRY, tape_wants(tape, 2, inputs));
    EdgeGeometryNode *node = tape_context(tape, sizeof *node);
    if (!node) return g;
    *node = (EdgeGeometryNode){{.edges = call->edges,
                                .group_receives = call->group_receives,
                                .x_group = call->x_group->value,
                                .x_other = call->x_other->value,
                                .inverse_ell = 1 / call->ell,
                                .g = g->value},
                               call->x_group,
                               call->x_other,
                               g};
    tape->device->gnn->edge_geometry_forward(tape->device, &node->args);
    if (g->wants_grad) tape_record(tape, edge_geometry_backward_node, node);
    return g;
}
