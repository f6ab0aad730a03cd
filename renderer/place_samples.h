// SPDX-License-Identifier: Apache-2.0
// Where rays are sampled: the first S samples of each ray that have a neighbour, and their K nearest particles
// (docs/model.md, "Renderer"). Exact: the result is that of testing every sample against every particle.
#ifndef VPD_RENDERER_PLACE_SAMPLES_H
#define VPD_RENDERER_PLACE_SAMPLES_H

#include "renderer/index.h"

// Cost of the search, for tests.
typedef struct SamplesFound {
    uint64_t candidates; // particles tested against a sample
    uint64_t cells;      // cells of any level looked at
} SamplesFound;

// Packed: ray i has samples [start[i], start[i+1]), near to far. Device memory. `count` is at least start[R]: larger
// when the host does not wait for the number; extra rows have no neighbours.
typedef struct RendererSamples {
    size_t rays, count;
    int neighbours;     // K
    int32_t *start;     // (R+1)
    int32_t *ray;       // (count)
    real *z;            // (count) metres along the camera's z
    int32_t *neighbour; // (count,K) smallest u first, ties by smaller index; -1 where there are fewer
    SamplesFound *found;
} RendererSamples;

typedef struct PlaceSamplesArgs {
    const RendererIndex *index;
    size_t rays;
    SceneRows scenes;               // of the rays
    const real *origin, *direction; // (R,3)
    const real *jitter;             // (R) or NULL = 0.5
    real delta;                     // spacing in metres along the ray
    real near, far;
    int keep;                 // S
    RendererSamples *samples; // arrays hold R*S samples; count and *found are filled in
} PlaceSamplesArgs;

#endif
