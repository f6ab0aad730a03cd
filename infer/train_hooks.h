// SPDX-License-Identifier: Apache-2.0
// What a training run does now and then during a run: validation, and sample rollouts drawn beside the truth.
#ifndef VPD_INFER_TRAIN_HOOKS_H
#define VPD_INFER_TRAIN_HOOKS_H

#include "train/trainer.h"

// Validation: rolls out validation episodes (at most HOOK_EPISODES), logs PSNR and motion per step; the score is minus
// the mean PSNR of moving pixels over the predicted steps. Drawing: FOLDER/step_00000200.gif of one validation episode,
// and its last frame for TensorBoard. Data without validation episodes use the first training ones, and the log says
// so. The check before a run reads what the evaluation will read first: input views, frames, time step, depth.
// `log` (may be NULL) gets the progress and the score of the evaluation that ends the run; it outlives the hooks.
enum { HOOK_EPISODES = 4, HOOK_STEPS = 12 };
TrainHooks train_hooks(const Log *log);

#endif
