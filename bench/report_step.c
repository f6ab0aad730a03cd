// SPDX-License-Identifier: Apache-2.0
#include "bench/report_step.h"

#include "base/json.h"
#include "bench/step_bench.h"
#include "datasets/dataset.h"
#include "device/room_video.h"
#include "train/train_data.h"

#include <math.h>

enum { T = 2, FIRST_FRAME = 3, MAX_VIEWS = 16 };
static const double MIB = 1 << 20;

// Video to train on: a data set or a synthetic room.
typedef struct Video {
    RoomVideo room;
    Dataset *dataset;
    Frames frames;
    Observation observation;
} Video;

// The first test episode from frame 3 on, with its first views that are not held out, as in
// benchmarks/pytorch/bench.py.
static Status open_recording(Video *video, const StepShape *shape, const char *path, Error *err) {
    int episode = 0, views[MAX_VIEWS], count = 0;
    Status status = dataset_open(path, &video->dataset, err);
    if (status != STATUS_OK) return status;
    if (dataset_find_split(video->dataset, SPLIT_TEST, &episode, 1) == 0) episode = 0;
    const EpisodeInfo *info = dataset_episode(video->dataset, episode);
    for (int v = 0; v < info->V && count < shape->views && count < MAX_VIEWS; v++)
        if (!episode_view_is_heldout(info, v)) views[count++] = v;
    FrameRequest request = {
        .episode = episode, .first = FIRST_FRAME, .count = T + shape->rollout, .views = views, .view_count = count};
    status = dataset_read_frames(video->dataset, request, &video->frames, err);
    if (status == STATUS_OK) video->observation = frames_observation(&video->frames);
    return status;
}

static Status open_video(Video *video, const StepShape *shape, const char *path, Error *err) {
    *video = (Video){0};
    if (path) return open_recording(video, shape, path, err);
    Status status = room_video_make(&video->room, T + shape->rollout, shape->views, shape->H, shape->W, err);
    video->observation = video->room.observation;
    return status;
}

static void close_video(Video *video) {
    room_video_free(&video->room);
    frames_free(&video->frames);
    dataset_close(video->dataset);
}

// ---- vpd bench step

// Useful operations per second of a part, and as a fraction of the peak.
static double rate_of(const StepBench *b, int part) {
    return b->work.flops[part] / (b->forward[part] + b->backward[part]);
}

static double peak_rate(const StepBench *b) { return b->product_flops / b->product.wall; }

static double copy_rate(const StepBench *b) { return b->copy_bytes / b->copy.wall; }

static void print_part(const StepBench *b, int part) {
    static const char *const names[PART_COUNT] = {"encoder", "dynamics", "renderer"};
    printf("  %-22s %9.1f %9.1f", names[part], 1e3 * b->forward[part], 1e3 * b->backward[part]);
    if (b->work.flops[part] > 0)
        printf("   %.0f GFLOP/s, %.0f %% of the fastest product", 1e-9 * rate_of(b, part),
               100 * rate_of(b, part) / peak_rate(b));
    if (b->update_commands) printf("   commands %zu and %zu", b->forward_commands[part], b->backward_commands[part]);
    printf("\n");
}

static void print_step(const char *graph, const StepBench *b) {
    double floor = step_work_floor(&b->work, peak_rate(b), copy_rate(b));
    printf("\n%-24s %9s %9s\n", graph, "forward", "backward");
    for (int i = 0; i < PART_COUNT; i++) print_part(b, i);
    printf("  %-22s %9.1f\n  %-22s %9.1f", "choice of particles", 1e3 * b->place.wall, "optimiser",
           1e3 * b->update.wall);
    if (b->update_commands) printf("             commands %zu", b->update_commands);
    printf("\n  %-22s %9.1f             processor time %.1f\n", "whole step", 1e3 * b->step.wall, 1e3 * b->step.cpu);
    printf("  %-22s %9.1f             with products of %.0f GFLOP/s and copies of %.1f GB/s, which were measured: "
           "the step takes %.1f times as long\n",
           "lower bound", 1e3 * floor, 1e-9 * peak_rate(b), 1e-9 * copy_rate(b), b->step.wall / floor);
    printf("  memory, MiB: process %.0f, tape %.0f", (double)bench_peak_resident() / MIB, (double)b->tape_bytes / MIB);
    for (size_t i = 0; i < b->memory_count; i++)
        printf("%s %s %.1f", i ? "," : "; by part:", b->memory[i].name, (double)b->memory[i].peak / MIB);
    printf("\n");
}

static json_t *memory_json(const StepBench *b) {
    json_t *memory = json_object();
    for (size_t i = 0; i < b->memory_count; i++)
        json_object_set_new(memory, b->memory[i].name, json_integer((json_int_t)b->memory[i].peak));
    return memory;
}

static void add_parts(json_t *object, const StepBench *b) {
    json_t *commands = json_array(), *forward = json_array(), *backward = json_array(), *rates = json_array(),
           *shares = json_array();
    for (int i = 0; i < PART_COUNT; i++) {
        bool counted = b->work.flops[i] > 0;
        json_array_append_new(forward, json_finite(1e3 * b->forward[i]));
        json_array_append_new(backward, json_finite(1e3 * b->backward[i]));
        json_array_append_new(rates, counted ? json_finite(1e-9 * rate_of(b, i)) : json_null());
        json_array_append_new(shares, counted ? json_finite(rate_of(b, i) / peak_rate(b)) : json_null());
    }
    for (int i = 0; b->update_commands && i < PART_COUNT; i++) {
        json_array_append_new(commands, json_integer((json_int_t)b->forward_commands[i]));
        json_array_append_new(commands, json_integer((json_int_t)b->backward_commands[i]));
    }
    if (b->update_commands) json_array_append_new(commands, json_integer((json_int_t)b->update_commands));
    json_object_set_new(object, "commands", commands); // as in the columns of the text
    json_object_set_new(object, "forward_ms", forward);
    json_object_set_new(object, "backward_ms", backward);
    json_object_set_new(object, "gflops", rates);
    json_object_set_new(object, "share", shares);
}

static json_t *step_json(const BenchOptions *options, const StepShape *shape, const char *graph, const StepBench *b) {
    double floor = step_work_floor(&b->work, peak_rate(b), copy_rate(b));
    json_t *object = json_pack("{s:s s:s s:s s:i s:I s:I s:[s,s,s]}", "bench", "step", "preset", shape->name, "graph",
                               graph, "episodes", options->batch, "N", (json_int_t)shape->N, "M", (json_int_t)shape->M,
                               "parts", "encoder", "dynamics", "renderer");
    if (!object) return NULL;
    add_parts(object, b);
    json_t *rest =
        json_pack("{s:f s:f s:f s:f s:o s:o s:f s:o s:I s:I s:f s:o}", "place_ms", 1e3 * b->place.wall, "update_ms",
                  1e3 * b->update.wall, "step_ms", 1e3 * b->step.wall, "step_cpu_ms", 1e3 * b->step.cpu, "peak_gflops",
                  json_finite(1e-9 * peak_rate(b)), "peak_gbytes_per_second", json_finite(1e-9 * copy_rate(b)),
                  "floor_ms", 1e3 * floor, "over_floor", json_finite(b->step.wall / floor), "tape_bytes",
                  (json_int_t)b->tape_bytes, "scratch_bytes", (json_int_t)b->scratch_bytes, "peak_resident_bytes",
                  (double)bench_peak_resident(), "memory", memory_json(b));
    json_object_update_new(object, rest);
    return object;
}

static Status report_whole(const BenchOptions *options, const StepShape *shape, const char *graph, const StepBench *b,
                           Error *err) {
    double floor = step_work_floor(&b->work, peak_rate(b), copy_rate(b));
    const DeviceReplay *r = &b->replay;
    if (!options->json) {
        printf("%-20s %9.1f ms, cpu %.1f; %.1f times the floor", graph, 1e3 * b->step.wall, 1e3 * b->step.cpu,
               b->step.wall / floor);
        if (options->cuda_graph)
            printf(
                "; graphs: %zu captured, %zu launched, %zu kernels changed, %zu parts changed and ran without a graph",
                r->captured, r->launched, r->changed, r->otherwise);
        printf("\n");
        return STATUS_OK;
    }
    return json_write_line(
        stdout,
        json_pack("{s:s s:s s:s s:i s:b s:f s:f s:f s:o s:I s:I s:I s:I s:o}", "bench", "whole step", "preset",
                  shape->name, "graph", graph, "episodes", options->batch, "cuda_graph", options->cuda_graph, "step_ms",
                  1e3 * b->step.wall, "step_cpu_ms", 1e3 * b->step.cpu, "floor_ms", 1e3 * floor, "over_floor",
                  json_finite(b->step.wall / floor), "graphs_captured", (json_int_t)r->captured, "graphs_launched",
                  (json_int_t)r->launched, "kernels_changed", (json_int_t)r->changed, "parts_otherwise",
                  (json_int_t)r->otherwise, "memory", memory_json(b)),
        err);
}

static Status report_step(const BenchOptions *options, const StepShape *shape, const char *graph, const StepBench *b,
                          Error *err) {
    if (options->json) return json_write_line(stdout, step_json(options, shape, graph, b), err);
    print_step(graph, b);
    return STATUS_OK;
}

typedef Status ReportStep(const BenchOptions *options, const StepShape *shape, const char *graph, const StepBench *b,
                          Error *err);

// Measures and reports the requested graphs, one after the other.
static Status each_graph(Device *device, const BenchOptions *options, const Observation *frames, StepMeasure measure,
                         ReportStep *report, Error *err) {
    const StepShape *shape = &step_shapes[options->preset];
    Status status = STATUS_OK;
    for (int graph = 0; graph < STEP_GRAPHS && status == STATUS_OK; graph++) {
        StepBench b;
        Config config;
        if (options->graph != STEP_GRAPHS && options->graph != graph) continue;
        status = step_bench_config(shape, (StepGraph)graph, options->keep_mib, &config, err);
        config.model.precision = (int)device->precision;
        config.train.cuda_graph = options->cuda_graph;
        config.train.batch = options->batch;
        if (status == STATUS_OK) status = step_bench(device, &config, frames, measure, options->repeat, &b, err);
        if (status == STATUS_OK) status = report(options, shape, step_graph_names[graph], &b, err);
        fflush(stdout);
    }
    return status;
}

Status bench_step(Device *device, const BenchOptions *options, Error *err) {
    const StepShape *shape = &step_shapes[options->preset];
    Video video;
    Status status = open_video(&video, shape, options->data, err);
    if (status == STATUS_OK && !options->json) {
        printf(
            "\ntraining step of preset %s: %d episode%s, %d views of %dx%d pixels, %zu particles, %zu abstract nodes "
            "(hierarchical), %d rollout steps, %d rays an image; times in ms\n",
            shape->name, options->batch, options->batch == 1 ? "" : "s", video.observation.V, video.observation.W,
            video.observation.H, shape->N, shape->M, shape->rollout, shape->rays);
    }
    if (status == STATUS_OK)
        status = options->whole ? each_graph(device, options, &video.observation, MEASURE_WHOLE, report_whole, err)
                                : each_graph(device, options, &video.observation, MEASURE_STEP, report_step, err);
    close_video(&video);
    return status;
}

// ---- vpd bench doubling

enum { DOUBLING_VIEWS = 2, PAPER_N = 16384, MAX_TRAINED = 1 << 17 };

// N particles from two images of N / 2 pixels; the radii shrink with the spacing of the particles.
static StepShape doubled_shape(size_t N) {
    int bits = 0;
    while ((size_t)2 << bits <= N / DOUBLING_VIEWS) bits++;
    return (StepShape){.name = "doubling",
                       .N = N,
                       .M = N / 16,
                       .views = DOUBLING_VIEWS,
                       .H = 1 << bits / 2,
                       .W = 1 << (bits - bits / 2),
                       .rollout = 1,
                       .rays = 256,
                       .radius = 0.03 * sqrt((double)PAPER_N / (double)N),
                       .checkpoint = false};
}

static Status measure_doubled(Device *device, const BenchOptions *options, size_t N, bool train, StepBench *out,
                              Error *err) {
    Video video;
    Config config;
    StepShape shape = doubled_shape(N);
    int graph = options->graph == STEP_GRAPHS ? STEP_HIERARCHICAL : options->graph;
    // Activations are not kept, because the limit of train.keep_mib would distort the memory curve.
    Status status = step_bench_config(&shape, (StepGraph)graph, 0, &config, err);
    if (status != STATUS_OK) return status;
    status = open_video(&video, &shape, NULL, err);
    if (status == STATUS_OK)
        status = step_bench(device, &config, &video.observation, train ? MEASURE_STEP : MEASURE_INFERENCE,
                            options->repeat, out, err);
    close_video(&video);
    return status;
}

static void print_doubled(size_t N, const StepBench *b, const StepBench *before) {
    double memory = (double)(b->tape_bytes + b->scratch_bytes);
    printf("%-10zu %9zu %10.1f %10.1f %10.1f %10.1f %10.1f", N, b->particles,
           1e3 * (b->forward[PART_ENCODER] + b->backward[PART_ENCODER]),
           1e3 * (b->forward[PART_DYNAMICS] + b->backward[PART_DYNAMICS]),
           1e3 * (b->forward[PART_RENDERER] + b->backward[PART_RENDERER]), 1e3 * b->step.wall, memory / MIB);
    if (before)
        printf(" %7.2f %8.2f %7.2f", b->step.wall / before->step.wall, b->step.cpu / before->step.cpu,
               memory / (double)(before->tape_bytes + before->scratch_bytes));
    putchar('\n');
    fflush(stdout);
}

static json_t *doubled_json(size_t N, bool train, const StepBench *b) {
    return json_pack("{s:s s:s s:I s:I s:f s:f s:f s:f s:f s:I}", "bench", "doubling", "what",
                     train ? "training" : "inference", "N", (json_int_t)N, "particles", (json_int_t)b->particles,
                     "encoder_ms", 1e3 * (b->forward[PART_ENCODER] + b->backward[PART_ENCODER]), "dynamics_ms",
                     1e3 * (b->forward[PART_DYNAMICS] + b->backward[PART_DYNAMICS]), "renderer_ms",
                     1e3 * (b->forward[PART_RENDERER] + b->backward[PART_RENDERER]), "step_ms", 1e3 * b->step.wall,
                     "step_cpu_ms", 1e3 * b->step.cpu, "bytes",
                     (json_int_t)b->tape_bytes + (json_int_t)b->scratch_bytes);
}

static void print_doubling_head(bool train) {
    printf("\n%s; milliseconds; ratios to the line above\n",
           train ? "training, one rollout step: forward, backward, update" : "inference, one rollout step");
    printf("%-10s %9s %10s %10s %10s %10s %10s %7s %8s %7s\n", "N", "particles", "encoder", "dynamics", "renderer",
           "all", "MiB", "time", "cpu time", "memory");
}

static Status double_up(Device *device, const BenchOptions *options, bool train, size_t to, Error *err) {
    StepBench last[2];
    int count = 0;
    if (!options->json) print_doubling_head(train);
    for (size_t N = (size_t)options->from; N <= to; N *= 2, count++) {
        Status status = measure_doubled(device, options, N, train, &last[count % 2], err);
        if (status == STATUS_OK && options->json)
            status = json_write_line(stdout, doubled_json(N, train, &last[count % 2]), err);
        if (status != STATUS_OK) return status;
        if (!options->json) print_doubled(N, &last[count % 2], count ? &last[(count + 1) % 2] : NULL);
    }
    return STATUS_OK;
}

Status bench_doubling(Device *device, const BenchOptions *options, Error *err) {
    size_t to = (size_t)options->to, trained = to < MAX_TRAINED ? to : MAX_TRAINED;
    if (!options->json)
        printf("\ndoubling: M = N/16, radii proportional to N^-1/2, two images of N/2 pixels, %d rays each, "
               "activations recomputed\n",
               256);
    Status status = double_up(device, options, true, trained, err);
    return status == STATUS_OK ? double_up(device, options, false, to, err) : status;
}

// ---- vpd bench frames

static Status report_frames(const BenchOptions *options, const StepShape *shape, const char *graph, const StepBench *b,
                            Error *err) {
    double ms = 1e3 * b->step.wall, per_second = 1 / b->step.wall;
    if (options->json)
        return json_write_line(stdout,
                               json_pack("{s:s s:s s:s s:I s:i s:i s:f s:f}", "bench", "frames", "preset", shape->name,
                                         "graph", graph, "N", (json_int_t)b->particles, "width", b->W, "height", b->H,
                                         "frame_ms", ms, "frames_per_second", per_second),
                               err);
    printf("frames, %s, %s: %zu particles, a rollout step and %dx%d pixels: %.2f ms, %.1f frames/s\n", shape->name,
           graph, b->particles, b->W, b->H, ms, per_second);
    return STATUS_OK;
}

// Times one rollout step and its picture, at the preset's size and STEP_WIDER times as wide.
Status bench_frames(Device *device, const BenchOptions *options, Error *err) {
    Video video;
    Status status = open_video(&video, &step_shapes[options->preset], options->data, err);
    if (status == STATUS_OK)
        status = each_graph(device, options, &video.observation, MEASURE_FRAME, report_frames, err);
    if (status == STATUS_OK)
        status = each_graph(device, options, &video.observation, MEASURE_WIDE_FRAME, report_frames, err);
    close_video(&video);
    return status;
}
