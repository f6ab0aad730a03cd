// SPDX-License-Identifier: Apache-2.0
#include "nn/cases.h"
#include "nn/layer_norm.h"

static Tensor *run(Tape *tape, Tensor *const *in, const OpCase *c) {
    (void)c;
    return layer_norm(tape, in[0], in[1], in[2]);
}

#define LAYER_NORM_CASE(label, rows, cols, range, is_bench)                                                            \
    {                                                                                                                  \
        .name = "layer norm " label,                                                                                   \
        .inputs = {{"x", rows, cols, -(range), range, true},                                                           \
                   {"gain", 1, cols, .5, 1.5, true},                                                                   \
                   {"offset", 1, cols, -1, 1, true}},                                                                  \
        .run = run, .bench = (is_bench)                                                                                \
    }

static const OpCase cases[] = {
    LAYER_NORM_CASE("none", 0, 3, 1, false),
    LAYER_NORM_CASE("one column", 3, 1, 1, false),
    LAYER_NORM_CASE("odd", 7, 5, 2, false),
    LAYER_NORM_CASE("many rows", 1031, 8, 2, false),
    LAYER_NORM_CASE("nearly equal", 4, 6, 0.03, false),
    LAYER_NORM_CASE("65536x128", 65536, 128, 2, true),
};

const OpCases layer_norm_cases = {"layer_norm", cases, sizeof cases / sizeof *cases};
