// SPDX-License-Identifier: Apache-2.0
// Scene flow between two clouds of coloured points, without correspondences (docs/model.md, "Velocity"):
//   u = mean of the 128 points of `to` nearest to (x + u, c) - mean of the 128 points of `from` nearest to (x, c), 3 times from u = 0;
//   then `refine` times closest points: u = mean of y_j - x_j over the nearer 70 % of pairs, x_j the moving points of `from` near
//   (x, c), every other of 128, and y_j the moving point of `to` nearest to x_j + u.
// Nearness is in position and colour_length * rgb; for closest points 0.3 of that, as shading does not move with a body.
// The velocity cue at nodes is minus the flow from the present to the past.
#ifndef VPD_GNN_FLOW_H
#define VPD_GNN_FLOW_H

#include "nn/device.h"

#include <stddef.h>

// Points with colours, device memory.
typedef struct GnnPoints {
    size_t count;
    const real *x; // (count, 3) metres
    const real *c; // (count, 3) rgb in [0,1]
} GnnPoints;

typedef struct FlowArgs {
    GnnPoints queries, from, to;
    GnnPoints from_moving, to_moving; // those that move; with fewer than 8 in either nothing is refined
    real colour_length;               // metres per unit of rgb
    long refine;
    real *u; // (queries, 3) metres, device memory
} FlowArgs;

// Without memory the device is marked failed. Temporaries stay in device->scratch: callers mark and release it.
void flow_between(Device *device, const FlowArgs *args);

// u_q = mean of flow[j] (.., 3) over the k points nearest to query q in position and colour_length * rgb; 0 without points. Temporaries as
// above.
void flow_at(Device *device, const GnnPoints *points, const real *flow, const GnnPoints *queries, real colour_length, size_t k, real *u);

#endif
