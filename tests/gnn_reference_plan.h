// SPDX-License-Identifier: Apache-2.0
// Plans against PyTorch's values: choice of nodes, velocities, extras, contact edges.
#ifndef VPD_TESTS_GNN_REFERENCE_PLAN_H
#define VPD_TESTS_GNN_REFERENCE_PLAN_H

#include "tests/gnn_reference_bench.h"

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
    config.smooth = reference_number(b->file, "smooth") != 0;
    config.colour_length = reference_number(b->file, "lc");
    config.moving_length = reference_number(b->file, "lm");
    config.smooth_width = reference_number(b->file, "ws");
    config.decode_width = reference_number(b->file, "wd");
    config.rigid_cue = reference_number(b->file, "rigid_cue") != 0;
    Tensor *x = read_tensor(b, "x", false), *past = read_tensor(b, later ? "x_past" : "x", false), *f = tape_tensor(&b->tape, x->rows, 3, false);
    const real *m = read_values(b, "m"), *c = read_values(b, "c");
    GnnPlanInput input = {.rollout_step = later, .sets = {2, {{past, f, m, c}, {x, f, m, c}}}};
    input.nodes = read_list(b, "node", &input.node_count);
    if (!later) {
        input.cloud.now = read_points(b, "now_x", "now_c", "now_m", &input.cloud.now_moving);
        input.cloud.past = read_points(b, "past_x", "past_c", "past_m", &input.cloud.past_moving);
    }
    GnnPlanner planner = {0};
    GnnPlan plan;
    gnn_plan_make(&b->tape, &config, &planner, &input, &plan);
    return plan;
}

// Velocities of nodes with their spin, and the extras that go with those of cue_smooth. Matches and elections of registration are discrete: on
// this box, seen with a few hundred points, both precisions make the same ones, and what is left is rounding.
static void check_node_velocity(Bench *b, const char *group, bool later) {
    snprintf(b->file->group, sizeof b->file->group, "%s", group);
    GnnPlan plan = velocity_plan(b, plan_config(), later);
    size_t width = plan.node_spin ? 6 : 3;
    real *both = tape_context(&b->tape, plan.nodes * width * sizeof *both);
    for (size_t i = 0; i < plan.nodes; i++) {
        memcpy(both + i * width, plan.node_velocity + 3 * i, 3 * sizeof *both);
        if (plan.node_spin) memcpy(both + i * width + 3, plan.node_spin + 3 * i, 3 * sizeof *both);
    }
    compare(b, "out", both, plan.nodes * width, OUT_TOLERANCE);
    if (!strcmp(group, "node_velocity/cue_smooth")) {
        snprintf(b->file->group, sizeof b->file->group, "node_extras/all");
        // The case's v was rounded to float32.
        compare(b, "out", plan.extra, plan.nodes * 8, fmax(OUT_TOLERANCE, 1e-6));
    }
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

#endif
