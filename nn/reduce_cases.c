// SPDX-License-Identifier: Apache-2.0
// Inputs beside x are constants: the target and, one column wide, the weight of each row. sizes: kind.
#include "nn/cases.h"
#include "nn/reduce.h"

static Tensor *run(Tape *tape, Tensor *const *in, const OpCase *c) {
    size_t count = case_input_count(c);
    return reduce(tape, in[0], (ReduceKind)c->sizes[0], count > 1 ? in[1]->value : NULL,
                  count > 2 ? in[2]->value : NULL, 0.3);
}

static Tensor *run_mean(Tape *tape, Tensor *const *in, const OpCase *c) {
    (void)c;
    return reduce_mean(tape, in[0]);
}

static Tensor *run_huber(Tape *tape, Tensor *const *in, const OpCase *c) {
    (void)c;
    return reduce_huber(tape, in[0], in[1]->value, in[2]->value, 0.2, 0.3);
}

#define X(rows, cols)                                                                                                  \
    { "x", rows, cols, -1, 1, true }
#define T(rows, cols)                                                                                                  \
    { "target", rows, cols, -1, 1, false }
#define W(rows)                                                                                                        \
    { "weight", rows, 1, 0, 1, false }

static const OpCase cases[] = {
    {.name = "reduce mean none", .inputs = {X(0, 3)}, .run = run_mean},
    {.name = "reduce mean", .inputs = {X(13, 3)}, .run = run_mean},
    {.name = "reduce sum", .inputs = {X(1100, 3)}, .run = run, .sizes = {REDUCE_VALUE}},
    {.name = "reduce abs", .inputs = {X(7, 3)}, .run = run, .sizes = {REDUCE_ABS}},
    {.name = "reduce square", .inputs = {X(9, 3), T(9, 3)}, .run = run, .sizes = {REDUCE_SQUARE}},
    {.name = "reduce weighted square", .inputs = {X(9, 3), T(9, 3), W(9)}, .run = run, .sizes = {REDUCE_SQUARE}},
    {.name = "reduce weighted huber", .inputs = {X(9, 3), T(9, 3), W(9)}, .run = run_huber},
    {.name = "reduce weighted square 65536x3",
     .inputs = {X(65536, 3), T(65536, 3), W(65536)},
     .run = run,
     .sizes = {REDUCE_SQUARE},
     .bench = true},
};

const OpCases reduce_cases = {"reduce", cases, sizeof cases / sizeof *cases};
