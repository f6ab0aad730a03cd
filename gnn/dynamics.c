// SPDX-License-Identifier: Apache-2.0
#include "gnn/dynamics.h"

#include "base/check.h"
#include "gnn/advance.h"
#include "gnn/backend.h"
#include "gnn/edge_geometry.h"
#include "gnn/message.h"
#include "gnn/node_blend.h"
#include "gnn/plan_ops.h"
#include "nn/backend.h"
#include "nn/columns.h"
#include "nn/combine.h"
#include "nn/linear.h"
#include "nn/rows.h"

// State of one step.
typedef struct Step {
    Tape *tape;
    const Dynamics *d;
    const GnnConfig *c;
    const GnnPlan *plan;
    const GnnSets *sets;
    const GnnSet *present;
    Tensor *x_nodes; // (M,3)
} Step;

static MessageCall call_of(const Step *s, const NetworkParameters *p, GnnEdges edges) {
    return (MessageCall){.edges = edges,
                         .layers = {p->bias0, p->weight1, p->bias1, p->weight2, p->bias2, p->gain, p->offset},
                         .keep = s->c->keep ? KEEP_HIDDEN : KEEP_NOTHING};
}

// A value without gradient as a tensor; the plan owns it.
static Tensor *constant(const Step *s, const real *value, size_t rows, size_t cols) {
    Tensor *tensor = tape_context(s->tape, sizeof *tensor);
    if (!tensor) return tape_tensor(s->tape, rows, cols, false);
    *tensor = (Tensor){.value = (real *)value, .rows = rows, .cols = cols};
    return tensor;
}

// s_i = [f_i, onehot_T(t), m_i] of set t, from row `row` of a weight; returns the next row.
static size_t add_input(const Step *s, MessageCall *call, size_t t, Tensor *weight, size_t row) {
    Tensor *f = s->sets->set[t].f;
    size_t marks = gnn_input_width(s->c) - s->c->D;
    message_add_term(call, TERM_GROUP, f, weight, row);
    message_add_term(call, TERM_GROUP, constant(s, s->plan->mark[t], f->rows, marks), weight, row + s->c->D);
    return row + s->c->D + marks;
}

static Tensor *geometry(const Step *s, GnnEdges edges, bool group_receives, Tensor *x_group, Tensor *x_other,
                        const real *velocity) {
    EdgeGeometryCall call = {.edges = edges,
                             .group_receives = group_receives,
                             .x_group = x_group,
                             .x_other = x_other,
                             .v_group = velocity,
                             .v_other = velocity,
                             .ell = (real)s->c->length_scale,
                             .s = (real)s->c->displacement_scale};
    return edge_geometry(s->tape, &call);
}

// agg_a = mean over the edges of set t into node a of message(sender s_i, edge g_ia)
static Tensor *encode_set(const Step *s, size_t t) {
    const NetworkParameters *p = &s->d->encode_edge;
    GnnEdges edges = s->plan->to_node[t];
    MessageCall call = call_of(s, p, edges);
    add_input(s, &call, t, p->sender, 0);
    message_add_term(&call, TERM_ROW, geometry(s, edges, false, s->sets->set[t].x, s->x_nodes, NULL), p->edge, 0);
    call.mean = MEAN_OTHER;
    return message(s->tape, &call).mean;
}

// h_a = update([agg_a^0 .. agg_a^{T-1}, log(1+n_a^0) .. log(1+n_a^{T-1}), extra_a, gap_a, spin_a ell/s])
static Tensor *encode(const Step *s) {
    const NetworkParameters *p = &s->d->encode_node;
    size_t T = s->sets->count, M = s->plan->nodes, C = s->c->C;
    MessageCall call = call_of(s, p, edges_of_rows(M));
    for (size_t t = 0; t < T; t++) message_add_term(&call, TERM_ROW, encode_set(s, t), p->weight0, t * C);
    message_add_term(&call, TERM_ROW, constant(s, s->plan->log_count, M, T), p->weight0, T * C);
    size_t row = T * C + T;
    if (s->plan->extra) message_add_term(&call, TERM_ROW, constant(s, s->plan->extra, M, GNN_EXTRAS), p->weight0, row);
    row += s->c->node_extras ? GNN_EXTRAS : 0;
    if (s->plan->gap)
        message_add_term(&call, TERM_ROW, constant(s, s->plan->gap, M, gnn_gap_width(s->c)), p->weight0, row);
    row += gnn_gap_width(s->c);
    if (s->plan->node_spin) {
        real scale = (real)(s->c->length_scale / s->c->displacement_scale);
        message_add_term(&call, TERM_ROW, tensor_scale(s->tape, constant(s, s->plan->node_spin, M, GNN_SPIN), scale),
                         p->weight0, row);
    }
    call.wants_rows = true;
    return message(s->tape, &call).rows;
}

// e_ab = update(g_ab)
static Tensor *encode_edges(const Step *s) {
    const NetworkParameters *p = &s->d->edge;
    GnnEdges edges = s->plan->node_node;
    Tensor *g = geometry(s, edges, true, s->x_nodes, s->x_nodes, s->plan->node_velocity);
    MessageCall call = call_of(s, p, edges_of_rows(edge_rows(&edges)));
    message_add_term(&call, TERM_ROW, g, p->weight0, 0);
    call.wants_rows = true;
    return message(s->tape, &call).rows;
}

// e_ab = e_ab + message(sender h_a, receiver h_b, edge e_ab);  h_b = h_b + update([h_b, mean over edges into b of
// e_ab])
static Tensor *one_round(const Step *s, const RoundParameters *p, Tensor *h, Tensor **e, bool last) {
    MessageCall edge = call_of(s, &p->edge, s->plan->node_node);
    message_add_term(&edge, TERM_OTHER, linear(s->tape, h, p->edge.sender, NULL), NULL, 0);
    message_add_term(&edge, TERM_GROUP, h, p->edge.receiver, 0);
    message_add_term(&edge, TERM_ROW, *e, p->edge.edge, 0);
    edge.residual = *e;
    edge.mean = MEAN_GROUP;
    edge.wants_rows = !last;
    MessageOutput next = message(s->tape, &edge);
    *e = next.rows;

    MessageCall node = call_of(s, &p->node, edges_of_rows(h->rows));
    message_add_term(&node, TERM_ROW, h, p->node.weight0, 0);
    message_add_term(&node, TERM_ROW, next.mean, p->node.weight0, s->c->C);
    node.residual = h;
    node.wants_rows = true;
    return message(s->tape, &node).rows;
}

static Tensor *rounds(const Step *s, Tensor *h) {
    if (s->c->L == 0) return h;
    Tensor *e = encode_edges(s);
    for (size_t l = 0; l < s->c->L; l++) h = one_round(s, &s->d->rounds[l], h, &e, l + 1 == s->c->L);
    return h;
}

// q_ai = message(sender h_a, receiver s_i, edge g_ai);  o_i = MLP([s_i, mean_a q_ai])
static Tensor *decode_at_particles(const Step *s, Tensor *h) {
    const NetworkParameters *p = &s->d->decode_edge;
    GnnEdges edges = s->plan->to_particle;
    size_t t = s->sets->count - 1;
    MessageCall edge = call_of(s, p, edges);
    message_add_term(&edge, TERM_OTHER, linear(s->tape, h, p->sender, NULL), NULL, 0);
    add_input(s, &edge, t, p->receiver, 0);
    message_add_term(&edge, TERM_ROW, geometry(s, edges, true, s->present->x, s->x_nodes, NULL), p->edge, 0);
    edge.mean = MEAN_GROUP;
    Tensor *q = message(s->tape, &edge).mean;

    p = &s->d->decode_node;
    MessageCall node = call_of(s, p, edges_of_rows(s->present->x->rows));
    size_t row = add_input(s, &node, t, p->weight0, 0);
    message_add_term(&node, TERM_ROW, q, p->weight0, row);
    node.wants_rows = true;
    return message(s->tape, &node).rows;
}

// u_a = act(h_a W0 + b0) W1 + b1
static Tensor *decode_node_outputs(const Step *s, Tensor *h) {
    const NetworkParameters *p = &s->d->decode_node;
    MessageCall call = call_of(s, p, edges_of_rows(h->rows));
    message_add_term(&call, TERM_ROW, h, p->weight0, 0);
    call.wants_rows = true;
    return message(s->tape, &call).rows;
}

// z_ia = act(h_a W_s + s_i W_r + g_ai W_e + b0) w1
static Tensor *decode_weights(const Step *s, Tensor *h) {
    const NetworkParameters *p = &s->d->decode_weight;
    GnnEdges edges = s->plan->to_particle;
    MessageCall call = call_of(s, p, edges);
    call.keep = KEEP_NOTHING; // narrow: recomputing is cheaper than reading
    message_add_term(&call, TERM_OTHER, linear(s->tape, h, p->sender, NULL), NULL, 0);
    add_input(s, &call, s->sets->count - 1, p->receiver, 0);
    message_add_term(&call, TERM_ROW, geometry(s, edges, true, s->present->x, s->x_nodes, NULL), p->edge, 0);
    call.wants_rows = true;
    return message(s->tape, &call).rows;
}

// dx_i = sum_a w_ia [ s (t_a + omega_a x (x_i - x_a)/ell) + (1 + gain_a) (v_a + spin_a x (x_i - x_a)) ],
// w_ia = softmax over the nodes of [-d^2/(2 wd^2) + z_ia]
static Tensor *decode_at_nodes(const Step *s, Tensor *h) {
    NodeBlendCall call = {.edges = s->plan->to_particle,
                          .motion = {.rotation = s->c->rotation,
                                     .gain = gnn_has_node_velocity(s->c),
                                     .features = gnn_feature_outputs(s->c),
                                     .s = (real)s->c->displacement_scale,
                                     .inverse_ell = (real)(1 / s->c->length_scale)},
                          .u = decode_node_outputs(s, h),
                          .z = decode_weights(s, h),
                          .x_group = s->present->x,
                          .x_other = s->x_nodes,
                          .logit = s->plan->logit,
                          .v_other = s->plan->node_velocity,
                          .spin_other = s->plan->node_spin};
    return node_blend(s->tape, &call);
}

// x_i += dx_i, and the change of features. o is [dx or its parts (3), gain (1), features].
static void take_step(const Step *s, Tensor *o, real scale, const real *velocity, DynamicsOutput *out) {
    AdvanceCall call = {.x = s->present->x,
                        .f = s->present->f,
                        .o = o,
                        .velocity = velocity,
                        .scale = scale,
                        .change = (real)s->c->feature_change,
                        .f_first = s->c->carry_rgb ? 3 : 0};
    AdvanceOutput next = advance(s->tape, &call);
    out->dx = next.dx;
    out->x = next.x;
    out->f = next.f;
}

// Flat: the mean over the nearest past particles of message(sender s_j, edge g_ji).
static Tensor *encode_past(const Step *s, size_t t) {
    const NetworkParameters *p = &s->d->encode_edge;
    const GnnSet *past = &s->sets->set[t];
    GnnEdges edges = s->plan->past;
    size_t marks = gnn_input_width(s->c) - s->c->D;
    Tensor *parts[] = {past->f, constant(s, s->plan->mark[t], past->f->rows, marks)};
    MessageCall call = call_of(s, p, edges);
    message_add_term(&call, TERM_OTHER, linear(s->tape, concat_columns(s->tape, 2, parts), p->sender, NULL), NULL, 0);
    message_add_term(&call, TERM_ROW, geometry(s, edges, true, s->present->x, past->x, NULL), p->edge, 0);
    call.mean = MEAN_GROUP;
    return message(s->tape, &call).mean;
}

// Flat: h_i = update([s_i, v_i/s, mean of past messages]); without a past set its part is zero.
static Tensor *encode_flat(const Step *s) {
    const NetworkParameters *p = &s->d->encode_node;
    size_t N = s->plan->particles, t = s->sets->count - 1;
    MessageCall call = call_of(s, p, edges_of_rows(N));
    size_t row = add_input(s, &call, t, p->weight0, 0);
    if (s->plan->particle_velocity) {
        Tensor *v = constant(s, s->plan->particle_velocity, N, 3);
        message_add_term(&call, TERM_ROW, tensor_scale(s->tape, v, (real)(1 / s->c->displacement_scale)), p->weight0,
                         row);
        row += 3;
    }
    if (t > 0) message_add_term(&call, TERM_ROW, encode_past(s, t - 1), p->weight0, row);
    call.wants_rows = true;
    return message(s->tape, &call).rows;
}

// o_i = MLP([h_i])
static Tensor *decode_flat(const Step *s, Tensor *h) {
    const NetworkParameters *p = &s->d->decode_node;
    MessageCall call = call_of(s, p, edges_of_rows(h->rows));
    message_add_term(&call, TERM_ROW, h, p->weight0, 0);
    call.wants_rows = true;
    return message(s->tape, &call).rows;
}

static void nothing_moves(Tape *tape, const GnnSet *present, DynamicsOutput *out) {
    *out = (DynamicsOutput){.dx = tape_tensor(tape, present->x->rows, 3, false), .x = present->x, .f = present->f};
    if (!tape->device->failed)
        tape->device->nn->zero(tape->device, out->dx->value, present->x->rows * 3 * sizeof(real));
}

void dynamics_step(Tape *tape, const Dynamics *d, const GnnPlan *plan, const GnnSets *sets, DynamicsOutput *out) {
    const GnnConfig *c = &d->config;
    Step s = {.tape = tape, .d = d, .c = c, .plan = plan, .sets = sets, .present = &sets->set[sets->count - 1]};
    real scale = (real)c->displacement_scale;
    if (c->graph == GRAPH_NONE || tape->device->failed) {
        nothing_moves(tape, s.present, out);
        return;
    }
    if (c->graph == GRAPH_FLAT) {
        s.x_nodes = s.present->x;
        out->h = rounds(&s, encode_flat(&s));
        take_step(&s, decode_flat(&s, out->h), scale, plan->particle_velocity, out);
        return;
    }
    s.x_nodes = gather_rows(tape, s.present->x, plan->nodes, plan->node);
    out->h = rounds(&s, encode(&s));
    if (c->decode == DECODE_PARTICLE) take_step(&s, decode_at_particles(&s, out->h), scale, NULL, out);
    else take_step(&s, decode_at_nodes(&s, out->h), 1, NULL, out);
}

void dynamics_spread(Device *device, const Tensor *h, real *spread) {
    if (!device->failed) device->gnn->plan_spread(device, &(PlanSpreadArgs){h->rows, h->cols, h->value, spread});
}
