// SPDX-License-Identifier: Apache-2.0
// What `vpd train` does now and then during a run: validation, and sample rollouts drawn beside the truth.
#ifndef VPD_APP_TRAIN_HOOKS_H
#define VPD_APP_TRAIN_HOOKS_H

#include "train/trainer.h"

// Validation: rolls out validation episodes (at most HOOK_EPISODES), logs PSNR and motion per step; the score is minus
// the mean PSNR of moving pixels over the predicted steps. Drawing: FOLDER/step_00000200.gif of one validation episode,
// and its last frame for TensorBoard. Data without validation episodes use the first training ones, and the log says
// so.
enum { HOOK_EPISODES = 4, HOOK_STEPS = 12 };
TrainHooks train_hooks(void);

#endif
