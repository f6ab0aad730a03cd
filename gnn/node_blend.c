// SPDX-License-Identifier: Apache-2.0
#include "gnn/node_blend.h"

#include "base/check.h"
#include "gnn/backend.h"

typedef struct NodeBlendNode {
    NodeBlendArgs args;
    NodeBlendCall call;
    Tensor *out;
} NodeBlendNode;

static void node_blend_backward_node(Tape *tape, void *context) {
    NodeBlendNode *node = context;
    NodeBlendArgs *a = &node->args;
    a->dout = node->out->grad;
    if (!a->dout) return;
    a->du = tape_grad(tape, node->call.u);
    a->dz = tape_grad(tape, node->call.z);
    bool turns = a->motion.rotation || a->motion.gain;
    a->dx_group = turns ? tape_grad(tape, node->call.x_group) : NULL;
    a->dx_other = turns ? tape_grad(tape, node->call.x_other) : NULL;
    if (!tape->device->failed) tape->device->gnn->node_blend_backward(tape->device, a);
}

Tensor *node_blend(Tape *tape, const NodeBlendCall *call) {
    Tensor *inputs[] = {call->u, call->z, call->x_group, call->x_other};
    TAPE_CHECK_EQ(tape, call->u->rows, call->edges.others);
    TAPE_CHECK_EQ(tape, call->u->cols, element_motion_width(&call->motion));
    TAPE_CHECK_EQ(tape, call->z->rows * call->z->cols, edge_rows(&call->edges));
    CHECK(!call->motion.gain || (call->v_other && call->spin_other));
    Tensor *out = tape_tensor(tape, call->edges.groups, 3 + call->motion.features, tape_wants(tape, 4, inputs));
    NodeBlendNode *node = tape_context(tape, sizeof *node);
    if (!node) return out;
    *node = (NodeBlendNode){{.edges = call->edges,
                             .motion = call->motion,
                             .u = call->u->value,
                             .z = call->z->value,
                             .logit = call->logit,
                             .x_group = call->x_group->value,
                             .x_other = call->x_other->value,
                             .v_other = call->v_other,
                             .spin_other = call->spin_other,
                             .out = out->value},
                            *call,
                            out};
    tape->device->gnn->node_blend_forward(tape->device, &node->args);
    if (out->wants_grad) tape_record(tape, node_blend_backward_node, node);
    return out;
}
