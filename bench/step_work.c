// SPDX-License-Identifier: Apache-2.0
#include "bench/step_work.h"

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

// Multiply-adds of one forward pass.
static double message_work(double rows, double C) { return 2 * rows * C * C; }

// Useful floating-point operations of one rollout step, forward and backward: matrix products only, 2 per multiply-add,
// three times the forward pass; recomputation is not counted.
static double dynamics_flops(const GnnConfig *c, const size_t *particles) {
    bool flat = c->graph == GRAPH_FLAT;
    double C = (double)c->C, S = (double)gnn_input_width(c), N = (double)particles[c->T - 1];
    double M = N < (double)c->M || flat ? N : (double)c->M, among = M * (double)c->k_node_to_node,
           to = N * (double)c->k_node_to_particle, work = 0, out = 3 + (double)gnn_feature_outputs(c);
    if (c->graph != GRAPH_HIERARCHICAL && !flat) return 0;
    if (flat) {
        double past = c->T > 1 ? N * (double)c->k_particle_to_node : 0;
        work += N * S * C + past * 4 * C + message_work(past, C) + N * (S + C) * C + 2 * N * C * C;
    } else {
        for (size_t t = 0; t < c->T; t++) {
            double n = (double)particles[t], edges = n * (double)c->k_particle_to_node;
            work += n * S * C + edges * 4 * C + message_work(edges, C);
        }
        work += M * (double)c->T * (C + 1) * C + 2 * M * C * C;
    }
    if (c->L > 0) work += among * 4 * C + message_work(among, C);
    work += (double)c->L * (2 * M * C * C + 3 * among * C * C + 4 * M * C * C);
    if (flat) work += 2 * N * C * C + N * C * out;
    else work += M * C * C + N * S * C + to * 4 * C + message_work(to, C) + N * (S + 2 * C) * C + N * C * out;
    return 6 * work;
}

StepWork step_work(const Vpd *model, size_t episodes, ImageShape images, size_t count, int rollout) {
    StepWork work = {{0}, {0}, 0};
    size_t particles[GNN_MAX_SETS];
    for (int t = 0; t < GNN_MAX_SETS; t++) particles[t] = count;
    images.n *= episodes;
    add_encoder(&work, &model->encoder.config, images);
    work.flops[PART_DYNAMICS] = (double)episodes * rollout * dynamics_flops(&model->dynamics->config, particles);
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
