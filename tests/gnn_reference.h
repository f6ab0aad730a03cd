// SPDX-License-Identifier: Apache-2.0
// gnn against PyTorch's values: forward and gradients of ops, choices of nodes, whole rollout steps.
// Included by a test in float and one in double, which say how close is close.
#ifndef VPD_TESTS_GNN_REFERENCE_H
#define VPD_TESTS_GNN_REFERENCE_H

#include "gnn/dynamics.h"
#include "gnn/message.h"
#include "nn/linear.h"
#include "nn/rows.h"
#include "tests/gnn_reference_plan.h"

// Network X.* of a small case.
static NetworkParameters read_network(Bench *b, const char *prefix) {
    NetworkParameters p = {0};
    struct {
        const char *name;
        Tensor **to;
    } parts[] = {{"sender", &p.sender}, {"receiver", &p.receiver}, {"edge", &p.edge},    {"weight0", &p.weight0},
                 {"bias0", &p.bias0},   {"weight1", &p.weight1},   {"bias1", &p.bias1},  {"weight2", &p.weight2},
                 {"bias2", &p.bias2},   {"gain", &p.gain},         {"offset", &p.offset}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s.%s", prefix, parts[i].name);
        *parts[i].to = read_tensor(b, name, true);
    }
    return p;
}

static void compare_network(Bench *b, const char *prefix, const NetworkParameters *p) {
    const struct {
        const char *name;
        Tensor *tensor;
    } parts[] = {{"sender", p->sender}, {"receiver", p->receiver}, {"edge", p->edge},    {"weight0", p->weight0},
                 {"bias0", p->bias0},   {"weight1", p->weight1},   {"bias1", p->bias1},  {"weight2", p->weight2},
                 {"bias2", p->bias2},   {"gain", p->gain},         {"offset", p->offset}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s.%s", prefix, parts[i].name);
        compare_grad(b, name, parts[i].tensor);
    }
}

static MessageCall call_with(const NetworkParameters *p, GnnEdges edges, MessageKeep keep) {
    return (MessageCall){.edges = edges,
                         .layers = {p->bias0, p->weight1, p->bias1, p->weight2, p->bias2, p->gain, p->offset},
                         .wants_rows = true,
                         .keep = keep};
}

static void check_message(Reference *file, void *context) {
    Bench *b = context;
    size_t rows, unused;
    b->file = file;
    int32_t *from = read_list(b, "from", &rows), *to = read_list(b, "to", &unused);
    Tensor *sender = read_tensor(b, "sender", true), *receiver = read_tensor(b, "receiver", true),
           *edge = read_tensor(b, "edge", true);
    NetworkParameters p = read_network(b, "X");
    GnnEdges edges = {.groups = rows, .k = 1, .others = sender ? sender->rows : 0, .index = sender ? from : NULL};
    MessageCall call = call_with(&p, edges, KEEP_HIDDEN);
    if (sender) message_add_term(&call, TERM_OTHER, linear(&b->tape, sender, p.sender, NULL), NULL, 0);
    if (receiver) message_add_term(&call, TERM_GROUP, gather_rows(&b->tape, receiver, rows, to), p.receiver, 0);
    if (edge) message_add_term(&call, TERM_ROW, edge, p.edge, 0);
    Tensor *y = message(&b->tape, &call).rows;
    compare(b, "out", y->value, y->rows * y->cols, OUT_TOLERANCE);
    start_gradient(b, y, 0);
    tape_backward_from_grads(&b->tape);
    compare_grad(b, "sender", sender);
    compare_grad(b, "receiver", receiver);
    compare_grad(b, "edge", edge);
    compare_network(b, "X", &p);
    tape_reset(&b->tape);
}

static void check_rows(Reference *file, void *context) {
    Bench *b = context;
    b->file = file;
    NetworkParameters p = read_network(b, "X");
    Tensor *x = read_tensor(b, "x", true);
    MessageCall call = call_with(&p, edges_of_rows(x->rows), KEEP_NOTHING);
    message_add_term(&call, TERM_ROW, x, p.weight0, 0);
    Tensor *y = message(&b->tape, &call).rows;
    compare(b, "out", y->value, y->rows * y->cols, OUT_TOLERANCE);
    start_gradient(b, y, 0);
    tape_backward_from_grads(&b->tape);
    compare_grad(b, "x", x);
    compare_network(b, "X", &p);
    tape_reset(&b->tape);
}

// Lengths, forms and sizes of a case of a whole step.
static GnnConfig read_config(const Reference *r) {
    const bool flat = reference_is(r, "graph", "flat");
    return (GnnConfig){
        .T = (size_t)reference_number(r, "T"),
        .D = (size_t)reference_number(r, "D"),
        .C = (size_t)reference_number(r, "C"),
        .L = (size_t)reference_number(r, "L"),
        .M = (size_t)reference_number(r, "M"),
        .graph = flat ? GRAPH_FLAT : GRAPH_HIERARCHICAL,
        .carry_rgb = reference_number(r, "carry_rgb") != 0,
        .feature_change = reference_number(r, "feature_change"),
        .k_particle_to_node = (size_t)reference_number(r, "k_particle_to_node"),
        .k_node_to_node = (size_t)reference_number(r, "k_node_to_node"),
        .k_node_to_particle = (size_t)reference_number(r, "k_node_to_particle"),
        .length_scale = reference_number(r, "ell"),
        .displacement_scale = reference_number(r, "s_length"),
        .keep = true,
    };
}

static void check_step(Reference *file, void *context) {
    Bench *b = context;
    b->file = file;
    Error err = {0};
    GnnConfig config = read_config(file);
    Parameters parameters;
    Dynamics *dynamics = NULL;
    parameters_init(&parameters, b->device);
    assert_status_ok(dynamics_create(&parameters, &config, &dynamics, &err), err);
    assert_status_ok(parameters_allocate(&parameters, 1, &err), err);
    for (size_t i = 0; i < parameters.count; i++) {
        Tensor *t = &parameters.items[i]->tensor, *value = read_tensor(b, parameters.items[i]->name, false);
        if (!value) fail_msg("%s has no %s", file->group, parameters.items[i]->name);
        assert_int_equal(value->rows * value->cols, t->rows * t->cols);
        memcpy(t->value, value->value, t->rows * t->cols * sizeof(real));
    }
    GnnPlanInput input = {.seed = (uint32_t)reference_number(file, "seed"),
                          .step = (uint32_t)reference_number(file, "step"),
                          .episode = (uint32_t)reference_number(file, "episode"),
                          .rollout_step = (uint32_t)reference_number(file, "rollout_step")};
    input.sets.count = 2;
    for (int t = 0; t < 2; t++) {
        input.sets.set[t] =
            (GnnSet){.x = read_tensor(b, t ? "x1" : "x0", true), .f = read_tensor(b, t ? "f1" : "f0", true)};
    }
    GnnPlan plan;
    gnn_plan_make(&b->tape, &config, 1, &input, &plan);
    if (config.graph == GRAPH_HIERARCHICAL) { // the choice of nodes is part of the case
        size_t count;
        int32_t *node = read_list(b, "node", &count);
        assert_int_equal(plan.nodes, count);
        assert_memory_equal(plan.node, node, count * sizeof *node);
    }
    DynamicsOutput out = {0};
    dynamics_step(&b->tape, dynamics, &plan, &input.sets, &out);
    Tensor *both = tape_tensor(&b->tape, out.x->rows, 3 + config.D, false);
    for (size_t i = 0; i < both->rows; i++) {
        memcpy(both->value + i * both->cols, out.x->value + i * 3, 3 * sizeof(real));
        memcpy(both->value + i * both->cols + 3, out.f->value + i * config.D, config.D * sizeof(real));
    }
    compare(b, "out", both->value, both->rows * both->cols, OUT_TOLERANCE);
    start_gradient(b, out.x, 0);
    start_gradient(b, out.f, 3);
    tape_backward_from_grads(&b->tape);
    for (int t = 0; t < 2; t++) {
        compare_grad(b, t ? "x1" : "x0", input.sets.set[t].x);
        compare_grad(b, t ? "f1" : "f0", input.sets.set[t].f);
    }
    for (size_t i = 0; i < parameters.count; i++)
        compare_grad(b, parameters.items[i]->name, &parameters.items[i]->tensor);
    dynamics_free(dynamics);
    parameters_free(&parameters);
    tape_reset(&b->tape);
}

static void run_over(const char *op, void (*check)(Reference *, void *)) {
    Reference file = reference_open();
    Bench b;
    bench_open(&b);
    assert_true(reference_each(&file, op, check, &b) > 0);
    bench_close(&b);
    H5Fclose(file.file);
    assert_int_equal(b.wrong, 0);
}

static void messages_agree(void **state) {
    (void)state;
    run_over("message", check_message);
}

static void updates_and_mlps_agree(void **state) {
    (void)state;
    run_over("update", check_rows);
    run_over("mlp", check_rows);
}

static void node_choices_agree(void **state) {
    (void)state;
    run_over("nodes", check_nodes);
}

static void scene_flow_agrees(void **state) {
    (void)state;
    run_over("flow_between", check_flow);
}

static void whole_steps_agree(void **state) {
    (void)state;
    run_over("step", check_step);
}

// The planted error: an array compared with one that differs in a single entry.
static void planted_error_is_caught(void **state) {
    (void)state;
    Reference file = reference_open();
    Bench b;
    bench_open(&b);
    b.file = &file;
    snprintf(file.group, sizeof file.group, "update/plain");
    ReferenceArray a = reference_read(&file, "out");
    real *wrong = calloc(a.rows * a.cols, sizeof *wrong);
    for (size_t i = 0; i < a.rows * a.cols; i++) wrong[i] = (real)a.v[i];
    compare(&b, "out", wrong, a.rows * a.cols, OUT_TOLERANCE);
    assert_int_equal(b.wrong, 0);
    wrong[3] += (real)0.01;
    compare(&b, "out", wrong, a.rows * a.cols, OUT_TOLERANCE);
    assert_int_equal(b.wrong, 1);
    free(wrong);
    reference_free(&a);
    bench_close(&b);
    H5Fclose(file.file);
}

static int run_reference_tests(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_agree),     cmocka_unit_test(updates_and_mlps_agree),
        cmocka_unit_test(node_choices_agree), cmocka_unit_test(scene_flow_agrees),
        cmocka_unit_test(whole_steps_agree),  cmocka_unit_test(planted_error_is_caught),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
