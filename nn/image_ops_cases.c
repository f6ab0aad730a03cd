// SPDX-License-Identifier: Apache-2.0
#include "nn/cases.h"
#include "nn/image_ops.h"

static ImageShape shape_of(const OpCase *c) {
    return (ImageShape){(size_t)c->sizes[0], (size_t)c->sizes[1], (size_t)c->sizes[2]};
}
static Tensor *pool(Tape *tape, Tensor *const *in, const OpCase *c) {
    return average_pool_2x2(tape, in[0], shape_of(c));
}
static Tensor *up(Tape *tape, Tensor *const *in, const OpCase *c) {
    return upsample_concat(tape, in[1], in[0], shape_of(c));
}
static Tensor *pad(Tape *tape, Tensor *const *in, const OpCase *c) {
    return image_pad(tape, in[0], shape_of(c), (size_t)c->sizes[3], (size_t)c->sizes[4]);
}
static Tensor *crop(Tape *tape, Tensor *const *in, const OpCase *c) {
    return image_crop_to_rows(tape, in[0], shape_of(c), (size_t)c->sizes[3], (size_t)c->sizes[4]);
}

#define X(n, h, w, channels)                                                                                           \
    { "x", (n) * (h) * (w), channels, -1, 1, true }

static const OpCase cases[] = {
    {.name = "average_pool no image", .inputs = {X(0, 2, 2, 3)}, .run = pool, .sizes = {0, 2, 2}},
    {.name = "average_pool", .inputs = {X(2, 4, 6, 3)}, .run = pool, .sizes = {2, 4, 6}},
    {.name = "upsample_concat", .inputs = {X(2, 2, 3, 4), {"skip", 48, 5, -1, 1, true}}, .run = up, .sizes = {2, 2, 3}},
    {.name = "pad", .inputs = {X(2, 3, 5, 2)}, .run = pad, .sizes = {2, 3, 5, 4, 8}},
    {.name = "pad one pixel", .inputs = {X(1, 1, 1, 2)}, .run = pad, .sizes = {1, 1, 1, 8, 8}},
    {.name = "crop", .inputs = {X(2, 4, 8, 2)}, .run = crop, .sizes = {2, 4, 8, 3, 5}},
    {.name = "upsample_concat 8x64x64x64",
     .inputs = {X(8, 64, 64, 64), {"skip", 8 * 128 * 128, 32, -1, 1, true}},
     .run = up,
     .sizes = {8, 64, 64},
     .bench = true},
};

const OpCases image_ops_cases = {"image_ops", cases, sizeof cases / sizeof *cases};
