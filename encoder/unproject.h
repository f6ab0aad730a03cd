// SPDX-License-Identifier: Apache-2.0
// From posed RGB-D pixels to points: x = world_from_camera (z Kc^-1 [u+0.5, v+0.5, 1]) for every pixel with depth, with
// its colour and moving flag (docs/model.md, "Points"). Host memory.
#ifndef VPD_ENCODER_UNPROJECT_H
#define VPD_ENCODER_UNPROJECT_H

#include "base/error.h"
#include "base/observation.h"
#include "nn/real.h"

#include <stddef.h>

// The points of one frame, all views; arrays are kept and grown by the next call.
typedef struct PointCloud {
    size_t count, capacity;
    real *position;  // (n,3) metres, world
    real *colour;    // (n,3) in [0,1]
    real *moving;    // (n) 0 or 1
    int32_t *pixel;  // (n) (view position * H + row) * W + column
    uint8_t *inside; // (n) within the workspace box (1 without one)
    double noise;    // of depth differences, a share of the squared depth, 1/m; 0 without flags
} PointCloud;

typedef struct UnprojectOptions {
    bool crop;               // points outside the box are left out
    double moving_threshold; // zm in metres, more where depth is noisier; 0: every flag is 0
} UnprojectOptions;

Status unproject_frame(const Observation *observation, int frame, UnprojectOptions options, PointCloud *out,
                       Error *err);
// Copies a point's position and colour to x (3) and c (3).
void point_cloud_get(const PointCloud *cloud, size_t point, real *x, real *c);
// Makes room for `count` points; those that are there stay.
Status point_cloud_reserve(PointCloud *cloud, size_t count, Error *err);
void point_cloud_free(PointCloud *cloud); // accepts {0}

#endif
