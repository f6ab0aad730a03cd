// SPDX-License-Identifier: Apache-2.0
#include "gnn/dynamics.h"

#include "gnn/advance.h"
#include "gnn/backend.h"
#include "gnn/edge_geometry.h"
#include "gnn/message.h"
#include "nn/backend.h"
#include "nn/columns.h"
#include "nn/linear.h"
#include "nn/rows.h"

#include <stdio.h>
#include <stdlib.h>

// ---- weights, with the names and in the order of docs/model.md

static Tensor *matrix(Parameters *set, const char *name, const char *part, size_t in, size_t out, size_t fan_in) {
    return parameters_add(set, fan_in ? INIT_UNIFORM : INIT_ZERO, (double)fan_in, 2, (size_t[]){in, out}, "%s.%s", name,
                          part);
}

static Tensor *vector(Parameters *set, const char *name, const char *part, size_t size, ParameterInit init) {
    return parameters_add(set, init, 0, 1, &size, "%s.%s", name, part);
}

// Layers after the first of a message, update or MLP. `zero_last`: the last layer starts at zero.
static void add_later_layers(Parameters *set, const char *name, size_t C, size_t out, bool norm, bool zero_last,
                             NetworkParameters *p) {
    p->bias0 = vector(set, name, "bias0", C, INIT_ZERO);
    p->weight1 = matrix(set, name, "weight1", C, C, C);
    p->bias1 = vector(set, name, "bias1", C, INIT_ZERO);
    p->weight2 = matrix(set, name, "weight2", C, out, zero_last ? 0 : C);
    p->bias2 = vector(set, name, "bias2", out, INIT_ZERO);
    if (!norm) return;
    p->gain = vector(set, name, "gain", out, INIT_ONE);
    p->offset = vector(set, name, "offset", out, INIT_ZERO);
}

static void add_message(Parameters *set, const char *name, size_t sender, size_t receiver, size_t edge, size_t C,
                        NetworkParameters *p) {
    size_t fan_in = sender + receiver + edge;
    p->sender = matrix(set, name, "sender", sender, C, fan_in);
    if (receiver) p->receiver = matrix(set, name, "receiver", receiver, C, fan_in);
    p->edge = matrix(set, name, "edge", edge, C, fan_in);
    add_later_layers(set, name, C, C, true, false, p);
}

static void add_update(Parameters *set, const char *name, size_t in, size_t C, NetworkParameters *p) {
    p->weight0 = matrix(set, name, "weight0", in, C, in);
    add_later_layers(set, name, C, C, true, false, p);
}

static void add_output(Parameters *set, const char *name, size_t in, size_t C, size_t out, NetworkParameters *p) {
    p->weight0 = matrix(set, name, "weight0", in, C, in);
    add_later_layers(set, name, C, out, false, true, p);
}

static void add_parameters(Parameters *set, const GnnConfig *c, Dynamics *d) {
    size_t C = c->C, S = gnn_input_width(c), out = 3 + gnn_feature_outputs(c);
    char name[PARAMETER_NAME_SIZE];
    add_message(set, "gnn.encode.edge", S, 0, EDGE_GEOMETRY, C, &d->encode_edge);
    add_update(set, "gnn.encode.node", c->graph == GRAPH_FLAT ? S + C : c->T * C + c->T, C, &d->encode_node);
    add_update(set, "gnn.edge", EDGE_GEOMETRY, C, &d->edge);
    for (size_t l = 0; l < c->L; l++) {
        snprintf(name, sizeof name, "gnn.round%zu.edge", l);
        add_message(set, name, C, C, C, C, &d->rounds[l].edge);
        snprintf(name, sizeof name, "gnn.round%zu.node", l);
        add_update(set, name, 2 * C, C, &d->rounds[l].node);
    }
    if (c->graph == GRAPH_HIERARCHICAL) add_message(set, "gnn.decode.edge", C, S, EDGE_GEOMETRY, C, &d->decode_edge);
    add_output(set, "gnn.decode.node", c->graph == GRAPH_FLAT ? C : S + C, C, out, &d->decode_node);
}

Status dynamics_create(Parameters *parameters, const GnnConfig *config, Dynamics **out, Error *err) {
    *out = NULL;
    if (config->T < 1 || config->T > GNN_MAX_SETS)
        return error_set(err, STATUS_BAD_INPUT, "model.T: %zu input time steps; 1 to %d are possible", config->T,
                         (int)GNN_MAX_SETS);
    Dynamics *d = calloc(1, sizeof *d);
    RoundParameters *rounds = calloc(config->L + 1, sizeof *rounds);
    if (!d || !rounds) {
        free(d);
        free(rounds);
        return error_set(err, STATUS_FAILED, "out of memory for the dynamics");
    }
    d->config = *config;
    d->rounds = rounds;
    if (config->graph == GRAPH_HIERARCHICAL || config->graph == GRAPH_FLAT) add_parameters(parameters, config, d);
    *out = d;
    return STATUS_OK;
}

void dynamics_free(Dynamics *dynamics) {
    if (!dynamics) return;
    free(dynamics->rounds);
    free(dynamics);
}

// ---- one step

// State of one step.
typedef struct Step {
    Tape *tape;
    const Dynamics *d;
    const GnnConfig *c;
    const GnnPlan *plan;
    const GnnSets *sets;
    const GnnSet *present;
    Tensor *x_nodes;                                                       // (M,3)
    Tensor *to_node[GNN_MAX_SETS], *to_particle, *from_past, *among_nodes; // geometry of the plan's edges
} Step;

// The states of nodes, and their products with the weights of senders and receivers in the next message.
typedef struct Nodes {
    Tensor *h, *sent, *received; // (M,C)
} Nodes;

static MessageCall call_of(const Step *s, const NetworkParameters *p, GnnEdges edges) {
    return (MessageCall){.edges = edges,
                         .layers = {p->bias0, p->weight1, p->bias1, p->weight2, p->bias2, p->gain, p->offset},
                         .keep = s->c->keep ? KEEP_HIDDEN : KEEP_NOTHING};
}

// s_i = [f_i, onehot_T(t)] of set t, from row 0 of a weight.
static void add_input(const Step *s, MessageCall *call, size_t t, Tensor *weight) {
    Tensor *f = s->sets->set[t].f;
    message_add_term(call, TERM_GROUP, f, weight, 0);
    message_add_term(call, TERM_GROUP, tape_constant_at(s->tape, f->rows, s->c->T, s->plan->mark[t]), weight, s->c->D);
}

static Tensor *geometry(const Step *s, GnnEdges edges, bool group_receives, Tensor *x_group, Tensor *x_other) {
    EdgeGeometryCall call = {.edges = edges,
                             .group_receives = group_receives,
                             .x_group = x_group,
                             .x_other = x_other,
                             .ell = (real)s->c->length_scale};
    return edge_geometry(s->tape, &call);
}

// States that go into round `round`, or into the decoder after the last.
static Nodes make_nodes(const Step *s, MessageCall *call, size_t round) {
    const NetworkParameters *next = round < s->c->L ? &s->d->rounds[round].edge : &s->d->decode_edge;
    call->wants_rows = true;
    call->product[0] = next->sender; // NULL: no message comes next
    call->product[1] = round < s->c->L ? next->receiver : NULL;
    MessageOutput output = message(s->tape, call);
    return (Nodes){output.rows, output.product[0], output.product[1]};
}

// Geometry comes before all messages: a GPU does those in few launches where nothing else comes between them.
static void find_geometry(Step *s) {
    const GnnPlan *plan = s->plan;
    const GnnSet *set = s->sets->set;
    size_t sets = s->sets->count;
    if (s->c->graph == GRAPH_FLAT) {
        if (sets > 1) s->from_past = geometry(s, plan->past, true, s->present->x, set[sets - 2].x);
    } else {
        for (size_t t = 0; t < sets; t++) s->to_node[t] = geometry(s, plan->to_node[t], false, set[t].x, s->x_nodes);
        s->to_particle = geometry(s, plan->to_particle, true, s->present->x, s->x_nodes);
    }
    if (s->c->L > 0) s->among_nodes = geometry(s, plan->node_node, true, s->x_nodes, s->x_nodes);
}

// agg_a = mean over the edges of set t into node a of message(sender s_i, edge g_ia)
static Tensor *encode_set(const Step *s, size_t t) {
    const NetworkParameters *p = &s->d->encode_edge;
    GnnEdges edges = s->plan->to_node[t];
    MessageCall call = call_of(s, p, edges);
    add_input(s, &call, t, p->sender);
    message_add_term(&call, TERM_ROW, s->to_node[t], p->edge, 0);
    call.mean = MEAN_OTHER;
    return message(s->tape, &call).mean;
}

// h_a = update([agg_a^0 .. agg_a^{T-1}, log(1+n_a^0) .. log(1+n_a^{T-1})])
static Nodes encode(const Step *s) {
    const NetworkParameters *p = &s->d->encode_node;
    size_t T = s->sets->count, M = s->plan->nodes, C = s->c->C;
    MessageCall call = call_of(s, p, edges_of_rows(M));
    for (size_t t = 0; t < T; t++) message_add_term(&call, TERM_ROW, encode_set(s, t), p->weight0, t * C);
    message_add_term(&call, TERM_ROW, tape_constant_at(s->tape, M, T, s->plan->log_count), p->weight0, T * C);
    return make_nodes(s, &call, 0);
}

// e_ab = update(g_ab)
static Tensor *encode_edges(const Step *s) {
    const NetworkParameters *p = &s->d->edge;
    GnnEdges edges = s->plan->node_node;
    MessageCall call = call_of(s, p, edges_of_rows(edge_rows(&edges)));
    message_add_term(&call, TERM_ROW, s->among_nodes, p->weight0, 0);
    call.wants_rows = true;
    return message(s->tape, &call).rows;
}

// e_ab = e_ab + message(sender h_a, receiver h_b, edge e_ab);  h_b = h_b + update([h_b, mean over edges into b of
// e_ab])
static Nodes one_round(const Step *s, size_t round, Nodes nodes, Tensor **e) {
    const RoundParameters *p = &s->d->rounds[round];
    bool last = round + 1 == s->c->L;
    MessageCall edge = call_of(s, &p->edge, s->plan->node_node);
    message_add_term(&edge, TERM_OTHER, nodes.sent, NULL, 0);
    message_add_term(&edge, TERM_GROUP, nodes.received, NULL, 0);
    message_add_term(&edge, TERM_ROW, *e, p->edge.edge, 0);
    edge.residual = *e;
    edge.mean = MEAN_GROUP;
    edge.wants_rows = !last;
    MessageOutput next = message(s->tape, &edge);
    *e = next.rows;

    MessageCall node = call_of(s, &p->node, edges_of_rows(nodes.h->rows));
    message_add_term(&node, TERM_ROW, nodes.h, p->node.weight0, 0);
    message_add_term(&node, TERM_ROW, next.mean, p->node.weight0, s->c->C);
    node.residual = nodes.h;
    return make_nodes(s, &node, round + 1);
}

static Nodes rounds(const Step *s, Nodes nodes) {
    if (s->c->L == 0) return nodes;
    Tensor *e = encode_edges(s);
    for (size_t l = 0; l < s->c->L; l++) nodes = one_round(s, l, nodes, &e);
    return nodes;
}

// q_ai = message(sender h_a, receiver s_i, edge g_ai);  o_i = MLP([s_i, mean_a q_ai])
static Tensor *decode_at_particles(const Step *s, Nodes nodes) {
    const NetworkParameters *p = &s->d->decode_edge;
    GnnEdges edges = s->plan->to_particle;
    size_t t = s->sets->count - 1;
    MessageCall edge = call_of(s, p, edges);
    message_add_term(&edge, TERM_OTHER, nodes.sent, NULL, 0);
    add_input(s, &edge, t, p->receiver);
    message_add_term(&edge, TERM_ROW, s->to_particle, p->edge, 0);
    edge.mean = MEAN_GROUP;
    Tensor *q = message(s->tape, &edge).mean;

    p = &s->d->decode_node;
    MessageCall node = call_of(s, p, edges_of_rows(s->present->x->rows));
    add_input(s, &node, t, p->weight0);
    message_add_term(&node, TERM_ROW, q, p->weight0, gnn_input_width(s->c));
    node.wants_rows = true;
    return message(s->tape, &node).rows;
}

// x_i += s o_i, and the change of features. o is [displacement (3), features].
static void take_step(const Step *s, Tensor *o, DynamicsOutput *out) {
    AdvanceCall call = {.x = s->present->x,
                        .f = s->present->f,
                        .o = o,
                        .scale = (real)s->c->displacement_scale,
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
    Tensor *parts[] = {past->f, tape_constant_at(s->tape, past->f->rows, s->c->T, s->plan->mark[t])};
    MessageCall call = call_of(s, p, edges);
    message_add_term(&call, TERM_OTHER, linear(s->tape, concat_columns(s->tape, 2, parts), p->sender, NULL), NULL, 0);
    message_add_term(&call, TERM_ROW, s->from_past, p->edge, 0);
    call.mean = MEAN_GROUP;
    return message(s->tape, &call).mean;
}

// Flat: h_i = update([s_i, mean of past messages]); without a past set its part is zero.
static Nodes encode_flat(const Step *s) {
    const NetworkParameters *p = &s->d->encode_node;
    size_t N = s->plan->particles, t = s->sets->count - 1;
    MessageCall call = call_of(s, p, edges_of_rows(N));
    add_input(s, &call, t, p->weight0);
    if (t > 0) message_add_term(&call, TERM_ROW, encode_past(s, t - 1), p->weight0, gnn_input_width(s->c));
    return make_nodes(s, &call, 0);
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
    if (c->graph == GRAPH_NONE || tape->device->failed) {
        nothing_moves(tape, s.present, out);
        return;
    }
    if (c->graph == GRAPH_FLAT) {
        s.x_nodes = s.present->x;
        find_geometry(&s);
        out->h = rounds(&s, encode_flat(&s)).h;
        take_step(&s, decode_flat(&s, out->h), out);
        return;
    }
    s.x_nodes = gather_distinct_rows(tape, s.present->x, plan->nodes, plan->node);
    find_geometry(&s);
    Nodes nodes = rounds(&s, encode(&s));
    out->h = nodes.h;
    take_step(&s, decode_at_particles(&s, nodes), out);
}

void dynamics_spread(Device *device, const Tensor *h, real *spread) {
    if (!device->failed) device->gnn->plan_spread(device, &(PlanSpreadArgs){h->rows, h->cols, h->value, spread});
}
