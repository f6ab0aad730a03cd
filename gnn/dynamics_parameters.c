// SPDX-License-Identifier: Apache-2.0
// The weights of the dynamics, with the names and in the order of docs/model.md.
#include "gnn/dynamics.h"

#include <stdio.h>
#include <stdlib.h>

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

static void add_first_parts(Parameters *set, const char *name, size_t sender, size_t receiver, size_t edge, size_t C,
                            NetworkParameters *p) {
    size_t fan_in = sender + receiver + edge;
    if (sender) p->sender = matrix(set, name, "sender", sender, C, fan_in);
    if (receiver) p->receiver = matrix(set, name, "receiver", receiver, C, fan_in);
    if (edge) p->edge = matrix(set, name, "edge", edge, C, fan_in);
}

static void add_message(Parameters *set, const char *name, size_t sender, size_t receiver, size_t edge, size_t C,
                        NetworkParameters *p) {
    add_first_parts(set, name, sender, receiver, edge, C, p);
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

// act(h W0 + b0) W1 + b1, and the weight network of 32 hidden units.
static void add_node_decode(Parameters *set, const GnnConfig *c, size_t gain, Dynamics *d) {
    enum { WEIGHT_HIDDEN = 32 };
    size_t C = c->C, S = gnn_input_width(c), out = 3 + (c->rotation ? 3 : 0) + gain + gnn_feature_outputs(c);
    NetworkParameters *node = &d->decode_node, *weight = &d->decode_weight;
    node->weight0 = matrix(set, "gnn.decode.node", "weight0", C, C, C);
    node->bias0 = vector(set, "gnn.decode.node", "bias0", C, INIT_ZERO);
    node->weight1 = matrix(set, "gnn.decode.node", "weight1", C, out, 0);
    node->bias1 = vector(set, "gnn.decode.node", "bias1", out, INIT_ZERO);
    add_first_parts(set, "gnn.decode.weight", C, S, 4, WEIGHT_HIDDEN, weight);
    // fan_in counts the whole first layer, which add_first_parts has declared
    weight->bias0 = vector(set, "gnn.decode.weight", "bias0", WEIGHT_HIDDEN, INIT_ZERO);
    weight->weight1 = matrix(set, "gnn.decode.weight", "weight1", WEIGHT_HIDDEN, 1, 0);
}

static void add_parameters(Parameters *set, const GnnConfig *c, Dynamics *d) {
    size_t C = c->C, S = gnn_input_width(c), gain = gnn_has_velocity(c) ? 1 : 0;
    char name[PARAMETER_NAME_SIZE];
    add_message(set, "gnn.encode.edge", S, 0, 4, C, &d->encode_edge);
    if (c->graph == GRAPH_FLAT) add_update(set, "gnn.encode.node", S + 3 * gain + C, C, &d->encode_node);
    else add_update(set, "gnn.encode.node", c->T * C + c->T + gnn_node_inputs(c), C, &d->encode_node);
    add_update(set, "gnn.edge", gnn_has_node_velocity(c) ? 7 : 4, C, &d->edge);
    for (size_t l = 0; l < c->L; l++) {
        snprintf(name, sizeof name, "gnn.round%zu.edge", l);
        add_message(set, name, C, C, C, C, &d->rounds[l].edge);
        snprintf(name, sizeof name, "gnn.round%zu.node", l);
        add_update(set, name, 2 * C, C, &d->rounds[l].node);
    }
    size_t out = 3 + gain + gnn_feature_outputs(c);
    if (c->graph == GRAPH_FLAT) {
        add_output(set, "gnn.decode.node", C, C, out, &d->decode_node);
    } else if (c->decode == DECODE_PARTICLE) {
        add_message(set, "gnn.decode.edge", C, S, 4, C, &d->decode_edge);
        add_output(set, "gnn.decode.node", S + C, C, out, &d->decode_node);
    } else {
        add_node_decode(set, c, gain, d);
    }
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
