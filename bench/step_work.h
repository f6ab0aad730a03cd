// SPDX-License-Identifier: Apache-2.0
// What a training step cannot do without (docs/performance.md): operations of its products and bytes that no cache
// holds. With the measured peaks of a device they give the least time that a stage can take.
#ifndef VPD_BENCH_STEP_WORK_H
#define VPD_BENCH_STEP_WORK_H

#include "model/vpd.h"
#include "train/step_clock.h"

typedef struct StepWork {
    // Forward and backward, all rollout steps. Bytes of the encoder alone: the dynamics' state of a step and the
    // renderer's samples fit the cache of a GPU. The renderer's operations are left out, they are under 1 %.
    double flops[PART_COUNT], bytes[PART_COUNT];
    double update_bytes; // parameters, gradients, moments and average, each read and written as often as needed
} StepWork;

StepWork step_work(const Vpd *model, ImageShape images, size_t particles, int rollout);

// Seconds: for each stage the larger of its two shares; 0 where a peak is not known.
double step_work_floor(const StepWork *work, double flops_per_second, double bytes_per_second);

#endif
