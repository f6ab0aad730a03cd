// SPDX-License-Identifier: Apache-2.0
// Masks (H,W) of the pixels that an evaluation measures: 1 or 0. Each function clears pixels.
#ifndef VPD_INFER_EVAL_MASKS_H
#define VPD_INFER_EVAL_MASKS_H

#include "datasets/dataset.h"

// One view of frames of a single time (F = 1); the frames hold all views of the episode.
typedef struct EvalPixels {
    const Frames *now; // the frame that is measured
    int view;
} EvalPixels;

// Clears pixels without depth and those whose point lies outside the box (2,3).
void eval_mask_box(EvalPixels pixels, const double *box, uint8_t *mask);

// Two views show the same surface if their depths differ by at most this share.
#define EVAL_SEEN_TOLERANCE 0.05

// Clears pixels that no input view saw in frame `seen` (all views): those without depth, and those whose point has no
// matching depth in any input view. heldout (V): 1 for views that are not inputs.
void eval_mask_seen(EvalPixels pixels, const Frames *seen, const uint8_t *heldout, uint8_t *mask);

#endif
