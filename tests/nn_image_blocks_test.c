// SPDX-License-Identifier: Apache-2.0
// Images whose channels lie in blocks give what NHWC gives: convolution, group norm, pooling, upsampling with skip,
// padding and cropping, forward and backward.
#include "tests/test.h"

#include "base/random.h"
#include "nn/backend.h"
#include "nn/conv2d.h"
#include "nn/group_norm.h"
#include "nn/image_ops.h"

enum { N = 2, HEIGHT = 6, WIDTH = 4, CHANNELS = 32, SKIPPED = 16, OUT = 48 };

static const ImageShape SHAPE = {N, HEIGHT, WIDTH};

static real number(uint32_t stream, size_t i) {
    return 2 * random_uniform((RandomKey){21, RANDOM_TEST, stream, 0}, i) - 1;
}

static size_t place(ImageShape s, size_t block, size_t channels, size_t row, size_t c) {
    size_t run = image_run(block, channels), pixels = s.h * s.w, image = row / pixels, pixel = row % pixels;
    return ((image * (channels / run) + c / run) * pixels + pixel) * run + c % run;
}

// The same numbers in either layout.
static Tensor *input(Tape *tape, ImageShape s, size_t channels, size_t block, uint32_t stream) {
    Tensor *x = tape_tensor(tape, image_pixels(s), channels, true);
    x->block = block;
    for (size_t i = 0; i < x->rows; i++)
        for (size_t c = 0; c < channels; c++)
            x->value[place(s, block, channels, i, c)] = number(stream, i * channels + c);
    return x;
}

static Tensor *weights(Tape *tape, size_t rows, size_t cols, uint32_t stream) {
    Tensor *x = tape_tensor(tape, rows, cols, true);
    for (size_t i = 0; i < rows * cols; i++) x->value[i] = number(stream, i);
    return x;
}

// An op on up to two images and two other inputs; in[1] to in[3] may stay NULL. Returns y's shape in *shape.
typedef Tensor *Op(Tape *tape, Tensor **in, size_t block, ImageShape *shape);

static Tensor *op_conv(Tape *tape, Tensor **in, size_t block, ImageShape *shape) {
    in[0] = input(tape, SHAPE, CHANNELS, block, 1);
    in[2] = weights(tape, 9 * CHANNELS, OUT, 2);
    in[3] = weights(tape, 1, OUT, 3);
    *shape = SHAPE;
    return conv2d(tape, in[0], SHAPE, in[2], in[3]);
}

// Three channels stay NHWC, their result lies in blocks.
static Tensor *op_first_conv(Tape *tape, Tensor **in, size_t block, ImageShape *shape) {
    in[0] = input(tape, SHAPE, 3, block, 1);
    in[2] = weights(tape, 27, OUT, 2);
    in[3] = weights(tape, 1, OUT, 3);
    *shape = SHAPE;
    return conv2d(tape, in[0], SHAPE, in[2], in[3]);
}

static Tensor *op_norm(Tape *tape, Tensor **in, size_t block, ImageShape *shape) {
    in[0] = input(tape, SHAPE, CHANNELS, block, 1);
    in[2] = weights(tape, 1, CHANNELS, 2);
    in[3] = weights(tape, 1, CHANNELS, 3);
    *shape = SHAPE;
    return group_norm(tape, in[0], SHAPE, in[2], in[3]);
}

static Tensor *op_pool(Tape *tape, Tensor **in, size_t block, ImageShape *shape) {
    in[0] = input(tape, SHAPE, CHANNELS, block, 1);
    *shape = (ImageShape){N, HEIGHT / 2, WIDTH / 2};
    return average_pool_2x2(tape, in[0], SHAPE);
}

static Tensor *op_upsample(Tape *tape, Tensor **in, size_t block, ImageShape *shape) {
    *shape = (ImageShape){N, 2 * HEIGHT, 2 * WIDTH};
    in[0] = input(tape, SHAPE, CHANNELS, block, 1);
    in[1] = input(tape, *shape, SKIPPED, block, 2);
    return upsample_concat(tape, in[1], in[0], SHAPE);
}

static Tensor *op_pad(Tape *tape, Tensor **in, size_t block, ImageShape *shape) {
    in[0] = input(tape, SHAPE, CHANNELS, block, 1);
    *shape = (ImageShape){N, HEIGHT + 3, WIDTH + 1};
    return image_pad(tape, in[0], SHAPE, shape->h, shape->w);
}

static Tensor *op_to_rows(Tape *tape, Tensor **in, size_t block, ImageShape *shape) {
    in[0] = input(tape, SHAPE, CHANNELS, block, 1);
    *shape = (ImageShape){N, HEIGHT - 1, WIDTH};
    return image_crop_to_rows(tape, in[0], SHAPE, shape->h, shape->w);
}

static double largest_difference(const real *a, const real *b, ImageShape s, size_t channels, size_t block) {
    double worst = 0;
    for (size_t i = 0; i < image_pixels(s); i++)
        for (size_t c = 0; c < channels; c++) {
            double off = fabs((double)(a[i * channels + c] - b[place(s, block, channels, i, c)]));
            worst = off <= worst ? worst : off;
        }
    return worst;
}

static void check(Op *op, const char *name, size_t block) {
    Device *device = NULL;
    Error err = {0};
    Tape tapes[2];
    Tensor *in[2][4] = {{NULL}}, *y[2];
    ImageShape shape;
    assert_status_ok(device_open("cpu", 2, &device, &err), err);
    for (int t = 0; t < 2; t++) {
        tape_init(&tapes[t], device);
        y[t] = op(&tapes[t], in[t], t ? block : 0, &shape);
        real *grad = tape_grad(&tapes[t], y[t]);
        for (size_t i = 0; i < y[t]->rows; i++)
            for (size_t c = 0; c < y[t]->cols; c++)
                grad[place(shape, y[t]->block, y[t]->cols, i, c)] = number(9, i * y[t]->cols + c);
        tape_backward_from_grads(&tapes[t]);
    }
    assert_status_ok(device_status(device, &err), err);
    // Sums of some hundred products of numbers below 1, in another order.
    double worst = largest_difference(y[0]->value, y[1]->value, shape, y[0]->cols, y[1]->block);
    worst = fmax(worst, largest_difference(in[0][0]->grad, in[1][0]->grad, SHAPE, in[0][0]->cols, block));
    if (in[0][1]) worst = fmax(worst, largest_difference(in[0][1]->grad, in[1][1]->grad, shape, in[0][1]->cols, block));
    for (int i = 2; i < 4 && in[0][i]; i++)
        for (size_t j = 0; j < in[0][i]->rows * in[0][i]->cols; j++)
            worst = fmax(worst, fabs((double)(in[0][i]->grad[j] - in[1][i]->grad[j])));
    if (!(worst < 1e-4)) fail_msg("%s in blocks of %zu: off by %g", name, block, worst);
    for (int t = 0; t < 2; t++) tape_free(&tapes[t]);
    device_close(device);
}

static void blocks_equal_rows(void **state) {
    (void)state;
    static const struct {
        Op *op;
        const char *name;
    } ops[] = {{op_conv, "conv2d"},    {op_first_conv, "first conv2d"}, {op_norm, "group norm"},
               {op_pool, "pool"},      {op_upsample, "upsample"},       {op_pad, "pad"},
               {op_to_rows, "to rows"}};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        for (size_t block = 8; block <= 16; block *= 2) check(ops[i].op, ops[i].name, block);
}

// The planted error: values that lie elsewhere.
static void wrong_place_is_noticed(void **state) {
    (void)state;
    real rows[N * HEIGHT * WIDTH * 16], blocks[N * HEIGHT * WIDTH * 16];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) rows[i] = blocks[i] = number(1, i);
    assert_true(largest_difference(rows, blocks, SHAPE, 16, 0) == 0);
    assert_true(largest_difference(rows, blocks, SHAPE, 16, 8) > 0.1);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(blocks_equal_rows), cmocka_unit_test(wrong_place_is_noticed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
