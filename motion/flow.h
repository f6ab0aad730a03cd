// SPDX-License-Identifier: Apache-2.0
// Scene flow between two clouds of coloured points, without correspondences (docs/model.md, "Scene flow"): means of the
// nearest points, then rigid point-to-plane registration of the moving points around each query, in which queries learn
// from their neighbours. The motion that led to a frame is minus the flow back (motion/observe.c).
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
    FlowPoints from_moving, to_moving; // those that move; with fewer than 8 in either nothing is registered
    real colour_length;                // metres per unit of rgb
    real extent;                       // X, metres: what the scales of registration are shares of
    bool rigid;                        // false: means alone
    real *u;                           // (queries, 3) metres, device memory
    real *g;                           // (queries, 9) du/dx row by row, device memory; NULL without `rigid`
} FlowArgs;

// Without memory the device is marked failed. Temporaries stay in device->scratch: callers mark and release it.
void flow_between(Device *device, const FlowArgs *args);

// Flow at points: around point j it is u_j + g_j (x - x_j).
typedef struct Flow {
    FlowPoints points;
    const real *u; // (points.count, 3)
    const real *g; // (points.count, 9), or NULL: 0
} Flow;

// u_q (queries, 3) = mean of the flow at query q of the k points nearest to it in position and colour_length * rgb; g
// (queries, 9), or NULL: the mean of their gradients; 0 without points. Temporaries as above.
void flow_at(Device *device, const Flow *flow, const FlowPoints *queries, real colour_length, size_t k, real *u,
             real *g);

#endif
