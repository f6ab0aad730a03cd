// SPDX-License-Identifier: Apache-2.0
#include "train/flow_term.h"

#include "nn/backend.h"
#include "nn/reduce.h"
#include "nn/row_ops.h"

enum { TRACK_NEIGHBOURS = 4 };

// Starts at the particles before this step, which are the last set but one.
static void start_track(Tape *tape, const Scene *scene, FlowTrack *track) {
    const Tensor *x = scene->sets.set[scene->sets.count - 2].x;
    track->y = tape_memory(tape, 3 * x->rows, sizeof *track->y);
    if (!tape->device->failed) tape->device->nn->copy(tape->device, track->y, x->value, 3 * x->rows * sizeof *track->y);
}

static void move_track(Tape *tape, const Vpd *model, const Scene *scene, const Observation *frames,
                       const MotionField *field, FlowTrack *track) {
    Device *device = tape->device;
    ArenaMark mark = arena_mark(&device->scratch);
    const GnnSet *present = &scene->sets.set[scene->sets.count - 1];
    size_t N = present->x->rows;
    Flow flow = motion_upload(tape, frames, field);
    real *u = device_scratch(device, 3 * N + 1);
    flow_at(device, &flow, &(FlowPoints){N, track->y, present->c}, (real)model->config.gnn.colour_length,
            TRACK_NEIGHBOURS, u, NULL);
    if (!device->failed) device->nn->row_add(device, &(RowAddArgs){3 * N, track->y, u, 1, track->y});
    arena_release(&device->scratch, mark);
}

// Weights 1 / (number of moving particles) for moving ones, and likewise for static ones.
static const real *weights_of(Tape *tape, const Vpd *model, const Scene *scene, size_t N) {
    real *weight = tape_context(tape, (N + 1) * sizeof *weight);
    size_t count[2] = {0};
    bool flags = model->config.gnn.moving_flag == SWITCH_ON;
    for (size_t i = 0; i < N; i++) count[!flags || scene->moving[i] > 0]++;
    for (size_t i = 0; weight && i < N; i++) weight[i] = 1 / (real)count[!flags || scene->moving[i] > 0];
    return tape_upload(tape, weight, N, sizeof *weight);
}

Status flow_term(Tape *tape, const Vpd *model, const Scene *scene, const Observation *frames, const MotionField *field,
                 FlowTrack *track, Tensor **out, Error *err) {
    const Config *c = &model->config;
    Tensor *x = scene->sets.set[scene->sets.count - 1].x;
    if (!track->y) start_track(tape, scene, track);
    move_track(tape, model, scene, frames, field, track);
    // The track moves again at the next step, so the loss needs a copy.
    real *target = tape_memory(tape, 3 * x->rows, sizeof *target);
    if (!tape->device->failed) tape->device->nn->copy(tape->device, target, track->y, 3 * x->rows * sizeof *target);
    *out = reduce_huber(tape, x, target, weights_of(tape, model, scene, x->rows), 0.05 * c->data.extent,
                        1 / c->gnn.displacement_scale);
    return device_status(tape->device, err);
}
