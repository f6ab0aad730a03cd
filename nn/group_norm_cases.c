// SPDX-License-Identifier: Apache-2.0
#include "nn/cases.h"
#include "nn/combine.h"
#include "nn/group_norm.h"

static Tensor *run(Tape *tape, Tensor *const *in, const OpCase *c) {
    ImageShape shape = {(size_t)c->sizes[0], (size_t)c->sizes[1], (size_t)c->sizes[2]};
    return group_norm(tape, in[0], shape, in[1], in[2]);
}

// A tensor that another op reads too: its gradient accumulates.
static Tensor *run_twice(Tape *tape, Tensor *const *in, const OpCase *c) {
    Tensor *once = run(tape, in, c), *again[] = {once, in[1], in[2]};
    return tensor_add(tape, once, run(tape, again, c));
}

#define GROUP_NORM_CASE(label, n, h, w, channels, is_bench)                                                            \
    {                                                                                                                  \
        .name = "group_norm " label,                                                                                   \
        .inputs = {{"x", (n) * (h) * (w), channels, -2, 3, true},                                                      \
                   {"gain", 1, channels, 0.5, 1.5, true},                                                              \
                   {"offset", 1, channels, -1, 1, true}},                                                              \
        .run = run, .sizes = {n, h, w}, .bench = (is_bench)                                                            \
    }

static const OpCase cases[] = {
    GROUP_NORM_CASE("no image", 0, 4, 4, 8, false),
    GROUP_NORM_CASE("few pixels", 2, 2, 1, 16, false),
    GROUP_NORM_CASE("seven channels", 1, 3, 5, 7, false),
    GROUP_NORM_CASE("several chunks", 2, 23, 31, 12, false),
    GROUP_NORM_CASE("long chunks", 1, 181, 182, 4, false),
    {.name = "group_norm twice",
     .inputs = {{"x", 24, 8, -2, 3, true}, {"gain", 1, 8, 0.5, 1.5, true}, {"offset", 1, 8, -1, 1, true}},
     .run = run_twice,
     .sizes = {2, 3, 4}},
    GROUP_NORM_CASE("8x128x128x32", 8, 128, 128, 32, true),
};

const OpCases group_norm_cases = {"group_norm", cases, sizeof cases / sizeof *cases};
