// SPDX-License-Identifier: Apache-2.0
// Choices of nodes and scene flow against PyTorch's values.
#ifndef VPD_TESTS_GNN_REFERENCE_PLAN_H
#define VPD_TESTS_GNN_REFERENCE_PLAN_H

#include "tests/gnn_reference_bench.h"

static void check_nodes(Reference *file, void *context) {
    Bench *b = context;
    b->file = file;
    GnnConfig config = {.T = 1, .D = 3, .C = 4, .M = (size_t)reference_number(file, "M")};
    GnnPlanInput input = {.seed = (uint32_t)reference_number(file, "seed"),
                          .step = (uint32_t)reference_number(file, "step"),
                          .episode = (uint32_t)reference_number(file, "episode"),
                          .rollout_step = (uint32_t)reference_number(file, "rollout_step")};
    Tensor *x = read_tensor(b, "x", false);
    input.sets = (GnnSets){1, {{.x = x, .f = tape_tensor(&b->tape, x->rows, 3, false)}}};
    GnnPlan plan;
    gnn_plan_make(&b->tape, &config, 1, &input, &plan);
    ReferenceArray wanted = reference_read(file, "out");
    bool same = wanted.rows == plan.nodes;
    for (size_t i = 0; same && i < plan.nodes; i++) same = plan.node[i] == (int32_t)wanted.v[i];
    if (!same) print_message("%s: other nodes\n", file->group);
    b->wrong += !same;
    reference_free(&wanted);
    tape_reset(&b->tape);
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

#endif
