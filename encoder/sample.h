// SPDX-License-Identifier: Apache-2.0
// Which points become particles (docs/model.md, "Choice of particles"). Host memory.
#ifndef VPD_ENCODER_SAMPLE_H
#define VPD_ENCODER_SAMPLE_H

#include "encoder/unproject.h"
#include "nn/choose.h"

typedef enum Sampling { SAMPLING_UNIFORM, SAMPLING_VOXEL } Sampling;

typedef struct SampleOptions {
    Sampling sampling;
    size_t N;            // at most
    double moving_share; // fraction of N that is chosen first, among moving points (voxel)
    double extent;       // X, metres
    uint32_t seed, step, episode;
} SampleOptions;

// Chosen points in order of their keys; memory is kept for the next call.
typedef struct Selection {
    size_t count;
    Keyed *items; // items[i].index is a point of the cloud
    size_t capacity;
    VoxelTable voxels[3]; // of points that move, and those inside and outside the box
} Selection;

Status sample_particles(const Observation *observation, const PointCloud *cloud, const SampleOptions *options,
                        Selection *out, Error *err);
void selection_free(Selection *selection); // accepts {0}

#endif
