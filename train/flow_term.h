// SPDX-License-Identifier: Apache-2.0
// The scene-flow term of the loss: predicted positions against those that follow the scene flow between consecutive
// frames of the video (docs/model.md, "Losses"). Flow needs only depth and colour. It gives every particle a target,
// and so teaches motion in far fewer steps than pixels do.
#ifndef VPD_TRAIN_FLOW_TERM_H
#define VPD_TRAIN_FLOW_TERM_H

#include "model/vpd.h"

// Target positions of the particles. Starts as {0} before the first step of a rollout.
typedef struct FlowTrack {
    real *y; // (N,3) device memory of the tape, or NULL
} FlowTrack;

// Call after each rollout step. Moves the track by `field`, the motion from the step's first frame to the predicted
// one. *out (1,1) is the pseudo-Huber distance to the track in units of s: the mean over moving particles plus the mean
// over static ones. The field is rotated as `frames` are.
Status flow_term(Tape *tape, const Vpd *model, const Scene *scene, const Observation *frames, const MotionField *field,
                 FlowTrack *track, Tensor **out, Error *err);

#endif
