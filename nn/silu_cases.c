// SPDX-License-Identifier: Apache-2.0
#include "nn/cases.h"
#include "nn/silu.h"

static Tensor *run(Tape *tape, Tensor *const *in, const OpCase *c) {
    (void)c;
    return silu(tape, in[0]);
}

#define SILU_CASE(label, rows, cols, range, is_bench)                                                                  \
    { .name = "silu " label, .inputs = {{"x", rows, cols, -(range), range, true}}, .run = run, .bench = (is_bench) }

static const OpCase cases[] = {
    SILU_CASE("odd", 13, 7, 5, false),
    SILU_CASE("large", 9, 3, 200, false),
    SILU_CASE("several chunks", 3001, 11, 5, false),
    SILU_CASE("98304x128", 98304, 128, 5, true),
};

const OpCases silu_cases = {"silu", cases, sizeof cases / sizeof *cases};
