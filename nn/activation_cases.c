// SPDX-License-Identifier: Apache-2.0
#include "nn/activation.h"
#include "nn/cases.h"

static Tensor *run(Tape *tape, Tensor *const *in, const OpCase *c) {
    return activation(tape, in[0], (Activation)c->sizes[0]);
}

#define ACTIVATION_CASE(label, kind, rows, cols, range, is_bench)                                                      \
    {                                                                                                                  \
        .name = "activation " label, .inputs = {{"x", rows, cols, -(range), range, true}}, .run = run,                 \
        .sizes = {kind}, .bench = (is_bench)                                                                           \
    }

static const OpCase cases[] = {
    ACTIVATION_CASE("silu", ACTIVATION_SILU, 13, 7, 5, false),
    ACTIVATION_CASE("silu large", ACTIVATION_SILU, 9, 3, 200, false),
    ACTIVATION_CASE("silu several chunks", ACTIVATION_SILU, 3001, 11, 5, false),
    ACTIVATION_CASE("relu", ACTIVATION_RELU, 13, 7, 5, false),
    ACTIVATION_CASE("tanh", ACTIVATION_TANH, 13, 7, 5, false),
    ACTIVATION_CASE("sigmoid", ACTIVATION_SIGMOID, 13, 7, 5, false),
    ACTIVATION_CASE("softplus", ACTIVATION_SOFTPLUS, 13, 7, 5, false),
    ACTIVATION_CASE("silu 98304x128", ACTIVATION_SILU, 98304, 128, 5, true),
};

const OpCases activation_cases = {"activation", cases, sizeof cases / sizeof *cases};
