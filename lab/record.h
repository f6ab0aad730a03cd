// SPDX-License-Identifier: Apache-2.0
// A scene's rollout as a rollout file, with colours, labels and radii (the distance of neighbours) of its objects.
#ifndef VPD_LAB_RECORD_H
#define VPD_LAB_RECORD_H

#include "files/rollout_file.h"
#include "lab/scene.h"

// The object whose particles or edges are deepest inside another one, in metres and as a share of the mean distance
// between them; NULL: none is inside another. The hinge or ball joint that is farthest beyond a limit, in degrees, and
// the slider, in metres; NULL: none is.
typedef struct RecordWorst {
    const SceneObject *object;
    double deep, share;
    const SceneAxis *turning, *slider;
    double beyond, beyond_m;
} RecordWorst;

// What starts deeper is told of: inside another object, as a share of the distance between particles; below a plane, in
// metres.
#define RECORD_INSIDE_MOST 0.02
#define RECORD_BELOW_MOST 1e-3

// Raises *worst by what `gap` (N) of sim_touching says.
void record_note_inside(const SimScene *scene, const double *gap, RecordWorst *worst);

// What starts inside another object.
RecordWorst record_start(const SimScene *scene);

// Metres below a plane at which a free particle starts, of that which is deepest below one, and its object; 0, NULL:
// none does.
double record_below(const SimScene *scene, const SceneObject **object);

// `on`: its threads, isa and device hold (sim/sim.h); the rest comes from the scene. *out gets all frames. After an
// error of the rollout it holds those before it (out->steps may be 0), for the caller to write; it is empty when none
// was kept. Scenes with y up are turned to z up, as in every rollout file. Cameras that stand around the scene are
// turned to the motion (scene_aim). *worst, raised as above, is of all frames.
Status record_run(SimScene *scene, const SimOptions *on, RolloutFile *out, RecordWorst *worst, Error *err);

#endif
