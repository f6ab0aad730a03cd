// SPDX-License-Identifier: Apache-2.0
// The terms of the loss (docs/model.md, "Losses"): the squared error of pixels, and those of model/loss_terms.h.
#ifndef VPD_TRAIN_LOSS_H
#define VPD_TRAIN_LOSS_H

#include "model/loss_terms.h"
#include "model/vpd.h"
#include "train/flow_term.h"
#include "train/motion_cache.h"
#include "train/ray_batch.h"

#define LOSS_ID(NAME, ...) LOSS_##NAME,
typedef enum LossTermId { LOSS_PIXELS, LOSS_TERMS(LOSS_ID) LOSS_TERM_COUNT } LossTermId;
#undef LOSS_ID

// When a term is computed: behind each rollout step, or behind each rendered frame (step 0 is one, too).
typedef enum LossKind { LOSS_OF_MOTION, LOSS_OF_PICTURES } LossKind;

// Parts of the loss, each already weighted; they add up to `total`.
typedef struct LossParts {
    double total, term[LOSS_TERM_COUNT];
    double step0, last; // mean squared error of rays at step 0 and at the last step, not weighted
    double spread;      // of the abstract nodes' hidden state at the first step; 0 when there are none
    double motion;      // mean |dx| over particles of the last step, metres
    size_t particles;   // of the present set
} LossParts;

// sum += weight * one; `particles` becomes that of `one`.
void loss_parts_add(LossParts *sum, const LossParts *one, double weight);
// What an error calls a term that is NaN or infinite, or NULL.
const char *loss_parts_not_finite(const LossParts *parts);
const char *loss_term_name(LossTermId term); // "pixels", "flow", ..: its metric

// Host memory kept between steps. Starts as {0}.
typedef struct LossWorkspace {
    Workspace scene;
    RayBatch rays;
    PointCloud cloud; // of a later frame, for the nearest-point term
    MotionCache motion;
} LossWorkspace;

void loss_workspace_free(LossWorkspace *workspace);

// An episode while its loss is recorded: what the terms are computed from, and their sums.
typedef struct LossEpisode {
    Tape *tape;
    const Vpd *model;
    LossWorkspace *workspace;
    const Observation *frames;                   // the whole episode
    VideoFrame first;                            // the first of the frames
    int last_input;                              // frame of the last input
    int step;                                    // rollout step; it predicts frame last_input + step
    Scene scene;                                 // behind that step
    FlowTrack track;                             // of the flow term
    RendererOutput drawn;                        // the rays of workspace->rays at that step
    const real *colours;                         // (rays,3) what they should be
    Tensor *sum[LOSS_TERM_COUNT], *step0, *last; // (1,1) weighted sums so far, and errors of single steps; or NULL
} LossEpisode;

// A term at the present step as a (1,1) tensor without its weight; *out stays NULL when there is nothing to compare.
typedef Status LossFunction(LossEpisode *e, Tensor **out, Error *err);
#define LOSS_DECLARE(NAME, name, ...) LossFunction loss_##name;
LOSS_TERMS(LOSS_DECLARE)
#undef LOSS_DECLARE

// Adds the terms of one kind whose weight is not 0, each `share` times its weight.
Status loss_add_terms(LossEpisode *e, LossKind kind, double share, Error *err);

#endif
