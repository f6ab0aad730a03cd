// SPDX-License-Identifier: Apache-2.0
// Lower bounds for a training step (docs/speed_experiments.md): operations of its matrix products, and bytes that no
// cache holds. With a device's measured peak rates they give the minimum time of each stage.
#ifndef VPD_BENCH_STEP_WORK_H
#define VPD_BENCH_STEP_WORK_H

#include "model/vpd.h"
#include "train/step_clock.h"

typedef struct StepWork {
    // Forward and backward, all rollout steps. Bytes only of the encoder, because the dynamics' state of a step and the
    // renderer's samples fit into a GPU's cache. The renderer's operations, under 1 %, are left out.
    double flops[PART_COUNT], bytes[PART_COUNT];
    double update_bytes; // parameters, gradients, moments and average, each read and written as often as needed
} StepWork;

// Of `episodes` episodes, each with these images and particles.
StepWork step_work(const Vpd *model, size_t episodes, ImageShape images, size_t particles, int rollout);

// Minimum seconds: the sum over stages of the larger of both bounds. 0 if a peak is unknown.
double step_work_floor(const StepWork *work, double flops_per_second, double bytes_per_second);

#endif
