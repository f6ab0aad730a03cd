// SPDX-License-Identifier: Apache-2.0
// gnn against PyTorch's values: forward and gradients of ops, choices and velocities of plans, whole rollout steps. Included by a
// test in float and one in double, which say how close is close.
#ifndef VPD_TESTS_GNN_REFERENCE_H
#define VPD_TESTS_GNN_REFERENCE_H

#include "gnn/dynamics.h"
#include "gnn/edge_geometry.h"
#include "gnn/message.h"
#include "gnn/node_blend.h"
#include "nn/backend.h"
#include "nn/linear.h"
#include "nn/rows.h"
#include "tests/gnn_reference_file.h"

#ifdef VPD_DOUBLE
// Outputs are stored in double; 1e-8 leaves room for other orders of summation.
static const double OUT_TOLERANCE = 1e-8;
// Gradients are stored in float32.
static const double GRAD_TOLERANCE = 1e-6;
#else
// A few hundred roundings of 6e-8, and a norm that divides by small spreads.
static const double OUT_TOLERANCE = 5e-5;
static const double GRAD_TOLERANCE = 2e-3;
#endif

// A device, a tape and tensors read from one case.
typedef struct Bench {
    Device *device;
    Tape tape;
    Reference *file;
    int wrong;
} Bench;

static void bench_open(Bench *b) {
    Error err = {0};
    *b = (Bench){0};
    assert_status_ok(device_open("cpu", 2, &b->device, &err), err);
    tape_init(&b->tape, b->device);
}

static void bench_close(Bench *b) {
    Error err = {0};
    assert_status_ok(device_status(b->device, &err), err);
    tape_free(&b->tape);
    device_close(b->device);
}

static Tensor *read_tensor(Bench *b, const char *name, bool wants_grad) {
    char path[96];
    snprintf(path, sizeof path, "in/%s", name);
    ReferenceArray a = reference_read(b->file, path);
    if (!a.v) return NULL;
    // A vector is one row; scalars per particle (m) are read through ->value.
    Tensor *t = tape_tensor(&b->tape, a.cols == 1 ? 1 : a.rows, a.cols == 1 ? a.rows : a.cols, wants_grad);
    for (size_t i = 0; i < a.rows * a.cols; i++) t->value[i] = (real)a.v[i];
    reference_free(&a);
    return t;
}

static int32_t *read_list(Bench *b, const char *name, size_t *count) {
    char path[96];
    snprintf(path, sizeof path, "in/%s", name);
    ReferenceArray a = reference_read(b->file, path);
    int32_t *list = tape_context(&b->tape, (a.rows * a.cols + 1) * sizeof *list);
    for (size_t i = 0; i < a.rows * a.cols; i++) list[i] = (int32_t)a.v[i];
    *count = a.rows;
    reference_free(&a);
    return list;
}

// Compares with an array of the file, relative to its largest entry.
static void compare(Bench *b, const char *name, const real *found, size_t count, double tolerance) {
    ReferenceArray a = reference_read(b->file, name);
    double largest = 0, worst = 0;
    if (!a.v || a.rows * a.cols != count) {
        print_message("%s/%s: %zu entries wanted, %zu found\n", b->file->group, name, a.rows * a.cols, count);
        b->wrong++;
        reference_free(&a);
        return;
    }
    for (size_t i = 0; i < count; i++) largest = fmax(largest, fabs(a.v[i]));
    for (size_t i = 0; i < count; i++) {
        double off = fabs((double)(found ? found[i] : 0) - a.v[i]);
        worst = off > worst || isnan(off) ? off : worst;
    }
    if (!(worst <= tolerance * fmax(largest, 1e-6))) {
        print_message("%s/%s: off by %.3g, largest entry %.3g\n", b->file->group, name, worst, largest);
        b->wrong++;
    }
    reference_free(&a);
}

static void compare_grad(Bench *b, const char *name, const Tensor *t) {
    char path[96];
    snprintf(path, sizeof path, "grad/%s", name);
    if (t) compare(b, path, t->grad, t->rows * t->cols, GRAD_TOLERANCE);
}

// The upstream gradient of columns [first, first + cols) of a case's output.
static void start_gradient(Bench *b, Tensor *t, size_t first) {
    ReferenceArray a = reference_read(b->file, "grad_out");
    real *grad = tape_grad(&b->tape, t);
    for (size_t i = 0; grad && i < t->rows; i++)
        for (size_t c = 0; c < t->cols; c++) grad[i * t->cols + c] = (real)a.v[i * a.cols + first + c];
    reference_free(&a);
}

// Network X.* of a small case.
static NetworkParameters read_network(Bench *b, const char *prefix) {
    NetworkParameters p = {0};
    struct {
        const char *name;
        Tensor **to;
    } parts[] = {{"sender", &p.sender}, {"receiver", &p.receiver}, {"edge", &p.edge}, {"weight0", &p.weight0}, {"bias0", &p.bias0},
                 {"weight1", &p.weight1}, {"bias1", &p.bias1}, {"weight2", &p.weight2}, {"bias2", &p.bias2}, {"gain", &p.gain},
                 {"offset", &p.offset}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s.%s", prefix, parts[i].name);
        *parts[i].to = read_tensor(b, name, true);
    }
    // One column reads as one row.
    if (p.weight1 && p.bias0 && p.weight1->rows == 1 && p.weight1->cols == p.bias0->cols) {
        p.weight1->rows = p.weight1->cols;
        p.weight1->cols = 1;
    }
    return p;
}

static void compare_network(Bench *b, const char *prefix, const NetworkParameters *p) {
    const struct {
        const char *name;
        Tensor *tensor;
    } parts[] = {{"sender", p->sender}, {"receiver", p->receiver}, {"edge", p->edge}, {"weight0", p->weight0}, {"bias0", p->bias0},
                 {"weight1", p->weight1}, {"bias1", p->bias1}, {"weight2", p->weight2}, {"bias2", p->bias2}, {"gain", p->gain},
                 {"offset", p->offset}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s.%s", prefix, parts[i].name);
        compare_grad(b, name, parts[i].tensor);
    }
}

static MessageCall call_with(const NetworkParameters *p, GnnEdges edges, MessageKeep keep) {
    return (MessageCall){.edges = edges,
                         .act = ACTIVATION_SILU,
                         .layers = {p->bias0, p->weight1, p->bias1, p->weight2, p->bias2, p->gain, p->offset},
                         .wants_rows = true,
                         .keep = keep};
}

static void check_message(Reference *file, void *context) {
    Bench *b = context;
    size_t rows, unused;
    b->file = file;
    int32_t *from = read_list(b, "from", &rows), *to = read_list(b, "to", &unused);
    Tensor *sender = read_tensor(b, "sender", true), *receiver = read_tensor(b, "receiver", true), *edge = read_tensor(b, "edge", true);
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
        .activation = reference_is(r, "activation", "silu") ? ACTIVATION_SILU : ACTIVATION_RELU,
        .graph = flat ? GRAPH_FLAT : GRAPH_HIERARCHICAL,
        .nodes = reference_is(r, "nodes", "moving") ? NODES_MOVING : NODES_RANDOM,
        .distance = reference_is(r, "distance", "appearance") ? DISTANCE_APPEARANCE : DISTANCE_POSITION,
        .velocity = reference_is(r, "velocity", "none") ? VELOCITY_NONE : reference_is(r, "velocity", "node") ? VELOCITY_NODE : VELOCITY_PARTICLE,
        .decode = reference_is(r, "decode", "node") ? DECODE_NODE : DECODE_PARTICLE,
        .moving_flag = reference_number(r, "moving_flag") != 0,
        .node_extras = reference_number(r, "node_extras") != 0,
        .smooth = reference_number(r, "smooth") != 0,
        .rotation = reference_number(r, "rotation") != 0,
        .carry_rgb = reference_number(r, "carry_rgb") != 0,
        .feature_change = reference_number(r, "feature_change"),
        .k_particle_to_node = (size_t)reference_number(r, "k_particle_to_node"),
        .k_node_to_node = (size_t)reference_number(r, "k_node_to_node"),
        .k_node_to_particle = (size_t)reference_number(r, "k_node_to_particle"),
        .cross_edges = (size_t)reference_number(r, "cross_edges"),
        .extent = reference_number(r, "X"),
        .length_scale = reference_number(r, "ell"),
        .displacement_scale = reference_number(r, "s_length"),
        .colour_length = reference_number(r, "lc"),
        .moving_length = reference_number(r, "lm"),
        .decode_width = reference_number(r, "wd"),
        .smooth_width = reference_number(r, "ws"),
        .keep = true,
    };
}

static const real *read_values(Bench *b, const char *name) {
    Tensor *t = read_tensor(b, name, false);
    return t ? t->value : NULL;
}

static GnnCloud read_cloud(Bench *b, const char *now_x, const char *now_c, const char *past_x, const char *past_c) {
    Tensor *now = read_tensor(b, now_x, false), *past = read_tensor(b, past_x, false);
    if (!now || !past) return (GnnCloud){0};
    return (GnnCloud){.now = {now->rows, now->value, read_values(b, now_c)}, .past = {past->rows, past->value, read_values(b, past_c)}};
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
        char name[4][4] = {"x0", "f0", "m0", "c0"};
        for (int i = 0; i < 4; i++) name[i][1] = (char)('0' + t);
        input.sets.set[t] = (GnnSet){read_tensor(b, name[0], true), read_tensor(b, name[1], true), read_values(b, name[2]), read_values(b, name[3])};
    }
    input.cloud = read_cloud(b, "cloud_x1", "cloud_c1", "cloud_x0", "cloud_c0");
    GnnPlanner planner = {0};
    GnnPlan plan;
    gnn_plan_make(&b->tape, &config, &planner, &input, &plan);
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
    for (size_t i = 0; i < parameters.count; i++) compare_grad(b, parameters.items[i]->name, &parameters.items[i]->tensor);
    dynamics_free(dynamics);
    parameters_free(&parameters);
    gnn_planner_free(&planner);
    tape_reset(&b->tape);
}

static void check_decode_node(Reference *file, void *context) {
    Bench *b = context;
    b->file = file;
    size_t N;
    NetworkParameters node = read_network(b, "gnn.decode.node"), weight = read_network(b, "gnn.decode.weight");
    Tensor *h = read_tensor(b, "h", true), *s = read_tensor(b, "s", true), *x = read_tensor(b, "x", true), *xa = read_tensor(b, "xa", true);
    Tensor *d2 = read_tensor(b, "d2", false);
    const real *v = read_values(b, "v");
    int32_t *index = read_list(b, "index", &N);
    GnnEdges edges = {.groups = N, .k = d2->cols, .others = h->rows, .index = index};
    double wd = reference_number(file, "wd"), ell = reference_number(file, "ell");
    for (size_t i = 0; i < d2->rows * d2->cols; i++) d2->value[i] *= (real)(-1 / (2 * wd * wd));

    MessageCall call = call_with(&node, edges_of_rows(h->rows), KEEP_NOTHING);
    message_add_term(&call, TERM_ROW, h, node.weight0, 0);
    Tensor *u = message(&b->tape, &call).rows;
    call = call_with(&weight, edges, KEEP_NOTHING);
    EdgeGeometryCall geometry = {.edges = edges, .group_receives = true, .x_group = x, .x_other = xa, .ell = (real)ell, .s = 1};
    message_add_term(&call, TERM_OTHER, linear(&b->tape, h, weight.sender, NULL), NULL, 0);
    message_add_term(&call, TERM_GROUP, s, weight.receiver, 0);
    message_add_term(&call, TERM_ROW, edge_geometry(&b->tape, &geometry), weight.edge, 0);
    bool rotation = reference_number(file, "rotation") != 0;
    NodeMotion motion = {.rotation = rotation, .gain = v != NULL, .s = (real)reference_number(file, "s_length"), .inverse_ell = (real)(1 / ell)};
    motion.features = u->cols - element_motion_width(&motion);
    NodeBlendCall blend = {.edges = edges, .motion = motion, .u = u, .z = message(&b->tape, &call).rows, .x_group = x, .x_other = xa,
                           .logit = d2->value, .v_other = v};
    Tensor *out = node_blend(&b->tape, &blend);
    compare(b, "out", out->value, out->rows * out->cols, OUT_TOLERANCE);
    start_gradient(b, out, 0);
    tape_backward_from_grads(&b->tape);
    compare_grad(b, "h", h);
    compare_grad(b, "s", s);
    compare_grad(b, "x", x);
    compare_grad(b, "xa", xa);
    compare_network(b, "gnn.decode.node", &node);
    compare_network(b, "gnn.decode.weight", &weight);
    tape_reset(&b->tape);
}

// A plan for a case that says little: the rest has the value that such a case needs.
static GnnConfig plan_config(void) {
    return (GnnConfig){.T = 1, .D = 3, .C = 4, .M = 12, .distance = DISTANCE_POSITION, .k_particle_to_node = 3, .k_node_to_node = 4,
                       .k_node_to_particle = 4, .extent = 2, .length_scale = .05, .displacement_scale = .025, .colour_length = .5,
                       .moving_length = .15, .decode_width = .05, .smooth_width = .075};
}

static void check_nodes(Reference *file, void *context) {
    Bench *b = context;
    b->file = file;
    GnnConfig config = plan_config();
    config.M = (size_t)reference_number(file, "M");
    config.extent = reference_number(file, "X");
    config.nodes = reference_is(file, "nodes", "random") ? NODES_RANDOM : reference_is(file, "nodes", "voxel") ? NODES_VOXEL
                   : reference_is(file, "nodes", "farthest") ? NODES_FARTHEST : NODES_MOVING;
    GnnPlanInput input = {.seed = (uint32_t)reference_number(file, "seed"),
                          .step = (uint32_t)reference_number(file, "step"),
                          .episode = (uint32_t)reference_number(file, "episode"),
                          .rollout_step = (uint32_t)reference_number(file, "rollout_step")};
    Tensor *x = read_tensor(b, "x", false);
    input.sets = (GnnSets){1, {{x, tape_tensor(&b->tape, x->rows, 3, false), read_values(b, "m"), x->value}}};
    GnnPlanner planner = {0};
    GnnPlan plan;
    gnn_plan_make(&b->tape, &config, &planner, &input, &plan);
    ReferenceArray wanted = reference_read(file, "out");
    bool same = wanted.rows == plan.nodes;
    for (size_t i = 0; same && i < plan.nodes; i++) same = plan.node[i] == (int32_t)wanted.v[i];
    if (!same) print_message("%s: other nodes\n", file->group);
    b->wrong += !same;
    reference_free(&wanted);
    gnn_planner_free(&planner);
    tape_reset(&b->tape);
}

// Velocities of nodes in their two sources, and the extras that go with the first.
static void check_node_velocity(Bench *b, const char *group, bool later) {
    GnnConfig config = plan_config();
    snprintf(b->file->group, sizeof b->file->group, "%s", group);
    config.T = 2;
    config.distance = DISTANCE_APPEARANCE;
    config.velocity = VELOCITY_NODE;
    config.decode = DECODE_NODE;
    config.nodes = NODES_MOVING;
    config.moving_flag = config.node_extras = true;
    config.cross_edges = 2;
    config.extent = 1;
    config.smooth = reference_number(b->file, "smooth") != 0;
    config.colour_length = reference_number(b->file, "lc");
    config.moving_length = reference_number(b->file, "lm");
    config.smooth_width = reference_number(b->file, "ws");
    if (later) config.decode_width = reference_number(b->file, "wd");
    Tensor *x = read_tensor(b, "x", false), *past = read_tensor(b, later ? "x_past" : "x", false), *f = tape_tensor(&b->tape, x->rows, 3, false);
    const real *m = read_values(b, "m"), *c = read_values(b, "c");
    GnnPlanInput input = {.rollout_step = later, .sets = {2, {{past, f, m, c}, {x, f, m, c}}}};
    input.nodes = read_list(b, "node", &input.node_count);
    if (!later) input.cloud = read_cloud(b, "now_x", "now_c", "past_x", "past_c");
    GnnPlanner planner = {0};
    GnnPlan plan;
    gnn_plan_make(&b->tape, &config, &planner, &input, &plan);
    compare(b, "out", plan.node_velocity, plan.nodes * 3, OUT_TOLERANCE);
    if (!later && config.smooth) {
        snprintf(b->file->group, sizeof b->file->group, "node_extras/all");
        config.length_scale = reference_number(b->file, "ell");
        // The case's v was rounded to float32.
        compare(b, "out", plan.extra, plan.nodes * 8, fmax(OUT_TOLERANCE, 1e-6));
    }
    tape_reset(&b->tape);
}

static void check_particle_velocity(Bench *b) {
    GnnConfig config = plan_config();
    snprintf(b->file->group, sizeof b->file->group, "particle_velocity/first");
    config.T = 2;
    config.velocity = VELOCITY_PARTICLE;
    config.extent = reference_number(b->file, "X");
    Tensor *x0 = read_tensor(b, "x0", false), *x1 = read_tensor(b, "x1", false);
    const real *c0 = read_values(b, "c0"), *c1 = read_values(b, "c1");
    GnnPlanInput input = {.sets = {2, {{x0, x0, NULL, c0}, {x1, x1, NULL, c1}}}};
    GnnPlanner planner = {0};
    GnnPlan plan;
    gnn_plan_make(&b->tape, &config, &planner, &input, &plan);
    compare(b, "out", plan.particle_velocity, plan.particles * 3, OUT_TOLERANCE);
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

static void decode_at_nodes_agrees(void **state) {
    (void)state;
    run_over("decode_node", check_decode_node);
}

static void node_choices_agree(void **state) {
    (void)state;
    run_over("nodes", check_nodes);
}

static void velocities_and_extras_agree(void **state) {
    (void)state;
    Reference file = reference_open();
    Bench b;
    bench_open(&b);
    b.file = &file;
    check_node_velocity(&b, "node_velocity/cue", false);
    check_node_velocity(&b, "node_velocity/cue_smooth", false);
    check_node_velocity(&b, "node_velocity/later", true);
    check_particle_velocity(&b);
    bench_close(&b);
    H5Fclose(file.file);
    assert_int_equal(b.wrong, 0);
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
        cmocka_unit_test(messages_agree),      cmocka_unit_test(updates_and_mlps_agree),      cmocka_unit_test(decode_at_nodes_agrees),
        cmocka_unit_test(node_choices_agree),  cmocka_unit_test(velocities_and_extras_agree), cmocka_unit_test(whole_steps_agree),
        cmocka_unit_test(planted_error_is_caught),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
