// SPDX-License-Identifier: Apache-2.0
#include "encoder/encoder.h"

#include "base/check.h"
#include "nn/backend.h"
#include "nn/conv2d.h"
#include "nn/group_norm.h"
#include "nn/image_ops.h"
#include "nn/linear.h"
#include "nn/rows.h"

static size_t input_channels(const EncoderConfig *config) { return config->depth_input ? 4 : 3; }

static void create_block(EncoderBlock *block, Parameters *set, size_t in, size_t out, const char *stage, int level,
                         int i) {
    block->weight = parameters_add(set, INIT_UNIFORM, 9.0 * (double)in, 4, (size_t[]){3, 3, in, out},
                                   "encoder.%s%d.conv%d.weight", stage, level, i);
    block->bias = parameters_add(set, INIT_ZERO, 0, 1, &out, "encoder.%s%d.conv%d.bias", stage, level, i);
    block->gain = parameters_add(set, INIT_ONE, 0, 1, &out, "encoder.%s%d.norm%d.gain", stage, level, i);
    block->offset = parameters_add(set, INIT_ZERO, 0, 1, &out, "encoder.%s%d.norm%d.offset", stage, level, i);
}

void encoder_create(Encoder *encoder, Parameters *set, const EncoderConfig *config) {
    CHECK(config->levels >= 1 && config->levels <= ENCODER_MAX_LEVELS);
    *encoder = (Encoder){.config = *config};
    const size_t *widths = config->widths;
    for (int l = 0; l < config->levels; l++) {
        create_block(&encoder->down[l][0], set, l ? widths[l - 1] : input_channels(config), widths[l], "down", l, 0);
        create_block(&encoder->down[l][1], set, widths[l], widths[l], "down", l, 1);
    }
    for (int l = config->levels - 2; l >= 0; l--) {
        create_block(&encoder->up[l][0], set, widths[l] + widths[l + 1], widths[l], "up", l, 0);
        create_block(&encoder->up[l][1], set, widths[l], widths[l], "up", l, 1);
    }
    // Latents begin at zero, so that motion can be trained without them first.
    encoder->out_weight =
        parameters_add(set, INIT_ZERO, 0, 2, (size_t[]){widths[0], config->latent}, "encoder.out.weight");
    encoder->out_bias = parameters_add(set, INIT_ZERO, 0, 1, &config->latent, "encoder.out.bias");
}

// Colours, and with 4 channels depth, of `pixels` pixels of an observation from number `from` on.
static void write_input(const Observation *o, size_t from, size_t pixels, size_t channels, double extent, real *out) {
    for (size_t i = 0; i < pixels; i++) {
        for (size_t c = 0; c < 3; c++) out[i * channels + c] = (real)o->rgb[3 * (from + i) + c] / 255 - (real)0.5;
        if (channels == 4) out[i * channels + 3] = (real)((double)o->depth[from + i] / extent);
    }
}

Tensor *encoder_input(Tape *tape, const Encoder *encoder, size_t count, const Observation *const *observations,
                      int first, int frames) {
    size_t channels = input_channels(&encoder->config), pixels = 0, done = 0;
    for (size_t i = 0; i < count; i++) pixels += (size_t)frames * observation_pixels(observations[i]);
    Tensor *images = tape_tensor(tape, pixels, channels, false);
    real *host = tape_context(tape, (pixels * channels + 1) * sizeof *host);
    if (!host || !images->value) return images;
    for (size_t i = 0; i < count; i++) {
        size_t frame = observation_pixels(observations[i]), own = (size_t)frames * frame;
        write_input(observations[i], (size_t)first * frame, own, channels, encoder->config.extent,
                    host + done * channels);
        done += own;
    }
    tape->device->nn->upload(tape->device, images->value, host, pixels * channels * sizeof *host);
    return images;
}

static Tensor *block_forward(Tape *tape, const EncoderBlock *block, Tensor *x, ImageShape shape) {
    x = conv2d(tape, x, shape, block->weight, block->bias);
    return group_norm(tape, x, shape, block->gain, block->offset);
}

// The device's layout for convolutions, if it suits every level and the input.
static size_t choose_block(const Device *device, const EncoderConfig *config) {
    size_t block = device->nn->image_block;
    if (!block || input_channels(config) % block == 0) return 0;
    for (int l = 0; l < config->levels; l++)
        if (config->widths[l] % block != 0) return 0;
    return block;
}

static size_t round_up(size_t x, size_t to) { return (x + to - 1) / to * to; }

Tensor *encoder_pixels(Tape *tape, const Encoder *encoder, Tensor *images, ImageShape shape) {
    int levels = encoder->config.levels;
    size_t divisor = (size_t)1 << (levels - 1);
    ImageShape padded = {shape.n, round_up(shape.h, divisor), round_up(shape.w, divisor)}, now = padded;
    images->block = choose_block(tape->device, &encoder->config);
    Tensor *x = image_pad(tape, images, shape, padded.h, padded.w), *skip[ENCODER_MAX_LEVELS];
    // Down: two blocks a level, each level at half the size.
    for (int l = 0; l < levels; l++) {
        if (l > 0) {
            x = average_pool_2x2(tape, x, now);
            now = (ImageShape){now.n, now.h / 2, now.w / 2};
        }
        for (int i = 0; i < 2; i++) x = block_forward(tape, &encoder->down[l][i], x, now);
        skip[l] = x;
    }
    // Up: join the features of the same size from the way down.
    for (int l = levels - 2; l >= 0; l--) {
        x = upsample_concat(tape, skip[l], x, now);
        now = (ImageShape){now.n, 2 * now.h, 2 * now.w};
        for (int i = 0; i < 2; i++) x = block_forward(tape, &encoder->up[l][i], x, now);
    }
    return image_crop_to_rows(tape, x, padded, shape.h, shape.w);
}

Tensor *encoder_latents(Tape *tape, const Encoder *encoder, Tensor *pixels, size_t count, const int32_t *pixel) {
    return linear(tape, gather_rows(tape, pixels, count, pixel), encoder->out_weight, encoder->out_bias);
}
