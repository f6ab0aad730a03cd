// SPDX-License-Identifier: Apache-2.0
#include "gnn/message.h"

#include "base/check.h"
#include "gnn/backend.h"
#include "nn/linear.h"

typedef struct MessageNode {
    MessageArgs args;
    MessageCall call;
    MessageOutput output;
} MessageNode;

void message_add_term(MessageCall *call, TermKind kind, Tensor *x, Tensor *weight, size_t weight_row) {
    CHECK(call->term_count < MESSAGE_MAX_TERMS);
    call->terms[call->term_count++] = (MessageTerm){kind, x, weight, weight_row};
}

// Gradient of the rows of a weight that one term uses.
static real *term_weight_grad(Tape *tape, const MessageTerm *term) {
    real *grad = tape_grad(tape, term->weight);
    return grad ? grad + term->weight_row * term->weight->cols : NULL;
}

// The residual's gradient is that of the rows plus what the terms add. If it has no gradient yet, it takes the memory
// of the rows' gradient, which is not read again.
static real *residual_grad(Tape *tape, Tensor *residual, const Tensor *rows) {
    bool alike = residual && rows && residual->wants_grad && !residual->whole && residual->stage == rows->stage;
    if (alike && !residual->grad) residual->grad = rows->grad;
    return tape_grad(tape, residual);
}

// The share of a product in the gradient of the rows is added to what they have.
static void products_backward(Tape *tape, MessageNode *node, int i) {
    MessageProductArgs *product = &node->args.product[i];
    product->dy = node->output.product[i] ? node->output.product[i]->grad : NULL;
    product->dweight = product->dy ? tape_grad(tape, node->call.product[i]) : NULL;
    if (product->dy) tape_grad(tape, node->output.rows);
}

static void message_backward_node(Tape *tape, void *context) {
    MessageNode *node = context;
    MessageArgs *a = &node->args;
    const MessageLayers *l = &node->call.layers;
    for (int i = 0; i < MESSAGE_PRODUCTS; i++) products_backward(tape, node, i);
    a->drows = node->output.rows ? node->output.rows->grad : NULL;
    a->dmean = node->output.mean ? node->output.mean->grad : NULL;
    if (!a->drows && !a->dmean) return;
    a->dresidual = residual_grad(tape, node->call.residual, node->output.rows);
    for (size_t i = 0; i < a->term_count; i++) {
        a->terms[i].dx = tape_grad(tape, node->call.terms[i].x);
        a->terms[i].dweight = term_weight_grad(tape, &node->call.terms[i]);
    }
    a->dbias0 = tape_grad(tape, l->bias0);
    a->dweight1 = tape_grad(tape, l->weight1);
    a->dbias1 = tape_grad(tape, l->bias1);
    a->dweight2 = tape_grad(tape, l->weight2);
    a->dbias2 = tape_grad(tape, l->bias2);
    a->dgain = tape_grad(tape, l->gain);
    a->doffset = tape_grad(tape, l->offset);
    if (!tape->device->failed) tape->device->gnn->message_backward(tape->device, a);
}

static size_t term_lines(const MessageCall *call, TermKind kind) {
    if (kind == TERM_ROW) return edge_rows(&call->edges);
    return kind == TERM_GROUP ? call->edges.groups : call->edges.others;
}

static void check_term(const MessageCall *call, const MessageTerm *term, size_t hidden) {
    CHECK_EQ(term->x->rows, term_lines(call, term->kind));
    CHECK_EQ(term->weight ? term->weight->cols : term->x->cols, hidden);
    if (term->weight) CHECK(term->weight_row + term->x->cols <= term->weight->rows);
    CHECK(term->kind != TERM_OTHER || (!term->weight && call->edges.index));
}

static void check_shapes(Tape *tape, const MessageCall *call, size_t hidden, size_t out) {
    const MessageLayers *l = &call->layers;
    if (tape->device->failed) return; // tensors may be invalid
    for (size_t i = 0; i < call->term_count; i++) check_term(call, &call->terms[i], hidden);
    CHECK_EQ(l->weight1->rows, hidden);
    if (l->weight2) CHECK_EQ(l->weight1->cols, hidden);
    if (l->weight2) CHECK_EQ(l->weight2->rows, hidden);
    if (call->residual) CHECK_EQ(call->residual->cols, out);
    if (call->residual) CHECK_EQ(call->residual->rows, edge_rows(&call->edges));
    for (int i = 0; i < MESSAGE_PRODUCTS; i++)
        CHECK(!call->product[i] ||
              (call->wants_rows && call->product[i]->rows == out && call->product[i]->cols == hidden));
    CHECK(call->mean != MEAN_OTHER || (call->edges.index && call->edges.count));
}

static bool wants_gradient(Tape *tape, const MessageCall *call) {
    const MessageLayers *l = &call->layers;
    Tensor *inputs[] = {l->bias0, l->weight1, l->bias1, l->weight2, l->bias2, l->gain, l->offset, call->residual};
    bool wants = tape_wants(tape, sizeof inputs / sizeof *inputs, inputs);
    wants = tape_wants(tape, MESSAGE_PRODUCTS, call->product) || wants;
    for (size_t i = 0; i < call->term_count; i++) {
        Tensor *pair[] = {call->terms[i].x, call->terms[i].weight};
        wants = tape_wants(tape, 2, pair) || wants;
    }
    return wants;
}

static const real *value_of(const Tensor *tensor) { return tensor ? tensor->value : NULL; }

static MessageArgs message_args(const MessageCall *call, size_t hidden, size_t out) {
    const MessageLayers *l = &call->layers;
    MessageArgs a = {.edges = call->edges,
                     .hidden = hidden,
                     .out = out,
                     .term_count = call->term_count,
                     .bias0 = value_of(l->bias0),
                     .weight1 = value_of(l->weight1),
                     .bias1 = value_of(l->bias1),
                     .weight2 = value_of(l->weight2),
                     .bias2 = value_of(l->bias2),
                     .gain = value_of(l->gain),
                     .offset = value_of(l->offset),
                     .residual = value_of(call->residual),
                     .mean_kind = call->mean};
    for (size_t i = 0; i < call->term_count; i++) {
        const MessageTerm *term = &call->terms[i];
        const real *weight = term->weight ? term->weight->value + term->weight_row * term->weight->cols : NULL;
        a.terms[i] =
            (MessageTermArgs){.kind = term->kind, .width = term->x->cols, .x = term->x->value, .weight = weight};
    }
    return a;
}

// Allocates memory for values that the backward pass would recompute, within the step's limit. The first layer is kept
// only if it has a wide product.
static void allocate_kept(Tape *tape, MessageArgs *a) {
    size_t rows = edge_rows(&a->edges), widest = 0;
    for (size_t i = 0; i < a->term_count; i++)
        if (a->terms[i].kind == TERM_ROW && a->terms[i].weight && a->terms[i].width > widest)
            widest = a->terms[i].width;
    if (2 * widest >= a->hidden) a->kept_a = tape_keep(tape, rows * a->hidden, sizeof(real));
    if (a->weight2) a->kept_b = tape_keep(tape, rows * a->hidden, sizeof(real));
    if (a->gain) a->kept_y = tape_keep(tape, rows * a->out, sizeof(real));
}

static MessageOutput make_output(Tape *tape, const MessageCall *call, size_t hidden, size_t out, bool wants) {
    MessageOutput output = {0};
    size_t rows = edge_rows(&call->edges);
    if (call->wants_rows) output.rows = tape_tensor(tape, rows, out, wants);
    if (call->mean != MEAN_NONE)
        output.mean = tape_tensor(tape, call->mean == MEAN_GROUP ? call->edges.groups : call->edges.others, out, wants);
    for (int i = 0; i < MESSAGE_PRODUCTS; i++)
        if (call->product[i] && tape->device->gnn->message_products)
            output.product[i] = tape_tensor(tape, rows, hidden, wants);
    return output;
}

static void run(Tape *tape, const MessageCall *call, const MessageOutput *output, size_t hidden, size_t out,
                bool wants) {
    MessageNode *node = tape_context(tape, sizeof *node);
    if (!node) return;
    *node = (MessageNode){message_args(call, hidden, out), *call, *output};
    MessageArgs *a = &node->args;
    a->rows = output->rows ? output->rows->value : NULL;
    a->mean = output->mean ? output->mean->value : NULL;
    for (int i = 0; i < MESSAGE_PRODUCTS; i++)
        if (output->product[i])
            a->product[i] = (MessageProductArgs){.weight = call->product[i]->value, .y = output->product[i]->value};
    if (wants && call->keep == KEEP_HIDDEN) allocate_kept(tape, a);
    if (tape->device->failed) return;
    tape->device->gnn->message_forward(tape->device, a);
    if (wants) tape_record(tape, message_backward_node, node);
}

MessageOutput message(Tape *tape, const MessageCall *call) {
    const MessageLayers *l = &call->layers;
    size_t hidden = l->bias0->cols, out = l->weight2 ? l->weight2->cols : l->weight1->cols;
    check_shapes(tape, call, hidden, out);
    bool wants = wants_gradient(tape, call);
    MessageOutput output = make_output(tape, call, hidden, out, wants);
    run(tape, call, &output, hidden, out, wants);
    for (int i = 0; i < MESSAGE_PRODUCTS; i++)
        if (call->product[i] && !output.product[i])
            output.product[i] = linear(tape, output.rows, call->product[i], NULL);
    return output;
}
