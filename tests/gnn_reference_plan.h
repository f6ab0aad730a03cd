// SPDX-License-Identifier: Apache-2.0
// Plans against PyTorch's values: choice of nodes, scene flow, velocities, extras, gaps, contact edges.
#ifndef VPD_TESTS_GNN_REFERENCE_PLAN_H
#define VPD_TESTS_GNN_REFERENCE_PLAN_H

#include "tests/gnn_reference_bench.h"

// A plan for a case that says little: the rest has the value that such a case needs.
static GnnConfig plan_config(void) {
    return (GnnConfig){.T = 1,
                       .D = 3,
                       .C = 4,
                       .M = 12,
                       .distance = DISTANCE_POSITION,
                       .k_particle_to_node = 3,
                       .k_node_to_node = 4,
                       .k_node_to_particle = 4,
                       .extent = 2,
                       .length_scale = .05,
                       .displacement_scale = .025,
                       .colour_length = .5,
                       .moving_length = .15,
                       .decode_width = .05};
}

static void check_nodes(Reference *file, void *context) {
    Bench *b = context;
    b->file = file;
    GnnConfig config = plan_config();
    config.M = (size_t)reference_number(file, "M");
    config.extent = reference_number(file, "X");
    config.nodes = reference_is(file, "nodes", "random") ? NODES_RANDOM : NODES_MOVING;
    GnnPlanInput input = {.seed = (uint32_t)reference_number(file, "seed"),
                          .step = (uint32_t)reference_number(file, "step"),
                          .episode = (uint32_t)reference_number(file, "episode"),
                          .rollout_step = (uint32_t)reference_number(file, "rollout_step")};
    Tensor *x = read_tensor(b, "x", false);
    input.sets = (GnnSets){1, {{x, tape_tensor(&b->tape, x->rows, 3, false), read_values(b, "m"), x->value, NULL}}};
    GnnPlan plan;
    gnn_plan_make(&b->tape, &config, &input, &plan);
    ReferenceArray wanted = reference_read(file, "out");
    bool same = wanted.rows == plan.nodes;
    for (size_t i = 0; same && i < plan.nodes; i++) same = plan.node[i] == (int32_t)wanted.v[i];
    if (!same) print_message("%s: other nodes\n", file->group);
    b->wrong += !same;
    reference_free(&wanted);
    tape_reset(&b->tape);
}

// The plan of a case of node velocities: seen (rollout step 0), or carried from the particles' displacement (later).
static GnnPlan velocity_plan(Bench *b, GnnConfig config, bool later) {
    config.T = 2;
    config.distance = DISTANCE_APPEARANCE;
    config.velocity = VELOCITY_NODE;
    config.decode = DECODE_NODE;
    config.nodes = NODES_MOVING;
    config.moving_flag = config.node_extras = true;
    config.cross_edges = 2;
    config.extent = reference_number(b->file, "X");
    config.colour_length = reference_number(b->file, "lc");
    config.moving_length = reference_number(b->file, "lm");
    config.decode_width = reference_number(b->file, "wd");
    Tensor *x = read_tensor(b, "x", false), *past = read_tensor(b, later ? "x_past" : "x", false),
           *f = tape_tensor(&b->tape, x->rows, 3, false);
    const real *m = read_values(b, "m"), *c = read_values(b, "c");
    GnnPlanInput input = {.rollout_step = later, .sets = {2, {{past, f, m, c, NULL}, {x, f, m, c, NULL}}}};
    input.nodes = read_list(b, "node", &input.node_count);
    input.motion = read_seen(b);
    GnnPlan plan;
    gnn_plan_make(&b->tape, &config, &input, &plan);
    return plan;
}

// Matches and elections of registration are discrete: on this box, seen with a few hundred points, both precisions make
// the same ones, and what is left is rounding.
static void check_flow(Reference *file, void *context) {
    Bench *b = context;
    b->file = file;
    Tensor *x = read_tensor(b, "x", false);
    real *u = tape_context(&b->tape, x->rows * 3 * sizeof *u), *g = tape_context(&b->tape, x->rows * 9 * sizeof *g),
         *both = tape_context(&b->tape, x->rows * 12 * sizeof *both);
    FlowArgs args = {.queries = {x->rows, x->value, read_values(b, "c")},
                     .colour_length = (real)reference_number(file, "lc"),
                     .extent = (real)reference_number(file, "X"),
                     .u = u,
                     .g = g};
    args.from = read_points(b, "now_x", "now_c", "now_m", &args.from_moving);
    args.to = read_points(b, "past_x", "past_c", "past_m", &args.to_moving);
    ArenaMark mark = arena_mark(&b->device->scratch);
    flow_between(b->device, &args);
    arena_release(&b->device->scratch, mark);
    for (size_t i = 0; i < x->rows; i++) {
        memcpy(both + 12 * i, u + 3 * i, 3 * sizeof *u);
        for (size_t c = 0; c < 9; c++) both[12 * i + 3 + c] = g[9 * i + c];
    }
    compare(b, "out", both, x->rows * 12, OUT_TOLERANCE);
    tape_reset(&b->tape);
}

// Velocities and angular velocities of nodes, and the extras that go with those of the prior.
static void check_node_velocity(Bench *b, const char *group, bool later) {
    snprintf(b->file->group, sizeof b->file->group, "%s", group);
    GnnPlan plan = velocity_plan(b, plan_config(), later);
    real *both = tape_context(&b->tape, plan.nodes * 6 * sizeof *both),
         *extra = tape_context(&b->tape, plan.nodes * 8 * sizeof *extra);
    for (size_t i = 0; i < plan.nodes; i++) {
        memcpy(both + i * 6, plan.node_velocity + 3 * i, 3 * sizeof *both);
        memcpy(both + i * 6 + 3, plan.node_spin + 3 * i, 3 * sizeof *both);
    }
    compare(b, "out", both, plan.nodes * 6, OUT_TOLERANCE);
    if (!later) {
        snprintf(b->file->group, sizeof b->file->group, "node_extras/all");
        const real *v = read_values(b, "v"), s = (real)plan_config().displacement_scale;
        memcpy(extra, plan.extra, plan.nodes * 8 * sizeof *extra);
        // The case has other velocities.
        for (size_t i = 0; i < 3 * plan.nodes; i++) {
            size_t at = i / 3 * 8 + i % 3;
            assert_close((double)extra[at], (double)(plan.node_velocity[i] / s), 1e-6, 1e-6);
            extra[at] = v[i] / s;
        }
        compare(b, "out", extra, plan.nodes * 8, fmax(OUT_TOLERANCE, 1e-6));
    }
    tape_reset(&b->tape);
}

static void check_gaps(Reference *file, void *context) {
    Bench *b = context;
    b->file = file;
    GnnConfig config = plan_config();
    config.gap = true;
    config.length_scale = reference_number(file, "ell");
    config.displacement_scale = reference_number(file, "s_length");
    GnnPlan plan = velocity_plan(b, config, true);
    compare(b, "out", plan.gap, plan.nodes * 2 * GNN_MEETING, OUT_TOLERANCE);
    tape_reset(&b->tape);
}

static void check_contact_edges(Bench *b, const char *group) {
    GnnConfig config = plan_config();
    snprintf(b->file->group, sizeof b->file->group, "%s", group);
    config.contact_edges = (size_t)reference_number(b->file, "k");
    config.displacement_scale = reference_number(b->file, "s_length");
    GnnPlan plan = velocity_plan(b, config, true);
    const GnnEdges *edges = &plan.node_node;
    real *last = calloc(plan.nodes * config.contact_edges, sizeof *last);
    for (size_t i = 0; i < plan.nodes * config.contact_edges; i++) {
        size_t node = i / config.contact_edges, column = edges->k - config.contact_edges + i % config.contact_edges;
        last[i] = (real)edges->index[node * edges->k + column];
    }
    compare(b, "out", last, plan.nodes * config.contact_edges, 0);
    free(last);
    tape_reset(&b->tape);
}

static void check_particle_velocity(Bench *b) {
    GnnConfig config = plan_config();
    snprintf(b->file->group, sizeof b->file->group, "particle_velocity/first");
    config.T = 2;
    config.graph = GRAPH_FLAT;
    config.velocity = VELOCITY_PARTICLE;
    config.extent = reference_number(b->file, "X");
    Tensor *x0 = read_tensor(b, "x0", false), *x1 = read_tensor(b, "x1", false);
    const real *c0 = read_values(b, "c0"), *c1 = read_values(b, "c1");
    GnnPlanInput input = {.sets = {2, {{x0, x0, NULL, c0, NULL}, {x1, x1, NULL, c1, NULL}}}};
    GnnPlan plan;
    gnn_plan_make(&b->tape, &config, &input, &plan);
    compare(b, "out", plan.particle_velocity, plan.particles * 3, OUT_TOLERANCE);
    tape_reset(&b->tape);
}

#endif
