// SPDX-License-Identifier: Apache-2.0
// The terms of the loss (docs/model.md, "Losses"): the squared error of pixels, the error of the bodies' motion
// (train/windows.h), and those of model/loss_terms.h.
#ifndef VPD_TRAIN_LOSS_H
#define VPD_TRAIN_LOSS_H

#include "model/loss_terms.h"
#include "model/vpd.h"
#include "train/motion_cache.h"
#include "train/ray_batch.h"

#define LOSS_ID(NAME, ...) LOSS_##NAME,
typedef enum LossTermId { LOSS_PIXELS, LOSS_BODIES, LOSS_TERMS(LOSS_ID) LOSS_TERM_COUNT } LossTermId;
#undef LOSS_ID

// Terms of the loss times their weights, which add up to `total`.
typedef struct LossParts {
    double total, term[LOSS_TERM_COUNT];
    double step0, last; // mean squared error of rays at step 0 and at the last step, without weights
    double spread;      // standard deviation of the abstract nodes' hidden state at the first step; 0 without nodes
    double motion;      // mean |dx| over particles of the last step, metres
    size_t particles;   // present particles of an episode
} LossParts;

// Name of a term that is NaN or infinite, for errors; NULL if all are finite.
const char *loss_parts_not_finite(const LossParts *parts);
const char *loss_term_name(LossTermId term); // "pixels", "depth", ..: its metric

// What steps reuse. Starts as {0}; must not be moved after its first use, and is freed before the model's device.
typedef struct LossWorkspace {
    Tape chosen;  // of the CPU: particles of a batch
    Device *host; // that CPU, opened at first use; NULL: the model's device
    Workspace scene;
    RayBatch rays;
    MotionCache motion;
} LossWorkspace;

void loss_workspace_free(LossWorkspace *workspace);

// Episodes while their loss is computed: the input of the terms, and the terms' sums over the episodes.
typedef struct LossBatch {
    Tape *tape;
    const Vpd *model;
    LossWorkspace *workspace;
    size_t count;                                // episodes
    int last_input;                              // index of the last input frame
    int step;                                    // current rollout step, which predicts frame last_input + step
    const Observation **frames;                  // (count) whole episodes
    Scene **scenes;                              // (count) after that step
    size_t *rays;                                // (count) of each in workspace->rays, R in all, at that step
    RendererOutput drawn;                        // their result
    const real *colours;                         // (R,3) their true colours
    const real *share;                           // (R) 1 / the episode's rays; 0 outside the workspace box (data.crop)
    Tensor *sum[LOSS_TERM_COUNT], *step0, *last; // (1,1) weighted sums, and errors of single steps; or NULL
} LossBatch;

// Computes a term at the present step as a (1,1) tensor without its weight, the sum of the episodes' own. *out stays
// NULL if there is nothing to compare.
typedef Status LossFunction(LossBatch *b, Tensor **out, Error *err);
#define LOSS_DECLARE(NAME, name, ...) LossFunction loss_##name;
LOSS_TERMS(LOSS_DECLARE)
#undef LOSS_DECLARE

// Compares what was drawn with the video: adds all terms of pictures with a non-zero weight, each times `factor` and
// its weight.
Status loss_add_terms(LossBatch *b, double factor, Error *err);

#endif
