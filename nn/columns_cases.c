// SPDX-License-Identifier: Apache-2.0
#include "nn/cases.h"
#include "nn/columns.h"

static Tensor *run_concat(Tape *tape, Tensor *const *in, const OpCase *c) {
    return concat_columns(tape, case_input_count(c), in);
}

#define X(name, rows, cols)                                                                                            \
    { name, rows, cols, -1, 1, true }

static const OpCase cases[] = {
    {.name = "concat none", .inputs = {X("a", 0, 3), X("b", 0, 2)}, .run = run_concat},
    {.name = "concat one", .inputs = {X("a", 4, 3)}, .run = run_concat},
    {.name = "concat",
     .inputs = {X("a", 6, 3), X("b", 6, 0), {"constant", 6, 2, -1, 1, false}, X("d", 6, 5)},
     .run = run_concat},
    {.name = "concat 65536x(64+64)",
     .inputs = {X("a", 65536, 64), X("b", 65536, 64)},
     .run = run_concat,
     .bench = true},
};

const OpCases columns_cases = {"columns", cases, sizeof cases / sizeof *cases};
