// SPDX-License-Identifier: Apache-2.0
// The flow term of the loss: predicted particles against where scene flow between consecutive frames of the video takes
// them (docs/model.md, "Losses"). Flow needs depth and colour alone; it tells every particle where to go, and so
// teaches motion in far fewer steps than pixels do.
#ifndef VPD_TRAIN_FLOW_TERM_H
#define VPD_TRAIN_FLOW_TERM_H

#include "model/vpd.h"

// Where the particles should be by now; starts as {0} before the first step of a rollout.
typedef struct FlowTrack {
    real *y; // (N,3) device memory of the tape, or NULL
} FlowTrack;

// Behind a rollout step: moves the track by `field`, the motion from the frame that the step started from to the one
// that it predicts, and gives the pseudo-Huber distance to it in units of s, the mean over moving particles plus the
// mean over the others; *out is a (1,1) tensor. The field is turned as `frames` are.
Status flow_term(Tape *tape, const Vpd *model, const Scene *scene, const Observation *frames, const MotionField *field,
                 FlowTrack *track, Tensor **out, Error *err);

#endif
