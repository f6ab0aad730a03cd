// SPDX-License-Identifier: Apache-2.0
#include "nn/cases.h"
#include "nn/combine.h"

static Tensor *run_add(Tape *tape, Tensor *const *in, const OpCase *c) {
    (void)c;
    return tensor_add(tape, in[0], in[1]);
}

static Tensor *run_scale(Tape *tape, Tensor *const *in, const OpCase *c) {
    (void)c;
    return tensor_scale(tape, in[0], (real)-1.75);
}

// An input that is used twice gets both gradients.
static Tensor *run_twice(Tape *tape, Tensor *const *in, const OpCase *c) {
    (void)c;
    return tensor_add_scaled(tape, tensor_add(tape, in[0], in[0]), in[0], -3);
}

#define X(name, rows, cols)                                                                                            \
    { name, rows, cols, -1, 1, true }

static const OpCase cases[] = {
    {.name = "add none", .inputs = {X("a", 0, 3), X("b", 0, 3)}, .run = run_add},
    {.name = "add", .inputs = {X("a", 7, 5), X("b", 7, 5)}, .run = run_add},
    {.name = "add constant", .inputs = {{"a", 7, 5, -1, 1, false}, X("b", 7, 5)}, .run = run_add},
    {.name = "add twice", .inputs = {X("a", 3, 4)}, .run = run_twice},
    {.name = "scale", .inputs = {X("a", 11, 3)}, .run = run_scale},
    {.name = "add 65536x128", .inputs = {X("a", 65536, 128), X("b", 65536, 128)}, .run = run_add, .bench = true},
};

const OpCases combine_cases = {"combine", cases, sizeof cases / sizeof *cases};
