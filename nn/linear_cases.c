// SPDX-License-Identifier: Apache-2.0
#include "nn/cases.h"
#include "nn/linear.h"

static Tensor *run(Tape *tape, Tensor *const *in, const OpCase *c) {
    return linear(tape, in[0], in[1], c->inputs[2].name ? in[2] : NULL);
}

#define LINEAR_CASE(label, rows, in, out, is_bench)                                                                    \
    {                                                                                                                  \
        .name = "linear " label,                                                                                       \
        .inputs = {{"x", rows, in, -1, 1, true}, {"weight", in, out, -1, 1, true}, {"bias", 1, out, -1, 1, true}},     \
        .run = run, .flops = 6.0 * (rows) * (in) * (out), .bench = (is_bench)                                          \
    }

static const OpCase cases[] = {
    LINEAR_CASE("none", 0, 3, 4, false),
    LINEAR_CASE("one", 1, 1, 1, false),
    LINEAR_CASE("odd", 7, 5, 3, false),
    LINEAR_CASE("several chunks", 1031, 9, 6, false),
    {.name = "linear without bias", .inputs = {{"x", 33, 4, -1, 1, true}, {"weight", 4, 8, -1, 1, true}}, .run = run},
    {.name = "linear constant x",
     .inputs = {{"x", 5, 4, -1, 1, false}, {"weight", 4, 3, -1, 1, true}, {"bias", 1, 3, -1, 1, true}},
     .run = run},
    LINEAR_CASE("16384x128x128", 16384, 128, 128, true),
};

const OpCases linear_cases = {"linear", cases, sizeof cases / sizeof *cases};
