// SPDX-License-Identifier: Apache-2.0
#include "bench/step_bench.h"

#include "nn/optimizer.h"
#include "train/schedule.h"

#include <stdlib.h>

enum { WARM_UP = 2, WARM_UP_WHOLE = 4, OPTION_LENGTH = 64 }; // graphs are captured in the third step
enum {
    ROW_STEP,
    ROW_UPDATE,
    ROW_PLACE,
    ROW_PRODUCT,
    ROW_COPY,
    ROW_FORWARD,
    ROW_BACKWARD = ROW_FORWARD + PART_COUNT,
    ROWS = ROW_BACKWARD + PART_COUNT
};

const StepShape step_shapes[STEP_PRESETS] = {{"tiny", 2048, 128, 2, 64, 64, 3, 128, 0.07, false},
                                             {"small", 4096, 256, 4, 64, 64, 4, 256, 0.05, false},
                                             {"paper", 16384, 1024, 4, 128, 128, 6, 256, 0.03, false},
                                             {"large", 131072, 4096, 4, 256, 256, 16, 512, 0.0106, true}};
const char *const step_graph_names[STEP_GRAPHS] = {"hierarchical", "bodies"};

Status step_bench_config(const StepShape *s, StepGraph graph, double keep_mib, Config *out, Error *err) {
    static const char *const fixed[] = {"model.T=2",
                                        "model.C=128",
                                        "model.D=16",
                                        "gnn.L=10",
                                        "encoder.widths=[32, 64, 128, 256]",
                                        "encoder.sampling=uniform",
                                        "renderer.K=8",
                                        "renderer.S=16",
                                        "renderer.widths=[64, 64]",
                                        "renderer.radius_per_particle=false",
                                        "train.rollout_from=[0]",
                                        "train.moving_rays=0",
                                        "data.extent=2",
                                        "gnn.length_scale=0.1",
                                        "gnn.displacement_scale=0.05",
                                        "gnn.colour_length=1",
                                        "gnn.moving_threshold=0.005"};
    static const char *const graphs[STEP_GRAPHS] = {"gnn.graph=hierarchical", "gnn.graph=bodies"};
    char text[7][OPTION_LENGTH];
    snprintf(text[0], OPTION_LENGTH, "encoder.N=%zu", s->N);
    snprintf(text[1], OPTION_LENGTH, "gnn.M=%zu", s->M);
    snprintf(text[2], OPTION_LENGTH, "train.rollout=[%d]", s->rollout);
    snprintf(text[3], OPTION_LENGTH, "train.rays=%d", s->rays);
    snprintf(text[4], OPTION_LENGTH, "renderer.radius=%.9g", s->radius);
    snprintf(text[5], OPTION_LENGTH, "train.keep_mib=%.9g", keep_mib);
    snprintf(text[6], OPTION_LENGTH, "train.checkpoint_steps=%s", s->checkpoint ? "true" : "false");
    const char *own[] = {text[0], text[1], text[2], text[3], text[4], text[5], text[6]};
    config_defaults(out);
    Status status = config_set(out, sizeof fixed / sizeof *fixed, fixed, err);
    if (status == STATUS_OK) status = config_set(out, 1, &graphs[graph], err);
    if (status == STATUS_OK) status = config_set(out, sizeof own / sizeof *own, own, err);
    return status == STATUS_OK ? config_resolve(out, err) : status;
}

typedef struct Bench {
    Device *device;
    const Config *config;
    const Observation *frames;
    Vpd *model;
    Optimizer optimizer;
    Tape tape;
    LossWorkspace workspace;
    BenchPeak peak;
    int *input_views;
    EpisodeInput *episodes; // (train.batch) of the next step
    PlacedBatch placed;     // with their particles
    StepClock clock;        // of the last step
    size_t update_commands; // likewise
    size_t particles;
    int H, W; // of the last picture
    long step;
} Bench;

static Status bench_open(Bench *b, Device *device, const Config *config, const Observation *frames, Error *err) {
    const TrainConfig *t = &config->train;
    *b = (Bench){.device = device, .config = config, .frames = frames};
    tape_init(&b->tape, device);
    b->tape.keep_limit = (size_t)(t->keep_mib * (1 << 20));
    b->input_views = calloc((size_t)frames->V, sizeof *b->input_views);
    b->episodes = calloc((size_t)t->batch, sizeof *b->episodes);
    if (!b->input_views || !b->episodes) return error_no_memory(err, "a benchmark");
    Status status = vpd_create(config, device, &b->model, err);
    MotionEpisode episode = {0, (size_t)frames->V * (size_t)frames->H * (size_t)frames->W, frames->F};
    if (status == STATUS_OK)
        status =
            // as in a run after its first epoch
            motion_cache_open(&b->workspace.motion, NULL, b->model, 1, &episode, NULL, err);
    if (status == STATUS_OK) status = bench_peak_open(&b->peak, device, err); // in the model's precision
    OptimizerConfig optimizer = schedule_optimizer(t);
    return status == STATUS_OK ? optimizer_create(&b->optimizer, &b->model->parameters, optimizer, err) : status;
}

static void bench_close(Bench *b) {
    optimizer_free(&b->optimizer);
    loss_workspace_free(&b->workspace);
    tape_free(&b->tape);
    vpd_free(b->model);
    free(b->input_views);
    free(b->episodes);
    bench_peak_close(&b->peak);
}

void step_bench_episodes(const Observation *frames, int *input_views, long step, size_t count, EpisodeInput *out) {
    for (int v = 0; v < frames->V; v++) input_views[v] = v;
    for (size_t i = 0; i < count; i++)
        out[i] = (EpisodeInput){.frames = frames,
                                .input_views = input_views,
                                .input_view_count = frames->V,
                                .key = {1, (uint32_t)step, (uint32_t)i}};
}

// The same frames for each episode.
static Status place_batch(Bench *b, StepClock *clock, Error *err) {
    size_t count = (size_t)b->config->train.batch;
    step_bench_episodes(b->frames, b->input_views, b->step, count, b->episodes);
    EpisodeBatch batch = {count, count, b->episodes, b->frames->F - (int)b->config->model.T, clock};
    return train_place(b->model, &b->workspace, &batch, &b->placed, err);
}

// As train_step (train/trainer.c). `clock`: NULL, or times its parts.
static Status train_step(Bench *b, StepClock *clock, BenchTime row[ROWS], Error *err) {
    LossParts parts;
    LossValues values;
    double norm;
    Status status = b->step == 0 ? place_batch(b, clock, err) : STATUS_OK;
    if (status != STATUS_OK) return status;
    parameters_zero_grad(&b->model->parameters);
    status = train_episodes(&b->tape, b->model, &b->workspace, &b->placed, &values, err);
    if (status != STATUS_OK) return status;
    BenchTime place = clock ? bench_now(b->device) : (BenchTime){0};
    double rate = schedule_rate(&b->config->train, b->step++);
    device_flush(b->device);
    status = place_batch(b, clock, err);
    if (clock) row[ROW_PLACE] = bench_since(b->device, place);
    if (status != STATUS_OK) return status;
    BenchTime update = clock ? bench_now(b->device) : (BenchTime){0};
    size_t commands = b->device->replay.commands;
    optimizer_start(&b->optimizer, rate);
    status = loss_read(&b->tape, &values, &parts, err);
    if (status == STATUS_OK) status = optimizer_finish(&b->optimizer, &norm, err);
    if (clock) row[ROW_UPDATE] = bench_since(b->device, update);
    b->update_commands = b->device->replay.commands - commands;
    b->particles = parts.particles;
    return status;
}

static void measure_peaks(Bench *b, BenchTime row[ROWS]) {
    row[ROW_PRODUCT] = bench_peak_products(&b->peak);
    row[ROW_COPY] = bench_peak_copies(&b->peak);
}

static Status one_step(Bench *b, BenchTime row[ROWS], Error *err) {
    BenchTime start = bench_now(b->device);
    device_step_begin(b->device, false);
    Status status = train_step(b, &b->clock, row, err);
    device_step_end(b->device);
    if (status != STATUS_OK) return status;
    row[ROW_STEP] = bench_since(b->device, start);
    for (int i = 0; i < PART_COUNT; i++) {
        row[ROW_FORWARD + i] = (BenchTime){b->clock.forward[i], 0};
        row[ROW_BACKWARD + i] = (BenchTime){b->clock.backward[i], 0};
    }
    measure_peaks(b, row);
    return STATUS_OK;
}

static Status one_whole_step(Bench *b, BenchTime row[ROWS], Error *err) {
    BenchTime start = bench_now(b->device);
    device_step_begin(b->device, b->config->train.cuda_graph);
    Status status = train_step(b, NULL, row, err);
    device_step_end(b->device);
    row[ROW_STEP] = bench_since(b->device, start);
    if (status == STATUS_OK) measure_peaks(b, row);
    return status;
}

// Rays of the first views of the present frame, at evenly spaced pixels: about as many as in a training step.
static Status draw_rays(Bench *b, Scene *scene, Error *err) {
    const TrainConfig *t = &b->config->train;
    RayBatch *rays = &b->workspace.rays;
    int present = (int)b->config->model.T - 1;
    RayBatchOptions options = {t->rays, 0, 0, 1, 0, 0};
    rays->count = 0;
    Status status = ray_batch_add(rays, b->frames, present, present, 0, &options, err);
    if (status == STATUS_OK)
        vpd_render(&b->tape, b->model, scene, rays->count, rays->origin, rays->direction, rays->jitter, NULL);
    return status == STATUS_OK ? device_status(b->device, err) : status;
}

static Status one_inference(Bench *b, BenchTime row[ROWS], Error *err) {
    Scene scene;
    StepClock clock;
    Observation history = *b->frames;
    history.F = (int)b->config->model.T;
    BenchTime start = bench_now(b->device);
    step_clock_start(&clock, b->device);
    tape_reset(&b->tape);
    b->tape.recording = false;
    Status status =
        vpd_observe_and_encode(&b->tape, b->model, &b->workspace.scene, &history, (SceneKey){1, 0, 0}, &scene, err);
    if (status != STATUS_OK) return status;
    b->particles = scene_present(&scene)->x->rows;
    step_clock_part(&clock, &b->tape, PART_ENCODER);
    vpd_step(&b->tape, b->model, &scene);
    step_clock_part(&clock, &b->tape, PART_DYNAMICS);
    status = draw_rays(b, &scene, err);
    step_clock_part(&clock, &b->tape, PART_RENDERER);
    row[ROW_STEP] = bench_since(b->device, start);
    for (int i = 0; i < PART_COUNT; i++) row[ROW_FORWARD + i] = (BenchTime){clock.forward[i], 0};
    return status;
}

// A picture with `wider` times as many rows and columns as the input.
static Status draw_frame(Bench *b, int wider, BenchTime row[ROWS], Error *err) {
    Scene scene;
    Observation history = *b->frames;
    history.F = (int)b->config->model.T;
    RendererCamera camera = observation_camera(b->frames, history.F - 1, 0);
    b->H = camera.H *= wider;
    b->W = camera.W *= wider;
    for (int i = 0; i < 6; i++) camera.K[i] *= wider;
    tape_reset(&b->tape);
    arena_reset(&b->device->scratch);
    b->tape.recording = false;
    Status status =
        vpd_observe_and_encode(&b->tape, b->model, &b->workspace.scene, &history, (SceneKey){1, 0, 0}, &scene, err);
    if (status != STATUS_OK) return status;
    uint8_t *rgb = tape_context(&b->tape, (size_t)camera.H * (size_t)camera.W * 3);
    BenchTime start = bench_now(b->device);
    vpd_step(&b->tape, b->model, &scene);
    RendererParticles particles = vpd_particles(&scene);
    b->particles = particles.x->rows;
    vpd_part(&b->tape, VPD_RENDERER);
    status = renderer_draw_image(&b->tape, &b->model->renderer, &particles, scene.background, &camera,
                                 &(RendererFrame){.rgb = rgb}, err);
    row[ROW_STEP] = bench_since(b->device, start);
    row[ROW_PRODUCT] = bench_peak_products(&b->peak);
    row[ROW_COPY] = bench_peak_copies(&b->peak);
    return status;
}

static Status one_frame(Bench *b, BenchTime row[ROWS], Error *err) { return draw_frame(b, 1, row, err); }
static Status one_wide_frame(Bench *b, BenchTime row[ROWS], Error *err) { return draw_frame(b, STEP_WIDER, row, err); }

static void read_results(const Bench *b, const BenchTime *times, int repetitions, double *room, StepBench *out) {
    const BenchTime *row = times;
    BenchTime medians[ROWS];
    for (int i = 0; i < ROWS; i++, row += repetitions) medians[i] = bench_median(row, repetitions, 1, room);
    *out = (StepBench){.step = medians[ROW_STEP],
                       .update = medians[ROW_UPDATE],
                       .place = medians[ROW_PLACE],
                       .product = medians[ROW_PRODUCT],
                       .copy = medians[ROW_COPY],
                       .product_flops = b->peak.flops,
                       .copy_bytes = b->peak.bytes,
                       .particles = b->particles,
                       .tape_bytes = tape_peak_bytes(&b->tape),
                       .scratch_bytes = b->device->scratch.peak,
                       .H = b->H,
                       .W = b->W,
                       .update_commands = b->update_commands,
                       .replay = b->device->replay};
    for (int i = 0; i < PART_COUNT; i++) {
        out->forward[i] = medians[ROW_FORWARD + i].wall;
        out->backward[i] = medians[ROW_BACKWARD + i].wall;
        out->forward_commands[i] = b->clock.forward_commands[i];
        out->backward_commands[i] = b->clock.backward_commands[i];
    }
    const Observation *o = b->frames;
    int T = (int)b->config->model.T;
    ImageShape images = {(size_t)(T * o->V), (size_t)o->H, (size_t)o->W};
    out->work = step_work(b->model, (size_t)b->config->train.batch, images, b->particles, o->F - T);
    out->memory_count = device_memory_uses(b->device, out->memory);
}

Status step_bench(Device *device, const Config *config, const Observation *frames, StepMeasure measure, int repetitions,
                  StepBench *out, Error *err) {
    static Status (*const measures[])(Bench * b, BenchTime row[ROWS],
                                      Error * err) = {[MEASURE_STEP] = one_step,
                                                      [MEASURE_WHOLE] = one_whole_step,
                                                      [MEASURE_INFERENCE] = one_inference,
                                                      [MEASURE_FRAME] = one_frame,
                                                      [MEASURE_WIDE_FRAME] = one_wide_frame};
    Bench b;
    Status status = bench_open(&b, device, config, frames, err);
    BenchTime *times = calloc((size_t)repetitions * ROWS, sizeof *times);
    double *room = calloc((size_t)repetitions, sizeof *room);
    if (status == STATUS_OK && (!times || !room)) status = error_no_memory(err, "a benchmark");
    device->replay = (DeviceReplay){0};
    for (int i = measure == MEASURE_WHOLE ? -WARM_UP_WHOLE : -WARM_UP; status == STATUS_OK && i < repetitions; i++) {
        BenchTime row[ROWS] = {{0, 0}};
        status = measures[measure](&b, row, err);
        for (int j = 0; i >= 0 && j < ROWS; j++) times[j * repetitions + i] = row[j];
    }
    if (status == STATUS_OK) read_results(&b, times, repetitions, room, out);
    free(times);
    free(room);
    bench_close(&b);
    return status;
}
