// SPDX-License-Identifier: Apache-2.0
// sizes: groups, k, others, every how many-th row is absent, rotation, gain, features.
#include "gnn/cases.h"
#include "gnn/node_blend.h"

enum { GROUPS, K, OTHERS, HOLE, ROTATION, GAIN, FEATURES };

static Tensor *run(Tape *tape, Tensor *const *in, const OpCase *c) {
    bool gain = c->sizes[GAIN] != 0;
    NodeBlendCall call = {.edges = case_edges(tape, (size_t)c->sizes[GROUPS], (size_t)c->sizes[K],
                                              (size_t)c->sizes[OTHERS], (size_t)c->sizes[HOLE]),
                          .motion = {.rotation = c->sizes[ROTATION] != 0,
                                     .gain = gain,
                                     .features = (size_t)c->sizes[FEATURES],
                                     .s = (real)0.6,
                                     .inverse_ell = (real)1.7},
                          .u = in[0],
                          .z = in[1],
                          .x_group = in[2],
                          .x_other = in[3],
                          .logit = in[4]->value,
                          .v_other = gain ? in[5]->value : NULL,
                          .spin_other = gain ? in[6]->value : NULL};
    return node_blend(tape, &call);
}

#define BLEND(label, groups, k, others, hole, rotation, gain, features, is_bench)                                      \
    {                                                                                                                  \
        .name = "node_blend " label, .run = run, .sizes = {groups, k, others, hole, rotation, gain, features},         \
        .inputs = {{"u", others, 3 + 3 * (rotation) + (gain) + (features), -1, 1, true},                               \
                   {"z", (groups) * (k), 1, -1, 1, true},                                                              \
                   {"x_group", groups, 3, -1, 1, true},                                                                \
                   {"x_other", others, 3, -1, 1, true},                                                                \
                   {"logit", (groups) * (k), 1, -2, 0, false},                                                         \
                   {"v", others, 3, -1, 1, false},                                                                     \
                   {"spin", others, 3, -1, 1, false}},                                                                 \
        .bench = is_bench                                                                                              \
    }

static const OpCase cases[] = {
    BLEND("plain", 11, 4, 5, 0, 0, 0, 0, false),
    BLEND("gain", 11, 4, 5, 0, 0, 1, 0, false),
    BLEND("rotation, features", 11, 3, 5, 0, 1, 0, 4, false),
    BLEND("gain and rotation, absent rows", 11, 4, 5, 3, 1, 1, 2, false),
    BLEND("one node", 5, 1, 1, 0, 1, 1, 0, false),
    BLEND("none", 0, 4, 5, 0, 1, 1, 1, false),
    BLEND("no nodes", 3, 0, 1, 0, 0, 0, 0, false),
    BLEND("paper", 16384, 4, 1024, 0, 1, 1, 0, true),
};

const OpCases node_blend_cases = {"node_blend", cases, sizeof cases / sizeof *cases};
