// SPDX-License-Identifier: Apache-2.0
// A scene's rollout in double, and its pictures: in memory, or as a data set (docs/data.md).
#ifndef VPD_LAB_FOOTAGE_H
#define VPD_LAB_FOOTAGE_H

#include "datasets/writer.h"
#include "lab/fit_free.h"
#include "lab/render.h"

typedef struct Footage {
    size_t frames;    // the first included
    double *position; // (frames,N,3) metres
    double *velocity; // (frames,N,3) m/s
    double box[6];    // (2,3) metres: of the motion
    bool began;       // the rollout: what failed, if anything, failed in it
} Footage;

// Runs the scene with the threads, isa or device of `on`, and turns the cameras that stand around it to the motion.
// STATUS_FAILED with `began` where a state is not finite.
Status footage_run(SimScene *scene, const SimOptions *on, Footage *out, Error *err);
void footage_free(Footage *footage); // accepts {0}

// (H,W,3) of 0 to 1 as bytes.
void footage_bytes(const double *colour, size_t pixels, uint8_t *out);

// A data set (dataset_writer_finish ends it) whose episodes have every camera: rgb, depth, masks of objects,
// state/object_position (centres of mass), object_quaternion (nearest rotation from the rest pose), vertices in f64 and
// vertex_object; properties are the objects' masses, and the numbers x of `drawn` (count 0: none). World: z up.
Status footage_open(const char *path, DatasetWriter **out, Error *err);
Status footage_add(DatasetWriter *writer, const SimScene *scene, const Footage *footage, Split split,
                   const FitFree *drawn, const double *x, const SimOptions *on, Error *err);

#endif
