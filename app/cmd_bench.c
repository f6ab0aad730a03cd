// SPDX-License-Identifier: Apache-2.0
// `vpd bench`: time of the hot parts at the reference shapes, of whole training steps, and of every op at the sizes of
// its case table that are worth timing.
#include "app/commands.h"
#include "app/model_flags.h"
#include "base/json.h"
#include "bench/bodies_bench.h"
#include "bench/report_ops.h"
#include "bench/report_raster.h"
#include "bench/report_sim.h"
#include "bench/report_step.h"
#include "bench/step_bench.h"
#include "model/config.h"

#include <string.h>

static const Flag flags[] = {
    {.name = "preset",
     .value = "NAME",
     .help = "sizes: tiny, small, paper (those of the paper) or large (default paper)"},
    {.name = "repeat", .value = "N", .help = "number of measurements; the median is reported (default 5)"},
    {.name = "graph",
     .value = "NAME",
     .help = "step, frames, doubling: hierarchical, bodies or all (gnn.graph; default all)"},
    {.name = "data", .value = "DATA", .help = "step: data set to train on (default: a synthetic room)"},
    {.name = "batch", .value = "N", .help = "step: episodes of a step, train.batch (default 1)"},
    {.name = "keep", .value = "MIB", .help = "step: train.keep_mib (default 1024)"},
    {.name = "whole", .help = "step: time whole steps only, as in training (timing each part makes a GPU wait)"},
    {.name = "cuda-graph", .help = "step: time whole steps with train.cuda_graph"},
    {.name = "precision", .value = "NAME", .help = "model.precision: f32, bf16x6, bf16x3, bf16 or tf32 (default f32)"},
    {.name = "from", .value = "N", .help = "doubling, neighbours: smallest number of particles (default 4096)"},
    {.name = "to",
     .value = "N",
     .help = "doubling: largest number of particles; training stops at 131072 (default 1048576)"},
    {.name = "device", .value = "DEVICE", .help = "auto, cpu, cuda or cuda:NUMBER (default auto)"},
    {.name = "json", .help = "one JSON object per measurement instead of tables"},
    {0},
};

// ---- bodies

static json_t *bodies_json(const BodiesBench *b, const FindBench *f) {
    return json_pack("{s:s s:I s:I s:I s:f s:f s:f s:f s:I s:I s:f s:f}", "bench", "bodies", "windows",
                     (json_int_t)b->windows, "nodes", (json_int_t)b->nodes, "weights", (json_int_t)b->weights,
                     "inputs_ms", 1e3 * b->inputs.wall, "forward_ms", 1e3 * b->forward.wall, "backward_ms",
                     1e3 * b->backward.wall, "motions_ms", 1e3 * b->motions.wall, "tape_bytes",
                     (json_int_t)b->tape_bytes, "found", (json_int_t)f->bodies, "find_ms", 1e3 * f->find.wall,
                     "register_ms", 1e3 * f->register_all.wall);
}

static Status bench_bodies(Device *device, const BenchOptions *options, Error *err) {
    enum { C = 64, L = 4, SIDE = 64 };
    BodiesBench b;
    FindBench f;
    Status status = bodies_bench(device, C, L, options->repeat, &b, err);
    if (status == STATUS_OK) status = bodies_bench_find(device, SIDE, options->repeat, &f, err);
    if (status != STATUS_OK) return status;
    if (options->json) return json_write_line(stdout, bodies_json(&b, &f), err);
    double seconds = b.inputs.wall + b.forward.wall + b.backward.wall + b.motions.wall;
    printf("\nbodies: %zu windows of two bodies, %zu nodes, C %d, L %d, %zu weights\n", b.windows, b.nodes, C, L,
           b.weights);
    printf("inputs %.2f ms, forward %.2f ms, backward %.2f ms, motions %.2f ms: %.0f windows/s, %.0f MiB\n",
           1e3 * b.inputs.wall, 1e3 * b.forward.wall, 1e3 * b.backward.wall, 1e3 * b.motions.wall,
           (double)b.windows / seconds, (double)b.tape_bytes / (1 << 20));
    printf("a frame of %zu pixels, %zu points of motion: %zu of 5 boxes found in %.2f ms, registered in %.1f ms\n",
           f.pixels, f.points, f.bodies, 1e3 * f.find.wall, 1e3 * f.register_all.wall);
    return STATUS_OK;
}

// ---- the command

typedef Status Bench(Device *device, const BenchOptions *options, Error *err);

static Status read_options(const CommandLine *line, BenchOptions *out, Error *err) {
    *out = (BenchOptions){.preset = STEP_PAPER,
                          .graph = STEP_GRAPHS,
                          .repeat = 5,
                          .batch = 1,
                          .data = command_text(line, "data", NULL),
                          .keep_mib = 1024,
                          .from = 1 << 12,
                          .to = 1 << 20};
    Status status = command_choice(line, "preset", "tiny|small|paper|large", &out->preset, err);
    if (status == STATUS_OK) status = command_choice(line, "graph", "hierarchical|bodies|all", &out->graph, err);
    if (status == STATUS_OK) status = command_small_int(line, "repeat", 1, 64, &out->repeat, err);
    if (status == STATUS_OK) status = command_small_int(line, "batch", 1, 64, &out->batch, err);
    if (status == STATUS_OK) status = command_real(line, "keep", 0, 1e7, &out->keep_mib, err);
    if (status == STATUS_OK) status = command_int(line, "from", 64, 1 << 20, &out->from, err);
    if (status == STATUS_OK) status = command_int(line, "to", 64, 1 << 22, &out->to, err);
    out->json = command_has(line, "json");
    out->cuda_graph = command_has(line, "cuda-graph");
    out->whole = out->cuda_graph || command_has(line, "whole");
    return status;
}

static Status set_precision(Device *device, const char *name, Error *err) {
    char pair[64];
    const char *pairs[] = {pair};
    Config config;
    config_defaults(&config);
    snprintf(pair, sizeof pair, "model.precision=%s", name ? name : "");
    Status status = name ? config_set(&config, 1, pairs, err) : STATUS_OK;
    if (status == STATUS_OK) device_set_precision(device, (Precision)config.model.precision);
    return status;
}

static Status run_bench(const CommandLine *line, Error *err) {
    static const struct {
        const char *name;
        Bench *run;
        bool on_request;
    } parts[] = {{"bodies", bench_bodies, false},        {"step", bench_step, false},
                 {"doubling", bench_doubling, true},     {"frames", bench_frames, true},
                 {"neighbours", bench_neighbours, true}, {"ops", bench_ops, true},
                 {"raster", bench_raster, true},         {"sim", bench_sim, true}};
    const size_t count = sizeof parts / sizeof *parts;
    const char *wanted = command_argument(line, 0);
    BenchOptions options;
    Device *device = NULL;
    size_t known = 0;
    while (wanted && known < count && strcmp(wanted, parts[known].name) != 0) known++;
    if (known == count)
        return error_set(err, STATUS_BAD_INPUT,
                         "expected bodies, step, doubling, frames, neighbours, ops, raster or sim, found \"%.40s\"",
                         wanted);
    Status status = read_options(line, &options, err);
    if (status == STATUS_OK) status = command_open_device(line, &device, err);
    if (status == STATUS_OK) status = set_precision(device, command_text(line, "precision", NULL), err);
    if (status == STATUS_OK && options.json)
        status = json_write_line(stdout, json_pack("{s:s s:s}", "bench", "device", "device", device->name), err);
    else if (status == STATUS_OK) printf("device %s\n", device->name);
    for (size_t i = 0; i < count && status == STATUS_OK; i++)
        if (wanted ? i == known : !parts[i].on_request) status = parts[i].run(device, &options, err);
    if (status == STATUS_OK && device->note[0] && !options.json) printf("%s\n", device->note);
    device_close(device);
    return status;
}

const Command command_bench = {
    .name = "bench",
    .summary = "measure how fast this machine trains and predicts",
    .arguments = "[bodies|step|doubling|frames|neighbours|ops|raster|sim]",
    .max_arguments = 1,
    .flags = flags,
    .details = "Without an argument: bodies and step. frames: one rollout step and its picture. "
               "neighbours: the 16 nearest of 2^12 to 2^17 points. raster: the simulator's rasterisers. "
               "sim: the simulator. Times are "
               "medians of wall time; docs/speed_experiments.md "
               "says what is counted.",
    .run = run_bench,
};
