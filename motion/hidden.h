// SPDX-License-Identifier: Apache-2.0
// What bodies hide of large planes that stand still, such as the floor below and behind them (docs/model.md, "Behind
// bodies"): it comes into sight when they move. Host memory.
#ifndef VPD_MOTION_HIDDEN_H
#define VPD_MOTION_HIDDEN_H

#include "encoder/unproject.h"
#include "nn/tape.h"

// Points behind others of a cloud, in the tape's host memory.
typedef struct Hidden {
    size_t first;  // number of the first one
    int32_t *like; // a pixel of the same plane in sight, for each
} Hidden;

// Adds hidden points to the points of the last frame of each observation, whose moving flags tell what belongs to a
// body: now, out (count). The `pixel` of such a point is that of the body which hides it. crop: none outside the
// workspace box; extent: X, metres.
Status hidden_add(Tape *tape, size_t count, const Observation *const *observations, bool crop, double extent,
                  PointCloud *now, Hidden *out, Error *err);

#endif
