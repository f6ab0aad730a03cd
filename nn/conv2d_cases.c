// SPDX-License-Identifier: Apache-2.0
#include "nn/cases.h"
#include "nn/conv2d.h"

static Tensor *run(Tape *tape, Tensor *const *in, const OpCase *c) {
    ImageShape shape = {(size_t)c->sizes[0], (size_t)c->sizes[1], (size_t)c->sizes[2]};
    return conv2d(tape, in[0], shape, in[1], in[2]);
}

#define CONV2D_CASE(label, n, h, w, in, out, x_wants_grad, is_bench)                                                   \
    {                                                                                                                  \
        .name = "conv2d " label,                                                                                       \
        .inputs = {{"x", (n) * (h) * (w), in, -1, 1, x_wants_grad},                                                    \
                   {"weight", 9 * (in), out, -1, 1, true},                                                             \
                   {"bias", 1, out, -1, 1, true}},                                                                     \
        .run = run, .sizes = {n, h, w}, .flops = 6.0 * 9 * (n) * (h) * (w) * (in) * (out), .bench = (is_bench)         \
    }

static const OpCase cases[] = {
    CONV2D_CASE("no image", 0, 4, 4, 2, 3, true, false),
    CONV2D_CASE("one pixel", 1, 1, 1, 2, 3, true, false),
    CONV2D_CASE("one column", 2, 5, 1, 1, 2, true, false),
    CONV2D_CASE("odd", 2, 5, 7, 3, 4, true, false),
    CONV2D_CASE("constant x", 1, 4, 3, 3, 8, false, false),
    CONV2D_CASE("wide", 1, 6, 5, 16, 9, true, false),
    CONV2D_CASE("8x128x128x32 to 32", 8, 128, 128, 32, 32, true, true),
    CONV2D_CASE("8x16x16x256 to 256", 8, 16, 16, 256, 256, true, true),
};

const OpCases conv2d_cases = {"conv2d", cases, sizeof cases / sizeof *cases};
