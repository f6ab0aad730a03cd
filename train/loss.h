// SPDX-License-Identifier: Apache-2.0
// The loss of one episode (docs/model.md, "Losses"): encode the history, roll out, draw rays of the training views at
// every step, and compare with the video.
#ifndef VPD_TRAIN_LOSS_H
#define VPD_TRAIN_LOSS_H

#include "model/vpd.h"
#include "train/flow_term.h"
#include "train/motion_cache.h"
#include "train/ray_batch.h"
#include "train/step_clock.h"

// Parts of the loss, each already weighted; they add up to `total`.
typedef struct LossParts {
    double total, pixels, displacement, nearest, flow, depth, ssim;
    double step0, last; // mean squared error of rays at step 0 and at the last step, not weighted
    double spread;      // of the abstract nodes' hidden state at the first step; 0 when there are none
    double motion;      // mean |dx| over particles of the last step, metres
    size_t particles;   // of the present set
} LossParts;

// sum += weight * one; `particles` becomes that of `one`.
void loss_parts_add(LossParts *sum, const LossParts *one, double weight);
// The name of a part that is NaN or infinite, or NULL.
const char *loss_parts_not_finite(const LossParts *parts);

// Host memory kept between steps. Starts as {0}.
typedef struct LossWorkspace {
    Workspace scene;
    RayBatch rays;
    PointCloud cloud; // of a later frame, for the nearest-point term
    MotionCache motion;
} LossWorkspace;

void loss_workspace_free(LossWorkspace *workspace);

typedef struct LossInput {
    const Observation
        *frames; // T + rollout frames: the history, then what is to be predicted; all views but the held-out ones
    const int *input_views; // positions in frames->views that the encoder sees
    int input_view_count;
    int rollout;      // steps
    bool motion_only; // without encoder and renderer
    VideoFrame first; // what `frames` begin at, by which motion is kept
    SceneKey key;
    double scale;     // the loss is multiplied by this before backward (1 / batch)
    StepClock *clock; // NULL: nobody asks what takes how long
} LossInput;

// Parts of the loss on the device, until the tape is reset.
typedef struct LossValues {
    const real *read;
    size_t moved, particles; // rows of the last dx, particles of the present set
} LossValues;

// Records on the tape and runs backward into the parameters' gradients. The tape is reset first.
Status loss_backward(Tape *tape, const Vpd *model, LossWorkspace *workspace, const LossInput *input, LossValues *values,
                     Error *err);
// Waits for them.
Status loss_read(Tape *tape, const LossValues *values, LossParts *parts, Error *err);

#endif
