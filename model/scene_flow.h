// SPDX-License-Identifier: Apache-2.0
// Scene flow of an observation: the velocity cue of a scene, from the points of its last two input times
// (docs/model.md, "Scene flow").
#ifndef VPD_MODEL_SCENE_FLOW_H
#define VPD_MODEL_SCENE_FLOW_H

#include "model/vpd.h"

// Points that a cue stands at, at most: of those that move, or of all where nothing tells which move.
enum { CUE_POINTS = 256, CUE_POINTS_OF_ALL = 1024 };

// A cloud on the device; memory of the tape.
GnnPoints points_of_cloud(Tape *tape, const PointCloud *cloud);

// Flow u (queries, 3) and its gradient g (queries, 9) from one cloud to the other, device memory. Points move whose
// flag is set, so flags must have been confirmed (model/moving.h). g is NULL where `rigid` is false.
typedef struct SceneFlowArgs {
    const PointCloud *from, *to;
    GnnPoints queries;
    bool rigid;
    real *u, *g;
} SceneFlowArgs;

void scene_flow(Tape *tape, const Vpd *model, const SceneFlowArgs *args);

// Flow from the present to the past at points of the present, flags confirmed; memory of the tape.
GnnFlow scene_cue(Tape *tape, const Vpd *model, const PointCloud *now, const PointCloud *past);

#endif
