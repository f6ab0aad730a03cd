// SPDX-License-Identifier: Apache-2.0
// Scene flow between two clouds of coloured points without known correspondences (docs/model.md, "Scene flow"). It
// starts from differences of local means, followed by rigid point-to-plane registration of the moving points around
// each query, where queries exchange hypotheses with their neighbours. The motion into a frame is minus the flow back
// (motion/observe.c).
#ifndef VPD_MOTION_FLOW_H
#define VPD_MOTION_FLOW_H

#include "nn/device.h"

#include <stddef.h>

// Points with colours, device memory.
typedef struct FlowPoints {
    size_t count;
    const real *x; // (count, 3) metres
    const real *c; // (count, 3) rgb in [0,1]
} FlowPoints;

typedef struct FlowArgs {
    FlowPoints queries, from, to;
    FlowPoints from_moving, to_moving; // the moving points; with fewer than 8 in either cloud there is no registration
    real colour_length;                // metres per unit of rgb
    real extent;                       // X, metres: unit of the scales of registration
    real *u;                           // (queries, 3) metres, device memory
    real *g;                           // (queries, 9) du/dx, row-major, device memory
} FlowArgs;

// If memory is short, the device is marked as failed. Temporaries stay in device->scratch, so callers mark and release
// it.
void flow_between(Device *device, const FlowArgs *args);

#endif
