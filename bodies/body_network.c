// SPDX-License-Identifier: Apache-2.0
#include "bodies/body_network.h"

#include "base/check.h"
#include "nn/linear.h"
#include "nn/rows.h"

#include <stdio.h>

static Tensor *matrix(Parameters *set, const char *name, const char *part, size_t in, size_t out, size_t fan_in) {
    if (!in) return NULL;
    return parameters_add(set, fan_in ? INIT_UNIFORM : INIT_ZERO, (double)fan_in, 2, (size_t[]){in, out},
                          "bodies.%s.%s", name, part);
}

static Tensor *vector(Parameters *set, const char *name, const char *part, size_t size, ParameterInit init) {
    return parameters_add(set, init, 0, 1, &size, "bodies.%s.%s", name, part);
}

// Widths of the parts of a first layer; 0: there is none.
typedef struct Widths {
    size_t sender, receiver, edge, heard;
} Widths;

// act(parts) W1 + b1, and a layer norm; the output's W1 begins at zero and has no norm.
static void add_mlp(Parameters *set, const char *name, Widths w, size_t C, bool is_output, BodyMlp *out) {
    size_t fan_in = w.sender + w.receiver + w.edge + w.heard, width = is_output ? 3 : C;
    *out = (BodyMlp){.sender = matrix(set, name, "sender", w.sender, C, fan_in),
                     .receiver = matrix(set, name, "receiver", w.receiver, C, fan_in),
                     .edge = matrix(set, name, "edge", w.edge, C, fan_in),
                     .heard = matrix(set, name, "heard", w.heard, C, fan_in),
                     .bias0 = vector(set, name, "bias0", C, INIT_ZERO),
                     .weight1 = matrix(set, name, "weight1", C, width, is_output ? 0 : C),
                     .bias1 = vector(set, name, "bias1", width, INIT_ZERO)};
    if (is_output) return;
    out->gain = vector(set, name, "gain", C, INIT_ONE);
    out->offset = vector(set, name, "offset", C, INIT_ZERO);
}

static void add_round(Parameters *set, size_t C, size_t l, BodyRound *round) {
    char name[32];
    snprintf(name, sizeof name, "round%zu.contact", l);
    add_mlp(set, name, (Widths){.sender = C, .receiver = C, .edge = C}, C, false, &round->contact);
    snprintf(name, sizeof name, "round%zu.pool", l);
    add_mlp(set, name, (Widths){.receiver = C}, C, false, &round->pool);
    snprintf(name, sizeof name, "round%zu.token", l);
    add_mlp(set, name, (Widths){.receiver = C}, C, false, &round->token);
    snprintf(name, sizeof name, "round%zu.node", l);
    add_mlp(set, name, (Widths){.sender = C, .receiver = C, .heard = C}, C, false, &round->node);
}

void body_network_create(Parameters *set, size_t C, size_t L, BodyNetwork *n) {
    CHECK(L <= BODY_MAX_ROUNDS);
    *n = (BodyNetwork){.C = C, .L = L};
    add_mlp(set, "node", (Widths){.receiver = BODY_FEATURES}, C, false, &n->node);
    add_mlp(set, "pair", (Widths){.receiver = BODY_GEOMETRY}, C, false, &n->pair);
    for (size_t l = 0; l < L; l++) add_round(set, C, l, &n->round[l]);
    add_mlp(set, "output", (Widths){.receiver = C}, C, true, &n->output);
    parameters_use_muon(set, "bodies.");
}

static MessageCall call_of(const BodyMlp *p, GnnEdges edges) {
    return (MessageCall){
        .edges = edges,
        .layers = {.bias0 = p->bias0, .weight1 = p->weight1, .bias1 = p->bias1, .gain = p->gain, .offset = p->offset},
        .keep = KEEP_HIDDEN};
}

// The MLP of each row of x.
static Tensor *each_row(Tape *tape, const BodyMlp *p, Tensor *x) {
    MessageCall call = call_of(p, edges_of_rows(x->rows));
    message_add_term(&call, TERM_ROW, x, p->receiver, 0);
    call.wants_rows = true;
    return message(tape, &call).rows;
}

// One run of the network.
typedef struct Run {
    Tape *tape;
    GnnEdges contacts, to_body; // rows: pairs, with the hearer as the other end; nodes, with their body
    const int32_t *heard;       // (pairs)
    Tensor *pairs;              // (pairs, C), or NULL: there are none
} Run;

// Mean over the contacts of message(sender h_j, receiver h_i, pair). Few nodes have any.
static Tensor *hear_contacts(const Run *r, const BodyMlp *p, Tensor *h) {
    size_t pairs = r->contacts.groups;
    MessageCall call = call_of(p, r->contacts);
    message_add_term(&call, TERM_ROW, gather_rows(r->tape, h, pairs, r->heard), p->sender, 0);
    message_add_term(&call, TERM_ROW, gather_rows(r->tape, h, pairs, r->contacts.index), p->receiver, 0);
    message_add_term(&call, TERM_ROW, r->pairs, p->edge, 0);
    call.mean = MEAN_OTHER;
    return message(r->tape, &call).mean;
}

// (bodies, C): the token of each body, from the mean over its nodes.
static Tensor *pool(const Run *r, const BodyRound *round, Tensor *h) {
    MessageCall call = call_of(&round->pool, r->to_body);
    message_add_term(&call, TERM_GROUP, h, round->pool.receiver, 0);
    call.mean = MEAN_OTHER;
    return each_row(r->tape, &round->token, message(r->tape, &call).mean);
}

static Tensor *one_round(const Run *r, const BodyRound *round, Tensor *h) {
    Tensor *heard = r->pairs ? hear_contacts(r, &round->contact, h) : NULL, *token = pool(r, round, h);
    MessageCall call = call_of(&round->node, r->to_body);
    message_add_term(&call, TERM_OTHER, linear(r->tape, token, round->node.sender, NULL), NULL, 0);
    message_add_term(&call, TERM_GROUP, h, round->node.receiver, 0);
    if (heard) message_add_term(&call, TERM_GROUP, heard, round->node.heard, 0);
    call.residual = h;
    call.wants_rows = true;
    return message(r->tape, &call).rows;
}

Tensor *body_network_run(Tape *tape, const BodyNetwork *n, const BodySet *set, const BodyInputs *in) {
    size_t M = set->nodes, pairs = in->pairs;
    Run r = {.tape = tape,
             .contacts = {.groups = pairs,
                          .k = 1,
                          .others = M,
                          .index = tape_upload(tape, in->hearer, pairs, sizeof *in->hearer),
                          .count = tape_upload(tape, in->hears, M, sizeof *in->hears)},
             .heard = tape_upload(tape, in->heard, pairs, sizeof *in->heard),
             .to_body = {.groups = M,
                         .k = 1,
                         .others = set->bodies,
                         .index = tape_upload(tape, in->body, M, sizeof *in->body),
                         .count = tape_upload(tape, in->count, set->bodies, sizeof *in->count)}};
    edges_order(tape, 2, (GnnEdges *[]){&r.contacts, &r.to_body});
    if (pairs) r.pairs = each_row(tape, &n->pair, tape_constant(tape, pairs, BODY_GEOMETRY, in->geometry));
    Tensor *h = each_row(tape, &n->node, tape_constant(tape, M, BODY_FEATURES, in->feature));
    for (size_t l = 0; l < n->L; l++) h = one_round(&r, &n->round[l], h);
    return each_row(tape, &n->output, h);
}
