// SPDX-License-Identifier: Apache-2.0
// sizes: which output is tested (0: dx, 1: x, 2: f, 3: dx and f), first changing feature, whether features change.
#include "gnn/advance.h"
#include "gnn/cases.h"

enum { OUTPUT, FIRST, CHANGE };

static Tensor *run(Tape *tape, Tensor *const *in, const OpCase *c) {
    AdvanceCall call = {.x = in[0],
                        .f = in[1],
                        .o = in[2],
                        .scale = (real)0.3,
                        .change = (real)(c->sizes[CHANGE] ? 0.2 : 0),
                        .f_first = (size_t)c->sizes[FIRST]};
    AdvanceOutput output = advance(tape, &call);
    if (c->sizes[OUTPUT] == 3) return case_join(tape, output.dx, output.f);
    return c->sizes[OUTPUT] == 0 ? output.dx : c->sizes[OUTPUT] == 1 ? output.x : output.f;
}

#define INPUTS(n, d, w)                                                                                                \
    {"x", n, 3, -1, 1, true}, {"f", n, d, -1, 1, true}, { "o", n, w, -1, 1, true }

static const OpCase cases[] = {
    {.name = "advance dx", .run = run, .sizes = {0, 3, 0}, .inputs = {INPUTS(7, 5, 3)}},
    {.name = "advance x", .run = run, .sizes = {1, 3, 0}, .inputs = {INPUTS(7, 5, 3)}},
    {.name = "advance f", .run = run, .sizes = {2, 3, 1}, .inputs = {INPUTS(7, 5, 5)}},
    {.name = "advance all features", .run = run, .sizes = {3, 0, 1}, .inputs = {INPUTS(6, 4, 7)}},
    {.name = "advance none", .run = run, .sizes = {3, 3, 1}, .inputs = {INPUTS(0, 5, 5)}},
};

const OpCases advance_cases = {"advance", cases, sizeof cases / sizeof *cases};
