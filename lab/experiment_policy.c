// SPDX-License-Identifier: Apache-2.0
// A policy of nn ops in front of a rollout on the tape: it learns to push a box to a place.
#include "base/check.h"
#include "lab/experiment_inside.h"
#include "nn/backend.h"
#include "nn/linear.h"
#include "nn/optimizer.h"
#include "nn/reduce.h"
#include "nn/rows.h"
#include "nn/silu.h"
#include "sim/on_tape.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SEES = 3, HIDDEN = 64, LAYERS = 3, BATCH = 32, UPDATES = 400 };
#define NEAREST 0.5 // metres
#define FURTHEST 1.5
#define LEAST_MU 0.2
#define MOST_MU 0.6
#define RATE 1e-2  // at the first update; falls to 0 by a cosine
#define USUAL 3.0  // m/s, for an output of 1
#define HUBER 0.05 // metres

static const char text[] =
    "frames: 45\nfps: 30\nsubsteps: 20\n"
    "contacts: {ground: {k_e: 1000, k_d: 4, k_f: 20, mu: 0.4, fade: 0.02}}\nplanes: [{}]\n"
    "objects: {box: {box: {size: [0.2, 0.2, 0.1], cells: [1, 1, 1]}, density: 250, position: [0, 0, 0.051],\n"
    "    solid: {young: 2e4, poisson: 0.3, k_d: 10}}}\n";

// Linear layers with SiLU between them.
typedef struct Policy {
    Parameters set;
    Tensor *weight[LAYERS], *bias[LAYERS];
    Optimizer optimizer;
    bool sees_friction;
} Policy;

// Scenes that step together, each with its friction and the place where its box should end.
typedef struct Pushes {
    SimScene scene;
    Sim *sim;
    SimRun run;
    real *target; // (B,2) metres
    double *miss; // (B) metres, of the last rollout
} Pushes;

// ---- scenes

static void close_pushes(Pushes *t) {
    sim_close(t->sim);
    scene_free(&t->scene);
    free(t->target);
    free(t->miss);
}

static Status open_pushes(size_t scenes, Pushes *out, Error *err) {
    *out = (Pushes){.target = calloc(scenes, 2 * sizeof *out->target), .miss = calloc(scenes, sizeof *out->miss)};
    if (!out->target || !out->miss) return error_set(err, STATUS_FAILED, "out of memory for %zu scenes", scenes);
    Status status = scene_parse(text, strlen(text), "experiment", ".", &out->scene, err);
    if (status == STATUS_OK) status = scene_repeat(&out->scene, scenes, err);
    if (status != STATUS_OK) return status;
    const SimOptions options = scene_options_on(&out->scene, &(SimOptions){.threads = 1}); // more do not pay
    out->run = scene_run(&out->scene);
    out->run.every = out->run.steps;
    return sim_open(&out->scene.model, &options, &out->sim, err);
}

static void draw_targets(Pushes *t, Dice *d) {
    for (size_t b = 0; b < t->scene.model.scenes; b++) {
        const double angle = dice(d, 0, 2 * 3.14159265358979), far = dice(d, NEAREST, FURTHEST);
        t->target[2 * b] = (real)(far * cos(angle));
        t->target[2 * b + 1] = (real)(far * sin(angle));
        t->scene.values.of[SIM_CONTACT_MU][b] = dice(d, LEAST_MU, MOST_MU);
    }
}

// ---- the policy

static Status open_policy(Device *device, bool sees_friction, Policy *out, Error *err) {
    static const size_t sizes[LAYERS + 1] = {SEES, HIDDEN, HIDDEN, 2};
    *out = (Policy){.sees_friction = sees_friction};
    parameters_init(&out->set, device);
    for (int i = 0; i < LAYERS; i++) {
        out->weight[i] = parameters_add(&out->set, INIT_UNIFORM, (double)sizes[i], 2, sizes + i, "weight%d", i);
        out->bias[i] = parameters_add(&out->set, INIT_ZERO, 0, 1, sizes + i + 1, "bias%d", i);
    }
    Status status = parameters_allocate(&out->set, 1, err);
    const OptimizerConfig adam = {.beta1 = 0.9, .beta2 = 0.99, .epsilon = 1e-8, .clip = 1};
    return status == STATUS_OK ? optimizer_create(&out->optimizer, &out->set, adam, err) : status;
}

static void close_policy(Policy *p) {
    optimizer_free(&p->optimizer);
    parameters_free(&p->set);
}

// (B,SEES): the place and the friction, of size 1 to 2.
static Tensor *look(Tape *tape, const Policy *p, const Pushes *t) {
    const size_t B = t->scene.model.scenes;
    real *seen = tape_context(tape, B * SEES * sizeof *seen);
    for (size_t b = 0; b < B && seen; b++) {
        const double mu = (t->scene.values.of[SIM_CONTACT_MU][b] - LEAST_MU) / (MOST_MU - LEAST_MU);
        for (int c = 0; c < 2; c++) seen[SEES * b + c] = 2 * t->target[2 * b + c] / (real)FURTHEST;
        seen[SEES * b + 2] = p->sees_friction ? (real)(2 * mu - 1) : 0;
    }
    return seen ? tape_constant(tape, B, SEES, seen) : tape_tensor(tape, B, SEES, false);
}

// (B,3) m/s, along the ground. Without a policy: what a point needs that slides to its place.
static Tensor *decide(Tape *tape, const Policy *p, const Pushes *t) {
    static const real along[] = {USUAL, 0, 0, 0, USUAL, 0};
    const size_t B = t->scene.model.scenes;
    if (p) {
        Tensor *x = look(tape, p, t);
        for (int i = 0; i < LAYERS; i++) x = linear(tape, i ? silu(tape, x) : x, p->weight[i], p->bias[i]);
        return linear(tape, x, tape_constant(tape, 2, 3, along), NULL);
    }
    real *push = tape_context(tape, 3 * B * sizeof *push);
    for (size_t b = 0; b < B && push; b++) {
        const double mu = t->scene.values.of[SIM_CONTACT_MU][b], x = (double)t->target[2 * b],
                     y = (double)t->target[2 * b + 1], per = sqrt(2 * mu * 9.81 / hypot(x, y));
        push[3 * b] = (real)(x * per);
        push[3 * b + 1] = (real)(y * per);
    }
    return push ? tape_constant(tape, B, 3, push) : tape_tensor(tape, B, 3, false);
}

// ---- a rollout

// Row i of count is row first + i / share of x.
static Tensor *take_rows(Tape *tape, Tensor *x, size_t first, size_t count, size_t share) {
    int32_t *index = tape_context(tape, count * sizeof *index);
    for (size_t i = 0; i < count && index; i++) index[i] = (int32_t)(first + i / share);
    return gather_rows(tape, x, count, tape_upload(tape, index, count, sizeof *index));
}

// How far from its place each box ends, on the ground.
static void measure(Tape *tape, const Tensor *end, Pushes *t) {
    const size_t N = t->scene.model.particles, B = t->scene.model.scenes;
    real *at = tape_context(tape, B * N * 2 * sizeof *at);
    if (!at) return;
    tape->device->nn->download(tape->device, at, end->value, B * N * 2 * sizeof *at);
    for (size_t b = 0; b < B; b++) {
        double off[2] = {-(double)t->target[2 * b], -(double)t->target[2 * b + 1]};
        for (size_t i = 0; i < 2 * N; i++) off[i % 2] += (double)at[2 * b * N + i] / (double)N;
        t->miss[b] = hypot(off[0], off[1]);
    }
}

// The loss: how far all particles are from their box's place at the end, as a mean of pseudo-Huber distances.
static Tensor *push_boxes(Tape *tape, const Policy *p, Pushes *t) {
    static const real flat[] = {1, 0, 0, 1, 0, 0}; // x and y of a position
    const size_t N = t->scene.model.particles, rows = N * t->scene.model.scenes;
    SimOnTape roll = {.sim = t->sim, .run = t->run, .values = &t->scene.values};
    roll.of[SIM_VELOCITY] = take_rows(tape, decide(tape, p, t), 0, rows, N);
    Tensor *end = take_rows(tape, sim_on_tape(tape, &roll, NULL), rows, rows, 1);
    Tensor *ground = linear(tape, end, tape_constant(tape, 3, 2, flat), NULL);
    real *aim = tape_context(tape, 2 * rows * sizeof *aim);
    for (size_t i = 0; i < 2 * rows && aim; i++) aim[i] = t->target[i / (2 * N) * 2 + i % 2];
    measure(tape, ground, t);
    return reduce_huber(tape, ground, tape_upload(tape, aim, 2 * rows, sizeof *aim), NULL, HUBER, 1 / (double)rows);
}

static Status learn(Tape *tape, Policy *p, Pushes *t, size_t update, Error *err) {
    const double rate = RATE * 0.5 * (1 + cos(3.14159265358979 * (double)update / UPDATES));
    double norm;
    tape_reset(tape);
    parameters_zero_grad(&p->set);
    tape_backward(tape, push_boxes(tape, p, t));
    Status status = device_status(tape->device, err);
    return status == STATUS_OK ? optimizer_step(&p->optimizer, rate, &norm, err) : status;
}

// Without a policy: the closed form.
static Status try_policy(Tape *tape, const Policy *p, Pushes *unseen, Error *err) {
    tape_reset(tape);
    tape->recording = false;
    push_boxes(tape, p, unseen);
    tape->recording = true;
    return device_status(tape->device, err);
}

// ---- the experiment

static void tell(ExperimentResult *out, const char *name, const Pushes *unseen) {
    const ExperimentFigures f = experiment_figures(unseen->miss, unseen->scene.model.scenes);
    const size_t used = strlen(out->text);
    snprintf(out->text + used, sizeof out->text - used, "\n| %s | %.3g +- %.1g | %.3g | %.3g |", name, 100 * f.mean,
             100 * f.spread, 100 * f.median, 100 * f.worst);
}

// Trains a policy and tells how far from their places boxes end, before that too with `untrained`.
static Status train(const ExperimentOptions *options, bool sees_friction, const char *untrained, const char *name,
                    Pushes *unseen, ExperimentResult *out, Error *err) {
    Policy policy;
    Pushes seen;
    Tape tape;
    Dice d = {{.seed = 1, .purpose = RANDOM_EXPERIMENT, .step = 4}, 0};
    tape_init(&tape, options->device);
    tape.recording = true;
    Status status = open_policy(options->device, sees_friction, &policy, err);
    Status opened = open_pushes(BATCH, &seen, status == STATUS_OK ? err : &(Error){0});
    if (status == STATUS_OK) status = opened;
    if (status == STATUS_OK && untrained) status = try_policy(&tape, &policy, unseen, err);
    if (status == STATUS_OK && untrained) tell(out, untrained, unseen);
    if (status == STATUS_OK && untrained) status = try_policy(&tape, NULL, unseen, err);
    if (status == STATUS_OK && untrained) tell(out, "closed form of a point", unseen);
    for (size_t i = 0; i < UPDATES && status == STATUS_OK; i++) {
        draw_targets(&seen, &d);
        status = learn(&tape, &policy, &seen, i, err);
        if (status == STATUS_OK && (i + 1) % 50 == 0)
            log_note(options->log, "policy: %s, update %zu of %d: %.3g cm", name, i + 1, UPDATES,
                     100 * experiment_figures(seen.miss, BATCH).mean);
    }
    if (status == STATUS_OK) status = try_policy(&tape, &policy, unseen, err);
    if (status == STATUS_OK) tell(out, name, unseen);
    tape_free(&tape);
    close_pushes(&seen);
    close_policy(&policy);
    return status;
}

Status experiment_policy(const ExperimentOptions *options, ExperimentResult *out, Error *err) {
    Pushes unseen;
    Dice d = {{.seed = 1, .purpose = RANDOM_EXPERIMENT, .step = 5}, 0};
    CHECK(options->device);
    snprintf(out->text, sizeof out->text, "| policy | mean miss, cm | median | largest |\n| --- | --- | --- | --- |");
    Status status = open_pushes(options->instances, &unseen, err);
    if (status == STATUS_OK) draw_targets(&unseen, &d);
    if (status == STATUS_OK) status = train(options, true, "untrained", "sees place and friction", &unseen, out, err);
    if (status == STATUS_OK) status = train(options, false, NULL, "sees the place alone", &unseen, out, err);
    close_pushes(&unseen);
    return status;
}
