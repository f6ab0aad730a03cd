// SPDX-License-Identifier: Apache-2.0
#include "sim/on_tape.h"

#include "nn/backend.h"
#include "nn/row_ops.h"
#include "sim/solver.h"

enum { POSITION, VELOCITY, OUTPUTS };

typedef struct RollNode {
    SimOnTape roll;
    SimValues values;     // with those of the tensors
    uint64_t number;      // of its rollout (Sim.rollouts)
    Tensor *out[OUTPUTS]; // velocity: may be NULL
    size_t row;           // numbers of a frame
} RollNode;

// Host memory of the tape.
static void *host_array(Tape *tape, size_t count, size_t size) { return tape_context(tape, count ? count * size : 1); }

static double *read_numbers(Tape *tape, const real *from, size_t count) {
    real *host = host_array(tape, count, sizeof *host);
    double *out = host_array(tape, count, sizeof *out);
    if (!host || !out) return NULL;
    tape->device->nn->download(tape->device, host, from, count * sizeof *host);
    for (size_t i = 0; i < count; i++) out[i] = (double)host[i];
    return out;
}

// ---- forward

// The values of the tensors take the place of the others.
static bool take_inputs(Tape *tape, RollNode *node) {
    SimRun *run = &node->roll.run;
    const double **given[SIM_VALUES] = {[SIM_POSITION] = &run->position, [SIM_VELOCITY] = &run->velocity,
                                        [SIM_FORCE] = &run->force,       [SIM_ACTIVATION] = &run->activation,
                                        [SIM_TORQUE] = &run->torque,     [SIM_THRUST] = &run->thrust,
                                        [SIM_DRIVE] = &run->drive};
    node->values = *node->roll.values;
    for (int v = 0; v < SIM_VALUES; v++) {
        const Tensor *x = node->roll.of[v];
        if (!x) continue;
        const size_t count = sim_value_count(&node->roll.sim->model, sim_controls(run), v);
        TAPE_CHECK_EQ(tape, x->rows * x->cols, count);
        double *numbers = read_numbers(tape, x->value, count);
        if (!numbers) return false;
        if (given[v]) *given[v] = numbers;
        else node->values.of[v] = numbers;
    }
    return true;
}

typedef struct Frames {
    size_t row;
    real *of[OUTPUTS];
} Frames;

static Status keep(void *context, size_t frame, const double *position, const double *velocity, Error *err) {
    const Frames *frames = context;
    const double *from[OUTPUTS] = {position, velocity};
    (void)err;
    for (int o = 0; o < OUTPUTS; o++)
        for (size_t i = 0; frames->of[o] && i < frames->row; i++)
            frames->of[o][frame * frames->row + i] = (real)from[o][i];
    return STATUS_OK;
}

// Whether the device has not failed.
static bool run_rollout(Tape *tape, RollNode *node, Frames *frames) {
    Error err = {0};
    SimRun run = node->roll.run;
    run.keep = frames ? keep : NULL;
    run.context = frames;
    Status status = sim_set(node->roll.sim, &node->values, &err);
    if (status == STATUS_OK) status = sim_rollout(node->roll.sim, &run, &err);
    if (status != STATUS_OK) device_fail(tape->device, status, "%s", err.text);
    node->number = node->roll.sim->rollouts;
    return status == STATUS_OK;
}

static void write_outputs(Tape *tape, RollNode *node) {
    const size_t count = sim_frames(&node->roll.run) * node->row;
    Frames frames = {.row = node->row};
    for (int o = 0; o < OUTPUTS; o++) {
        if (!node->out[o]) continue;
        frames.of[o] = host_array(tape, count, sizeof(real));
        if (!frames.of[o]) return;
    }
    if (!run_rollout(tape, node, &frames)) return;
    for (int o = 0; o < OUTPUTS; o++)
        if (node->out[o])
            tape->device->nn->upload(tape->device, node->out[o]->value, frames.of[o], count * sizeof(real));
}

// ---- backward

// Adds to the gradient of x.
static void add_gradient(Tape *tape, Tensor *x, const double *more) {
    Device *device = tape->device;
    const size_t count = x->rows * x->cols;
    real *grad = tape_grad(tape, x), *host = host_array(tape, count, sizeof *host);
    const ArenaMark mark = arena_mark(&device->scratch);
    real *scratch = device_scratch(device, count);
    if (grad && host && scratch) {
        for (size_t i = 0; i < count; i++) host[i] = (real)more[i];
        device->nn->upload(device, scratch, host, count * sizeof *host);
        device->nn->row_add(device, &(RowAddArgs){count, grad, scratch, 1, grad});
    }
    arena_release(&device->scratch, mark);
}

static void roll_backward(Tape *tape, void *context) {
    RollNode *node = context;
    const SimOnTape *roll = &node->roll;
    const size_t count = sim_frames(&roll->run) * node->row;
    const double *slope[OUTPUTS] = {NULL};
    SimValues gradient = {{NULL}};
    Error err = {0};
    for (int o = 0; o < OUTPUTS; o++)
        if (node->out[o] && node->out[o]->grad) slope[o] = read_numbers(tape, node->out[o]->grad, count);
    if (!slope[POSITION] && !slope[VELOCITY]) return;
    for (int v = 0; v < SIM_VALUES; v++)
        if (roll->of[v] && roll->of[v]->wants_grad)
            gradient.of[v] = host_array(tape, roll->of[v]->rows * roll->of[v]->cols, sizeof(double));
    if (tape->device->failed) return;
    // Another rollout of this simulation may have come since, or other values.
    const bool kept = roll->sim->rollouts == node->number && roll->sim->states.steps == roll->run.steps;
    if (!kept && !run_rollout(tape, node, NULL)) return;
    const SimLoss loss = {slope[POSITION], slope[VELOCITY]};
    Status status = sim_adjoint(roll->sim, &roll->run, &loss, &gradient, NULL, &err);
    if (status != STATUS_OK) device_fail(tape->device, status, "%s", err.text);
    for (int v = 0; v < SIM_VALUES && status == STATUS_OK; v++)
        if (gradient.of[v]) add_gradient(tape, roll->of[v], gradient.of[v]);
}

Tensor *sim_on_tape(Tape *tape, const SimOnTape *roll, Tensor **velocity) {
    const SimModel *model = &roll->sim->model;
    const size_t rows = sim_frames(&roll->run) * model->scenes * model->particles;
    const bool wants = tape_wants(tape, SIM_VALUES, roll->of);
    Tensor *position = tape_tensor(tape, rows, 3, wants), *second = velocity ? tape_tensor(tape, rows, 3, wants) : NULL;
    if (velocity) *velocity = second;
    RollNode *node = tape_context(tape, sizeof *node);
    if (!node) return position;
    *node = (RollNode){.roll = *roll, .out = {position, second}, .row = 3 * model->scenes * model->particles};
    node->roll.run.gradient = wants;
    if (!take_inputs(tape, node)) return position;
    write_outputs(tape, node);
    if (wants && !tape->device->failed) tape_record(tape, roll_backward, node);
    return position;
}
