// SPDX-License-Identifier: Apache-2.0
#include "bench/step_work.h"

#include "bench/dynamics_bench.h"

#include <math.h>

// A convolution reads and writes images, and so does its norm; the backward pass does twice as much.
static void add_block(StepWork *work, double pixels, size_t in, size_t out) {
    work->flops[PART_ENCODER] += 3 * 2 * 9 * pixels * (double)(in * out);
    work->bytes[PART_ENCODER] += 3 * sizeof(real) * pixels * (double)(in + 3 * out);
}

static void add_encoder(StepWork *work, const EncoderConfig *c, ImageShape images) {
    const size_t *w = c->widths;
    for (int l = 0; l < c->levels; l++) {
        double pixels = (double)image_pixels(images) / pow(4, l);
        add_block(work, pixels, l ? w[l - 1] : c->depth_input ? 4 : 3, w[l]);
        add_block(work, pixels, w[l], w[l]);
        if (l + 1 == c->levels) break;
        add_block(work, pixels, w[l] + w[l + 1], w[l]);
        add_block(work, pixels, w[l], w[l]);
    }
}

StepWork step_work(const Vpd *model, ImageShape images, size_t count, int rollout) {
    StepWork work = {{0}, {0}, 0};
    size_t particles[GNN_MAX_SETS];
    for (int t = 0; t < GNN_MAX_SETS; t++) particles[t] = count;
    add_encoder(&work, &model->encoder.config, images);
    work.flops[PART_DYNAMICS] = rollout * dynamics_useful_flops(&model->dynamics->config, particles);
    // Gradients are cleared, added to and read; values, two moments and the average are read and written.
    work.update_bytes = 11.0 * sizeof(real) * (double)model->parameters.size;
    return work;
}

double step_work_floor(const StepWork *work, double flops_per_second, double bytes_per_second) {
    if (!(flops_per_second > 0) || !(bytes_per_second > 0)) return 0;
    double seconds = work->update_bytes / bytes_per_second;
    for (int i = 0; i < PART_COUNT; i++)
        seconds += fmax(work->flops[i] / flops_per_second, work->bytes[i] / bytes_per_second);
    return seconds;
}
