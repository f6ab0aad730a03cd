// SPDX-License-Identifier: Apache-2.0
#include "bench/renderer_bench.h"

#include "base/camera.h"
#include "nn/backend.h"
#include "nn/knn.h"

#include <stdlib.h>
#include <string.h>

enum { WARM_UP = 2, PHASES = 5, VIEW_SIDE = 128 };
enum { INDEX, PLACE, FORWARD, BACKWARD, FRAME };

typedef struct Bench {
    Device *device;
    Renderer renderer;
    Parameters parameters;
    Tape tape, drawing;
    size_t N, rays;
    real *x, *f, *radius, *origin, *direction; // host
    uint8_t *rgb;
    RendererCamera camera;
} Bench;

RendererConfig renderer_bench_config(void) {
    return (RendererConfig){.features = 16,
                            .neighbours = 8,
                            .samples = 16,
                            .hidden = {64, 64},
                            .radius = 0.05,
                            .near = 0.05,
                            .far = 50,
                            .carry_rgb = true};
}

static double uniform(uint32_t stream, size_t i) {
    return (double)random_uniform((RandomKey){.seed = 2, .purpose = RANDOM_TEST, .step = stream}, i);
}

static void fill_particles(Bench *b) {
    size_t D = (size_t)b->renderer.config.features;
    for (size_t i = 0; i < b->N; i++) {
        double angle = 6.283185307 * uniform(0, i), height = 2 * uniform(1, i) - 1, flat = sqrt(1 - height * height),
               size = 0.25;
        double ball[3] = {-0.5 + 0.5 * (double)(i / 4 % 3) + size * flat * cos(angle), size * flat * sin(angle),
                          0.3 + size * height};
        double floor[3] = {2 * uniform(0, i) - 1, height, 0};
        for (size_t c = 0; c < 3; c++) b->x[3 * i + c] = (real)(i % 4 ? floor[c] : ball[c]);
        for (size_t d = 0; d < D; d++) b->f[D * i + d] = (real)uniform(2, D * i + d);
    }
}

static bool camera_at(int number, int side, RendererCamera *camera) {
    double angle = 1.57 * number + 0.4, eye[3] = {1.6 * cos(angle), 1.6 * sin(angle), 1.1}, target[3] = {0, 0, 0.1},
           up[3] = {0, 0, 1};
    *camera = (RendererCamera){.H = side, .W = side};
    camera_intrinsics_from_fov(1, side, side, camera->K);
    return camera_look_at(eye, target, up, camera->world_from_camera);
}

static void fill_rays(Bench *b) {
    for (size_t i = 0; i < b->rays; i++) {
        RendererCamera camera;
        camera_at((int)(i % 4), VIEW_SIDE, &camera);
        renderer_camera_rays(&camera, (size_t)(uniform(3, i) * VIEW_SIDE * VIEW_SIDE), 1, b->origin + 3 * i,
                             b->direction + 3 * i);
    }
}

static int compare_reals(const void *a, const void *b) {
    return (*(const real *)a > *(const real *)b) - (*(const real *)a < *(const real *)b);
}

static Status set_radius(Bench *b, Error *err) {
    Device *device = b->device;
    real *x = tape_memory(&b->tape, 3 * b->N, sizeof *x), *d2 = tape_memory(&b->tape, b->N, sizeof *d2);
    int32_t *index = tape_memory(&b->tape, 2 * b->N, sizeof *index), *self = index ? index + b->N : NULL;
    int32_t *own = tape_context(&b->tape, b->N * sizeof *own);
    if (!device->failed) {
        for (size_t i = 0; i < b->N; i++) own[i] = (int32_t)i;
        device->nn->upload(device, x, b->x, 3 * b->N * sizeof *x);
        device->nn->upload(device, self, own, b->N * sizeof *own);
        knn(device, &(KnnArgs){.points = b->N,
                               .queries = b->N,
                               .point = x,
                               .query = x,
                               .self = self,
                               .k = 1,
                               .index = index,
                               .distance2 = d2});
        device->nn->download(device, b->radius, d2, b->N * sizeof *d2);
        qsort(b->radius, b->N, sizeof *b->radius, compare_reals);
        b->renderer.config.radius = 2.1 * sqrt((double)b->radius[b->N / 2]);
        for (size_t i = 0; i < b->N; i++) b->radius[i] = (real)b->renderer.config.radius;
    }
    return device_status(device, err);
}

static Tensor *on_device(Bench *b, Tape *tape, const real *host, size_t rows, size_t cols) {
    Tensor *t = tape_tensor(tape, rows, cols, true);
    if (t->value) b->device->nn->upload(b->device, t->value, host, rows * cols * sizeof *host);
    return t;
}

static RendererParticles particles_on(Bench *b, Tape *tape) {
    return (RendererParticles){on_device(b, tape, b->x, b->N, 3),
                               on_device(b, tape, b->f, b->N, (size_t)b->renderer.config.features),
                               on_device(b, tape, b->radius, b->N, 1)->value, renderer_reach(b->N, b->radius)};
}

static void count_work(const Bench *b, const RendererIndex *index, const RendererSamples *samples, RendererBench *out) {
    SamplesFound cost = {0};
    int32_t used = 0;
    if (!b->device->failed) b->device->nn->download(b->device, &cost, samples->found, sizeof cost);
    if (!b->device->failed) b->device->nn->download(b->device, &used, samples->start + samples->rays, sizeof used);
    out->particles = index->count;
    out->rays = b->rays;
    out->samples = (size_t)used;
    out->candidates = cost.candidates;
    size_t lists = out->samples * (size_t)samples->neighbours, found = 0;
    int32_t *host = calloc(lists + 1, sizeof *host);
    if (host && !b->device->failed) b->device->nn->download(b->device, host, samples->neighbour, lists * sizeof *host);
    for (size_t i = 0; host && i < lists; i++) found += host[i] >= 0;
    out->neighbours = used ? (double)found / (double)used : 0;
    free(host);
}

static void step(Bench *b, BenchTime *times, RendererBench *out) {
    Tape *tape = &b->tape;
    Device *device = b->device;
    tape_reset(tape);
    parameters_zero_grad(&b->parameters);
    RendererParticles particles = particles_on(b, tape);
    RendererRays *rays = renderer_rays(tape, b->rays, b->origin, b->direction, NULL, (real[]){0.5, 0.5, 0.5});
    BenchTime start = bench_now(device);
    RendererIndex *index = renderer_index_build(tape, &b->renderer, &particles);
    times[INDEX] = bench_since(device, start);
    start = bench_now(device);
    RendererSamples *samples = renderer_place_samples(tape, &b->renderer, index, rays);
    times[PLACE] = bench_since(device, start);
    start = bench_now(device);
    RendererOutput drawn = renderer_forward(tape, &b->renderer, &particles, rays, samples);
    times[FORWARD] = bench_since(device, start);
    real *grad = tape_grad(tape, drawn.colour);
    if (grad) device->nn->copy(device, grad, drawn.colour->value, 3 * b->rays * sizeof *grad); // any numbers
    start = bench_now(device);
    tape_backward_from_grads(tape);
    times[BACKWARD] = bench_since(device, start);
    count_work(b, index, samples, out);
}

static Status frame(Bench *b, BenchTime *time, Error *err) {
    tape_reset(&b->drawing);
    b->drawing.recording = false;
    RendererParticles particles = particles_on(b, &b->drawing);
    BenchTime start = bench_now(b->device);
    Status status = renderer_draw_image(&b->drawing, &b->renderer, &particles, (real[]){0.5, 0.5, 0.5}, &b->camera,
                                        &(RendererFrame){.rgb = b->rgb}, err);
    *time = bench_since(b->device, start);
    return status;
}

static Status bench_open(Bench *b, Device *device, const RendererConfig *config, size_t N, size_t rays, int side,
                         Error *err) {
    *b = (Bench){.device = device, .N = N, .rays = rays};
    parameters_init(&b->parameters, device);
    tape_init(&b->tape, device);
    tape_init(&b->drawing, device);
    renderer_create(&b->renderer, &b->parameters, config);
    b->x = malloc((3 * N + 1) * sizeof(real));
    b->f = malloc(((size_t)config->features * N + 1) * sizeof(real));
    b->radius = malloc((N + 1) * sizeof(real));
    b->origin = malloc((3 * rays + 1) * sizeof(real));
    b->direction = malloc((3 * rays + 1) * sizeof(real));
    b->rgb = malloc((size_t)side * (size_t)side * 3 + 1);
    if (!b->x || !b->f || !b->radius || !b->origin || !b->direction || !b->rgb)
        return error_set(err, STATUS_FAILED, "out of memory for %zu particles", N);
    camera_at(5, side, &b->camera);
    fill_particles(b);
    fill_rays(b);
    Status status = parameters_allocate(&b->parameters, 1, err);
    return status == STATUS_OK && N > 1 ? set_radius(b, err) : status;
}

static void bench_close(Bench *b) {
    tape_free(&b->tape);
    tape_free(&b->drawing);
    parameters_free(&b->parameters);
    free(b->x);
    free(b->f);
    free(b->radius);
    free(b->origin);
    free(b->direction);
    free(b->rgb);
}

Status renderer_bench(Device *device, const RendererConfig *config, size_t N, size_t rays, int side, int repetitions,
                      RendererBench *out, Error *err) {
    Bench b;
    *out = (RendererBench){.side = side};
    Status status = renderer_config_check(config, err);
    if (status != STATUS_OK) return status;
    status = bench_open(&b, device, config, N, rays, side, err);
    BenchTime *times = calloc((size_t)repetitions * PHASES, sizeof *times);
    double *room = calloc((size_t)repetitions, sizeof *room);
    if (status == STATUS_OK && (!times || !room)) status = error_set(err, STATUS_FAILED, "out of memory");
    for (int i = -WARM_UP; status == STATUS_OK && i < repetitions; i++) {
        BenchTime one[PHASES];
        step(&b, one, out);
        status = device_status(device, err);
        if (status == STATUS_OK) status = frame(&b, &one[FRAME], err);
        if (i >= 0) memcpy(times + i * PHASES, one, sizeof one);
    }
    if (status == STATUS_OK) {
        BenchTime *parts[PHASES] = {&out->index, &out->place, &out->forward, &out->backward, &out->frame};
        for (int phase = 0; phase < PHASES; phase++)
            *parts[phase] = bench_median(times + phase, repetitions, PHASES, room);
        out->tape_bytes = tape_peak_bytes(&b.tape);
    }
    free(times);
    free(room);
    bench_close(&b);
    return status;
}
