// SPDX-License-Identifier: Apache-2.0
// Masks (H,W) of the pixels that an evaluation measures: 1 or 0.
#ifndef VPD_INFER_EVAL_MASKS_H
#define VPD_INFER_EVAL_MASKS_H

#include "datasets/dataset.h"

// One view of frames of a single time (F = 1); the frames hold all views of the episode.
typedef struct EvalPixels {
    const Frames *now; // the frame that is measured
    int view;
} EvalPixels;

// How moving pixels were found: by masks of objects, by changes of colour.
typedef struct EvalMoving {
    bool masks, changes;
} EvalMoving;

// Writes the mask of moving pixels: those of objects, or without masks those that have changed since `before`, by more
// than METRICS_CHANGE_THRESHOLD. *how is added to.
void eval_mask_moving(EvalPixels pixels, const Frames *before, EvalMoving *how, uint8_t *mask);
// The same in words, for Report.moving.
void eval_moving_words(EvalMoving how, char *out, size_t size);

// Clears pixels without depth and those whose point lies outside the box (2,3).
void eval_mask_box(EvalPixels pixels, const double *box, uint8_t *mask);

// Two views show the same surface if their depths differ by at most this share.
#define EVAL_SEEN_TOLERANCE 0.05

// Clears pixels that no input view saw in frame `seen` (all views): those without depth, and those whose point has no
// matching depth in any input view. heldout (V): 1 for views that are not inputs.
void eval_mask_seen(EvalPixels pixels, const Frames *seen, const uint8_t *heldout, uint8_t *mask);

#endif
