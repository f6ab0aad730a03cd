// SPDX-License-Identifier: Apache-2.0
// Validation during a training run, and sample rollouts drawn beside the truth.
#ifndef VPD_INFER_TRAIN_HOOKS_H
#define VPD_INFER_TRAIN_HOOKS_H

#include "train/trainer.h"

// Validation rolls out at most HOOK_EPISODES validation episodes and logs PSNR and motion per step. The score is minus
// the mean PSNR of moving pixels over the predicted steps. Drawing writes FOLDER/step_00000200.gif of one validation
// episode, and its last frame for TensorBoard. Data without validation episodes use the first training ones, and the
// log says so. Drawing and `show` also keep that rollout as FOLDER/rollout.h5, and as FOLDER/truth.h5 what was
// recorded, if the data have poses of objects. The check before a run reads what the final evaluation will need: input
// views, frames, time step, depth. `log` (may be NULL) gets the progress and the score of the final evaluation; it must
// outlive the hooks.
enum { HOOK_EPISODES = 4, HOOK_STEPS = 12 };
TrainHooks train_hooks(const Log *log);

#endif
