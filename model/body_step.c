// SPDX-License-Identifier: Apache-2.0
#include "model/body_step.h"

#include "nn/backend.h"

#include <string.h>

void body_step_free(BodyStep *step) {
    body_set_free(&step->set);
    body_inputs_free(&step->inputs);
}

SceneBodies scene_bodies_of(Tape *tape, const Observation *observation, const MotionField *field, double colour_length,
                            size_t count, const real *position, const real *colour, const real *moving) {
    SceneBodies out = {.body = tape_context(tape, (count + 1) * sizeof *out.body),
                       .before = tape_context(tape, (3 * count + 1) * sizeof *out.before),
                       .now = tape_context(tape, (3 * count + 1) * sizeof *out.now)};
    if (tape->device->failed) return (SceneBodies){0};
    out.count = count;
    memcpy(out.now, position, 3 * count * sizeof *position);
    memcpy(out.before, position, 3 * count * sizeof *position);
    for (size_t i = 0; i < count; i++) {
        double x[3], before[3], turned[3];
        out.body[i] = -1;
        if (!(moving[i] > 0)) continue;
        for (size_t c = 0; c < 3; c++) turned[c] = (double)position[3 * i + c];
        observation_turn_back(observation, turned, x);
        out.body[i] = motion_field_at(field, colour_length, x, colour + 3 * i, before);
        observation_turn(observation, before, turned);
        for (size_t c = 0; c < 3 && out.body[i] >= 0; c++) out.before[3 * i + c] = (real)turned[c];
    }
    return out;
}

// Points of a body, or of what stands still, that are looked at: the first ones, whose order is random.
enum { POINTS = 2048 };

typedef struct Points {
    size_t count;
    real now[3 * POINTS], before[3 * POINTS];
} Points;

static void gather(const SceneBodies *bodies, int32_t body, Points *out) {
    out->count = 0;
    for (size_t i = 0; i < bodies->count && out->count < POINTS; i++) {
        if (bodies->body[i] != body) continue;
        memcpy(out->now + 3 * out->count, bodies->now + 3 * i, 3 * sizeof *out->now);
        memcpy(out->before + 3 * out->count++, bodies->before + 3 * i, 3 * sizeof *out->before);
    }
}

// The set's bodies are in the order of their numbers; index[number] is the place of each.
static Status fill(BodySet *set, const SceneBodies *bodies, size_t numbers, Points *points, int32_t *index,
                   Error *err) {
    body_set_clear(set);
    Status status = body_set_add_window(set, err);
    gather(bodies, -1, points);
    if (status == STATUS_OK) status = body_set_add_surface(set, points->count, points->now, err);
    for (size_t b = 0; b < numbers && status == STATUS_OK; b++) {
        gather(bodies, (int32_t)b, points);
        index[b] = (int32_t)set->bodies;
        if (points->count) status = body_set_add_points(set, points->count, points->now, points->before, NULL, err);
    }
    return status;
}

static void move_particles(const RigidMotion *motion, const int32_t *index, SceneBodies *bodies) {
    memcpy(bodies->before, bodies->now, 3 * bodies->count * sizeof *bodies->now);
    for (size_t i = 0; i < bodies->count; i++)
        if (bodies->body[i] >= 0)
            rigid_motion_apply(&motion[index[bodies->body[i]]], bodies->before + 3 * i, bodies->now + 3 * i);
}

static size_t numbers_of(const SceneBodies *bodies) {
    int32_t most = -1;
    for (size_t i = 0; i < bodies->count; i++) most = bodies->body[i] > most ? bodies->body[i] : most;
    return (size_t)(most + 1);
}

// (nodes, 3) in host memory. Gradients do not go through a rigid motion, so nothing is recorded.
static real *predict(Tape *tape, const BodyNetwork *network, const BodyStep *step) {
    bool recording = tape->recording;
    tape->recording = false;
    Tensor *output = body_network_run(tape, network, &step->set, &step->inputs);
    tape->recording = recording;
    real *host = tape_context(tape, 3 * step->set.nodes * sizeof *host);
    if (host && !tape->device->failed)
        tape->device->nn->download(tape->device, host, output->value, 3 * step->set.nodes * sizeof *host);
    return host;
}

void body_step(Tape *tape, const BodyNetwork *network, const BodyScales *scales, BodyStep *step, SceneBodies *bodies) {
    size_t numbers = numbers_of(bodies);
    Error err;
    if (!numbers) return;
    Points *points = tape_context(tape, sizeof *points);
    int32_t *index = tape_context(tape, numbers * sizeof *index);
    RigidMotion *motion = tape_context(tape, numbers * sizeof *motion);
    if (tape->device->failed) return;
    Status status = fill(&step->set, bodies, numbers, points, index, &err);
    if (status == STATUS_OK) status = body_inputs_make(&step->set, scales, &step->inputs, &err);
    if (status != STATUS_OK) device_fail(tape->device, status, "%s", err.text);
    const real *output = tape->device->failed ? NULL : predict(tape, network, step);
    if (tape->device->failed) return;
    body_motions(&step->set, scales, &step->inputs, output, motion);
    move_particles(motion, index, bodies);
}
