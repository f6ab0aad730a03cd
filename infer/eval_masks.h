// SPDX-License-Identifier: Apache-2.0
// Which pixels of a true picture count in an evaluation. Masks (H,W) of 0 or 1; each function clears pixels.
#ifndef VPD_INFER_EVAL_MASKS_H
#define VPD_INFER_EVAL_MASKS_H

#include "datasets/dataset.h"

// One view of frames that hold one time each (F = 1), all views of an episode.
typedef struct EvalPixels {
    const Frames *now; // what is measured
    int view;
} EvalPixels;

// Clears what has no depth or lies outside the box (2,3).
void eval_mask_box(EvalPixels pixels, const double *box, uint8_t *mask);

// Share of the depth within which two views mean the same surface.
#define EVAL_SEEN_TOLERANCE 0.05

// Clears what no input view saw in frame `seen` (all views): pixels without depth, and those whose point falls into no
// input view at about the depth that is stored there. heldout (V): 1 for views that are no input.
void eval_mask_seen(EvalPixels pixels, const Frames *seen, const uint8_t *heldout, uint8_t *mask);

#endif
