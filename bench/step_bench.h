// SPDX-License-Identifier: Apache-2.0
// Time and memory of whole training steps (encode, roll out and render at every step, loss, backward, update), with the
// functions of training, at shapes that do not depend on the defaults of options.
#ifndef VPD_BENCH_STEP_BENCH_H
#define VPD_BENCH_STEP_BENCH_H

#include "base/observation.h"
#include "bench/step_work.h"
#include "bench/time.h"
#include "model/config.h"
#include "nn/device_memory.h"
#include "train/episode.h"

typedef struct StepShape {
    const char *name;
    size_t N, M;
    int views, H, W; // cameras, image rows and columns
    int rollout;     // steps
    int rays;        // per image and step
    double radius;   // of a particle, metres
    bool checkpoint; // recompute rollout steps in the backward pass (train.checkpoint_steps)
} StepShape;

typedef enum StepPreset { STEP_TINY, STEP_SMALL, STEP_PAPER, STEP_LARGE, STEP_PRESETS } StepPreset;
typedef enum StepGraph { STEP_HIERARCHICAL, STEP_BODIES, STEP_GRAPHS } StepGraph;

extern const StepShape step_shapes[STEP_PRESETS]; // `reference`
extern const char *const step_graph_names[STEP_GRAPHS];

// The reference model (C 128, L 10, D 16, UNet 32-64-128-256, neighbours 3/10/4, renderer K 8, S 16, 64-64) at a shape.
Status step_bench_config(const StepShape *shape, StepGraph graph, double keep_mib, Config *out, Error *err);

typedef struct StepBench {
    BenchTime step, update, place;                    // medians; place: particles are chosen, on the host
    double forward[PART_COUNT], backward[PART_COUNT]; // medians of wall time, seconds
    size_t forward_commands[PART_COUNT], backward_commands[PART_COUNT], update_commands; // of a GPU, in the last step
    BenchTime product, copy;          // medians of the peaks' measurements
    double product_flops, copy_bytes; // of one measurement
    StepWork work;
    MemoryUse memory[MEMORY_USES]; // peak of each part
    size_t memory_count;
    size_t particles, tape_bytes, scratch_bytes;
    int H, W;            // of a frame's picture
    DeviceReplay replay; // of all steps, with config->train.cuda_graph
} StepBench;

enum { STEP_WIDER = 4 };

typedef enum StepMeasure {
    MEASURE_STEP,  // a training step and its parts
    MEASURE_WHOLE, // whole steps without their parts, with train.cuda_graph as configured: fills step, work, memory,
                   // replay
    MEASURE_INFERENCE, // without gradients: encode, one rollout step, rays; fills step, forward, tape_bytes,
                       // scratch_bytes, particles
    MEASURE_FRAME,     // one rollout step and the picture of a view (H x W of the input), with the copy to the host:
                       // fills step, particles, H, W
    MEASURE_WIDE_FRAME // the same with STEP_WIDER times as many rows and columns
} StepMeasure;

// The episodes of training step `step`, which all show `frames`. All views are input: input_views (frames->V) holds
// their positions.
void step_bench_episodes(const Observation *frames, int *input_views, long step, size_t count, EpisodeInput *out);

// `frames` holds T + rollout frames; all views are input and rendered.
Status step_bench(Device *device, const Config *config, const Observation *frames, StepMeasure measure, int repetitions,
                  StepBench *out, Error *err);

#endif
