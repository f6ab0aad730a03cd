// SPDX-License-Identifier: Apache-2.0
// Terms of the loss with a weight option (docs/model.md, "Losses"), in the order of summation:
//   ROW(NAME, name, name in errors, default weight, help)
// A row defines the weight, which is TrainConfig.name_term and the option train.name_term, the function loss_name, the
// constant LOSS_NAME, and the metric "name". A new term needs its file, its test and its row.
#ifndef VPD_MODEL_LOSS_TERMS_H
#define VPD_MODEL_LOSS_TERMS_H

#define LOSS_TERMS(ROW)                                                                                                \
    ROW(DEPTH, depth, "depth", "0", "Weight of the error of rendered depth.")                                          \
    ROW(SSIM, ssim, "SSIM", "0", "Weight of 1 - SSIM on patches of rays.")

#endif
