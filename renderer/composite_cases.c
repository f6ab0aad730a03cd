// SPDX-License-Identifier: Apache-2.0
#include "renderer/cases.h"
#include "renderer/composite.h"

enum { RAYS, LOGITS, OUTPUT }; // in `sizes`
enum { COLOUR, OPACITY, DEPTH };

static Tensor *run(Tape *tape, Tensor *const *in, const OpCase *c) {
    RendererSamples *samples = case_samples(tape, (size_t)c->sizes[RAYS], in[0]->rows, 1, 1);
    Tensor *background = c->inputs[1].name ? in[1] : NULL;
    CompositeOutput out = composite(tape, samples, in[0], background, c->sizes[LOGITS], (real)2);
    return c->sizes[OUTPUT] == COLOUR ? out.colour : c->sizes[OUTPUT] == OPACITY ? out.opacity : out.depth;
}

// Densities and colours in [low, high]; the spacing is 2.
#define COMPOSITE_CASE(label, rays, n, low, high, background_rows, logits, output, is_bench)                           \
    {                                                                                                                  \
        .name = "composite " label,                                                                                    \
        .inputs = {{"shaded", n, 4, low, high, true}, {"background", background_rows, 3, -1, 1, true}}, .run = run,    \
        .sizes = {rays, logits, output}, .bench = is_bench                                                             \
    }

static const OpCase cases[] = {
    COMPOSITE_CASE("no rays", 0, 0, 0.1, 1, 1, 0, COLOUR, false),
    COMPOSITE_CASE("no samples", 5, 0, 0.1, 1, 1, 0, COLOUR, false),
    COMPOSITE_CASE("one", 1, 1, 0.1, 1, 1, 0, COLOUR, false),
    COMPOSITE_CASE("colour", 17, 90, 0.1, 1, 1, 0, COLOUR, false),
    COMPOSITE_CASE("colour, logits", 17, 90, 0.1, 1, 1, 1, COLOUR, false),
    COMPOSITE_CASE("colour, background per ray", 17, 90, 0.1, 1, 17, 1, COLOUR, false),
    {.name = "composite colour, black",
     .inputs = {{"shaded", 40, 4, 0.1, 1, true}},
     .run = run,
     .sizes = {9, 0, COLOUR}},
    COMPOSITE_CASE("opacity", 17, 90, 0.1, 1, 1, 0, OPACITY, false),
    COMPOSITE_CASE("depth", 17, 90, 0.1, 1, 1, 0, DEPTH, false),
    COMPOSITE_CASE("thin", 17, 90, 0.02, 0.04, 1, 0, DEPTH, false),
    COMPOSITE_CASE("opaque", 17, 90, 20, 60, 1, 0, COLOUR, false),
    COMPOSITE_CASE("several chunks", 700, 2000, 0.1, 1, 1, 1, COLOUR, false),
    COMPOSITE_CASE("paper", 1024, 5120, 0.1, 1, 1, 0, COLOUR, true),
};

const OpCases composite_cases = {"composite", cases, sizeof cases / sizeof *cases};
