// SPDX-License-Identifier: Apache-2.0
// Rollouts: the input frames of an episode become particles, and the model advances them step by step. The result is a
// RolloutFile in host memory (files/rollout_file.h): the input sets, the particles' positions at steps 1..n, cameras
// and times.
//   rollout_run = rollout_begin (input frames -> sets, step 0), then rollout_simulate (n steps more)
// Device memory does not grow with the number of steps, because each step starts from host copies on an empty tape. A
// rollout that is read from a file continues exactly where it stopped, because random numbers are keyed by the
// episode's name and the step.
#ifndef VPD_INFER_ROLLOUT_H
#define VPD_INFER_ROLLOUT_H

#include "base/log.h"
#include "files/rollout_file.h"
#include "infer/history.h"
#include "model/shadows.h"

// Workspace that rollouts of one model reuse.
typedef struct RolloutWorkspace {
    const Vpd *model;
    Tape tape; // does not record; drawing (infer/draw.h) may use it between rollouts
    Workspace scene;
    // Of the present particles that were drawn last, which have this hash.
    Shadows *shadows;
    Arena shadow_memory;
    uint64_t shadows_of;
} RolloutWorkspace;

void rollout_workspace_init(RolloutWorkspace *workspace, const Vpd *model);
void rollout_workspace_free(RolloutWorkspace *workspace); // accepts {0}

// Encodes the input frames, the last of which is the present one: *out gets sets, background, bounds, time and cameras
// of step 0, and its origin. Labels of the present particles are the mask's ids at their pixels, if there is a mask.
// `info` is the history's episode; its file is "" for frames that come from no file.
Status rollout_begin(RolloutWorkspace *workspace, const EpisodeInfo *info, const Frames *history, RolloutFile *out,
                     Error *err);

// Predicts `steps` more steps. Particles that are not finite are STATUS_FAILED; a signal
// (base/stop.h) is STATUS_INTERRUPTED. After an error the rollout has the steps before it. Time advances by the time
// step; cameras stay.
Status rollout_simulate(RolloutWorkspace *workspace, RolloutFile *rollout, size_t steps, const Log *log, Error *err);

typedef struct RolloutRequest {
    HistoryRequest history;
    const IntList *driven; // objects whose true motion is given (infer/truth.h); NULL: none
    const char *analytic;  // all bodies are simulated: keys of the edit `simulate`, "{}"; NULL: by the model
    int steps;             // 0: step 0 alone
    const Log *log;        // progress; NULL: none
    const Log *warnings;   // about driven objects; NULL: none
} RolloutRequest;

// Begin and simulate. Times and moving cameras are the episode's until its end.
Status rollout_run(RolloutWorkspace *workspace, const Dataset *dataset, const RolloutRequest *request, RolloutFile *out,
                   Error *err);

// ---- reading a rollout at a step, 0 .. steps

// (N,3) metres
static inline const float *rollout_positions(const RolloutFile *r, size_t step) {
    return step == 0 ? r->sets[0].positions : r->positions + (step - 1) * 3 * r->sets[0].N;
}
// (N,D); those of step 0 if features do not change
static inline const float *rollout_features(const RolloutFile *r, size_t step) {
    return step == 0 || !r->features ? r->sets[0].features : r->features + (step - 1) * r->sets[0].D * r->sets[0].N;
}
// 16 numbers: the pose of a camera at a step
static inline const double *rollout_pose(const RolloutFile *r, size_t step, int view) {
    size_t frame = r->camera_frames > 1 ? step : 0;
    return r->world_from_camera + 16 * (frame * (size_t)r->V + (size_t)view);
}

#endif
