// SPDX-License-Identifier: Apache-2.0
// Evaluates a model: rolls out the planned starts, draws every step from every view, and compares with the video.
//   eval_plan_make (infer/eval_plan.h) -> eval_run -> Report (infer/report.h)
// Two baselines are the true last input frame and the model's own picture of step 0. Moving pixels are those of objects
// in the mask if there is one, else those that differ from the last input frame. With data.crop only pixels whose point
// lies in the workspace box are measured. Particles of an object are those whose pixel shows it at step 0.
#ifndef VPD_INFER_EVAL_H
#define VPD_INFER_EVAL_H

#include "infer/eval_plan.h"
#include "infer/report.h"
#include "infer/rollout.h"

typedef struct EvalOptions {
    const IntList *views;  // input views; NULL or empty: as in HistoryRequest
    const IntList *driven; // objects whose true motion is given and not measured; NULL or empty: none
    const char *analytic;  // as in RolloutRequest; NULL: the model's own dynamics
    bool seen_only;       // only pixels whose point an input view saw at step 0 (infer/eval_masks.h), for static scenes
    bool motion_only;     // only particles against state/object_position; nothing is drawn
    const char *pictures; // folder for the drawn pictures, laid out below; NULL: none
    const Log *log;       // progress; NULL: none
    Ranks *ranks;         // the processes that divide the rollouts; NULL: this one alone
} EvalOptions;

// Initialises and fills `report`; after an error it is empty. Weights are used as they are, averaged or not. Pictures:
// FOLDER/start_S/EPISODE/view_V/frame_FFFF.png and depth_FFFF.png (millimetres), as infer/eval_frames.h reads them,
// where FFFF is the frame of the episode; and FOLDER/EPISODE_start_S.png, truth above prediction at a few steps.
Status eval_run(const Vpd *model, const Dataset *dataset, const EvalPlan *plan, const EvalOptions *options,
                Report *report, Error *err);

#endif
