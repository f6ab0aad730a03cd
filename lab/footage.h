// SPDX-License-Identifier: Apache-2.0
// A scene's rollout in double, and its pictures: in memory, or as a data set (docs/data.md).
#ifndef VPD_LAB_FOOTAGE_H
#define VPD_LAB_FOOTAGE_H

#include "datasets/dataset.h"
#include "lab/render.h"

typedef struct Footage {
    size_t frames;    // the first included
    double *position; // (frames,N,3) metres
    double *velocity; // (frames,N,3) m/s
    double box[6];    // (2,3) metres: of the motion
} Footage;

// Runs the scene with the threads, isa or device of `on`, and turns the cameras that stand around it to the motion.
Status footage_run(SimScene *scene, const SimOptions *on, Footage *out, Error *err);
void footage_free(Footage *footage); // accepts {0}

// (H,W,3) of 0 to 1 as bytes.
void footage_bytes(const double *colour, size_t pixels, uint8_t *out);

// A data set of one episode with every camera: rgb, depth, masks of objects, state/object_position (centres of mass),
// object_quaternion (nearest rotation from the rest pose), vertices in f64 and vertex_object. World: z up.
Status footage_write(const SimScene *scene, const Footage *footage, Split split, const SimOptions *on, const char *path,
                     Error *err);

#endif
