// SPDX-License-Identifier: Apache-2.0
// sizes: groups, k, others (0: the groups themselves), period of absent rows, whether the group receives.
#include "gnn/cases.h"
#include "gnn/edge_geometry.h"

enum { GROUPS, K, OTHERS, HOLE, RECEIVES };

static Tensor *run(Tape *tape, Tensor *const *in, const OpCase *c) {
    size_t groups = (size_t)c->sizes[GROUPS], others = (size_t)c->sizes[OTHERS];
    EdgeGeometryCall call = {
        .edges = case_edges(tape, groups, (size_t)c->sizes[K], others ? others : groups, (size_t)c->sizes[HOLE]),
        .group_receives = c->sizes[RECEIVES] != 0,
        .x_group = in[0],
        .x_other = others ? in[1] : in[0],
        .ell = (real)0.7};
    return edge_geometry(tape, &call);
}

#define X(name, rows)                                                                                                  \
    { name, rows, 3, -1, 1, true }

static const OpCase cases[] = {
    {.name = "edge_geometry particle to node",
     .run = run,
     .sizes = {11, 3, 5, 0, 0},
     .inputs = {X("x_group", 11), X("x_other", 5)}},
    {.name = "edge_geometry node to particle",
     .run = run,
     .sizes = {11, 4, 5, 3, 1},
     .inputs = {X("x_group", 11), X("x_other", 5)}},
    {.name = "edge_geometry one set", .run = run, .sizes = {9, 4, 0, 5, 1}, .inputs = {X("x", 9)}},
    {.name = "edge_geometry fixed others",
     .run = run,
     .sizes = {6, 2, 4, 0, 0},
     .inputs = {X("x_group", 6), {"x_other", 4, 3, -1, 1, false}}},
    {.name = "edge_geometry none", .run = run, .sizes = {0, 3, 5, 0, 0}, .inputs = {X("x_group", 0), X("x_other", 5)}},
    {.name = "edge_geometry no edges", .run = run, .sizes = {3, 0, 0, 0, 1}, .inputs = {X("x", 3)}},
    {.name = "edge_geometry paper",
     .run = run,
     .sizes = {16384, 4, 1024, 0, 1},
     .inputs = {X("x_group", 16384), X("x_other", 1024)},
     .bench = true},
};

const OpCases edge_geometry_cases = {"edge_geometry", cases, sizeof cases / sizeof *cases};
