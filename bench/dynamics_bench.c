// SPDX-License-Identifier: Apache-2.0
#include "bench/dynamics_bench.h"

#include "base/random.h"
#include "nn/backend.h"

#include <stdlib.h>
#include <string.h>

enum { WARM_UP = 2 };

GnnConfig dynamics_bench_config(size_t M) {
    return (GnnConfig){.T = 2,
                       .D = 16,
                       .C = 128,
                       .L = 10,
                       .M = M,
                       .carry_rgb = true,
                       .k_particle_to_node = GNN_PARTICLE_TO_NODE,
                       .k_node_to_node = GNN_NODE_TO_NODE,
                       .k_node_to_particle = GNN_NODE_TO_PARTICLE,
                       .length_scale = 0.1,
                       .displacement_scale = 0.05,
                       .keep = true};
}

// Multiply-adds of one forward pass.
static double message_work(double rows, double C) { return 2 * rows * C * C; }

double dynamics_useful_flops(const GnnConfig *c, const size_t *particles) {
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

// Particles on a floor and a few boxes, displaced slightly between the sets.
typedef struct BenchScene {
    size_t N, T;
    real *x[GNN_MAX_SETS], *f;
} BenchScene;

static double uniform(uint32_t stream, size_t i) {
    return (double)random_uniform((RandomKey){.seed = 1, .purpose = RANDOM_TEST, .step = stream}, i);
}

static void fill_scene(BenchScene *s, size_t D) {
    for (size_t i = 0; i < s->N; i++) {
        bool box = i % 3 == 0;
        size_t number = i % 5, side = i % 2;
        double p[3] = {2 * uniform(0, i) - 1, 2 * uniform(1, i) - 1, 0};
        if (box) { // one of five boxes of 0.3 m, of which two sides have particles
            p[0] = -0.8 + 0.35 * (double)number + 0.3 * uniform(0, i);
            p[1] = side ? 0.1 : 0.1 + 0.3 * uniform(1, i);
            p[2] = 0.3 + (side ? 0.3 * uniform(2, i) : 0.3);
        }
        for (size_t t = 0; t < s->T; t++)
            for (size_t c = 0; c < 3; c++) s->x[t][i * 3 + c] = (real)(p[c] - (box && c == 2 ? 0.02 * (double)t : 0));
        for (size_t j = 0; j < D; j++) s->f[i * D + j] = (real)(2 * uniform(10, i * D + j) - 1);
    }
}

static void free_scene(BenchScene *s) {
    for (size_t t = 0; t < s->T; t++) free(s->x[t]);
    free(s->f);
}

static bool make_scene(BenchScene *s, size_t N, size_t T, size_t D) {
    *s = (BenchScene){.N = N, .T = T};
    bool ok = true;
    for (size_t t = 0; t < T; t++) ok = (s->x[t] = malloc((N * 3 + 1) * sizeof(real))) && ok;
    s->f = malloc((N * D + 1) * sizeof(real));
    ok = ok && s->f;
    if (ok) fill_scene(s, D);
    return ok;
}

typedef struct Bench {
    Device *device;
    const GnnConfig *config;
    Parameters parameters;
    Dynamics *dynamics;
    Tape tape;
    BenchScene scene;
    BenchPeak peak;
} Bench;

static Tensor *on_device(Bench *b, const real *host, size_t rows, size_t cols) {
    Tensor *t = tape_tensor(&b->tape, rows, cols, true);
    if (t->value) b->device->nn->upload(b->device, t->value, host, rows * cols * sizeof *host);
    return t;
}

// Plan, forward and backward of one rollout step.
static void bench_step(Bench *b, BenchTime *times) {
    const BenchScene *s = &b->scene;
    tape_reset(&b->tape);
    parameters_zero_grad(&b->parameters);
    GnnPlanInput input = {.seed = 1, .sets = {.count = s->T}};
    for (size_t t = 0; t < s->T; t++)
        input.sets.set[t] = (GnnSet){.x = on_device(b, s->x[t], s->N, 3), .f = on_device(b, s->f, s->N, b->config->D)};
    GnnPlan plan;
    DynamicsOutput out = {0};
    BenchTime start = bench_now(b->device);
    gnn_plan_make(&b->tape, b->config, &input, &plan);
    times[0] = bench_since(b->device, start);
    start = bench_now(b->device);
    dynamics_step(&b->tape, b->dynamics, &plan, &input.sets, &out);
    times[1] = bench_since(b->device, start);
    real *grad = tape_grad(&b->tape, out.x);
    if (grad) b->device->nn->upload(b->device, grad, s->x[0], s->N * 3 * sizeof *grad); // any numbers
    start = bench_now(b->device);
    tape_backward_from_grads(&b->tape);
    times[2] = bench_since(b->device, start);
}

static Status bench_open(Bench *b, Device *device, const GnnConfig *config, size_t N, Error *err) {
    *b = (Bench){.device = device, .config = config};
    parameters_init(&b->parameters, device);
    tape_init(&b->tape, device);
    if (!make_scene(&b->scene, N, config->T, config->D))
        return error_set(err, STATUS_FAILED, "out of memory for %zu particles", N);
    Status status = bench_peak_open(&b->peak, device, err);
    if (status == STATUS_OK) status = dynamics_create(&b->parameters, config, &b->dynamics, err);
    return status == STATUS_OK ? parameters_allocate(&b->parameters, 1, err) : status;
}

static void bench_close(Bench *b) {
    tape_free(&b->tape);
    dynamics_free(b->dynamics);
    parameters_free(&b->parameters);
    free_scene(&b->scene);
    bench_peak_close(&b->peak);
}

Status dynamics_bench(Device *device, const GnnConfig *config, size_t N, int repetitions, DynamicsBench *out,
                      Error *err) {
    Bench b;
    size_t particles[GNN_MAX_SETS];
    for (size_t t = 0; t < GNN_MAX_SETS; t++) particles[t] = N;
    Status status = bench_open(&b, device, config, N, err);
    BenchTime *times = calloc((size_t)repetitions * 4, sizeof *times);
    double *room = calloc((size_t)repetitions, sizeof *room);
    if (status == STATUS_OK && (!times || !room)) status = error_set(err, STATUS_FAILED, "out of memory");
    for (int i = -WARM_UP; status == STATUS_OK && i < repetitions; i++) {
        BenchTime one[4];
        bench_step(&b, one);
        one[3] = bench_peak_products(&b.peak);
        for (int j = 0; i >= 0 && j < 4; j++) times[j * repetitions + i] = one[j];
        status = device_status(device, err);
    }
    if (status == STATUS_OK) {
        *out = (DynamicsBench){.rounds = (size_t)repetitions,
                               .plan = bench_median(times, repetitions, 1, room),
                               .forward = bench_median(times + repetitions, repetitions, 1, room),
                               .backward = bench_median(times + 2 * repetitions, repetitions, 1, room),
                               .peak = bench_median(times + 3 * repetitions, repetitions, 1, room),
                               .peak_flops = b.peak.flops,
                               .useful_flops = dynamics_useful_flops(config, particles),
                               .peak_bytes = tape_peak_bytes(&b.tape)};
    }
    free(times);
    free(room);
    bench_close(&b);
    return status;
}
