// SPDX-License-Identifier: Apache-2.0
// Pictures that an evaluation draws, in memory and in files (layout: infer/eval.h).
#ifndef VPD_INFER_EVAL_PICTURES_H
#define VPD_INFER_EVAL_PICTURES_H

#include "infer/rollout.h"
#include "infer/video.h"

// Every view of one step.
typedef struct EvalPictures {
    int V, H, W;
    uint8_t *rgb; // (V,H,W,3)
    float *depth; // (V,H,W) metres, 0 = no surface
} EvalPictures;

// Allocates buffers for `pixels`, all views together; false if memory is short.
bool eval_pictures_reserve(EvalPictures *pictures, size_t pixels);
void eval_pictures_copy(const EvalPictures *from, EvalPictures *to);
void eval_pictures_free(EvalPictures *pictures); // accepts {0}

enum { SHEET_COLUMNS = 8, SHEET_VIEWS = 2 };

// The picture files of one rollout, and the overview of a few steps in the first input view and the first held-out
// view.
typedef struct EvalSheet {
    const RolloutFile *rollout;
    const char *folder;
    int views[SHEET_VIEWS], view_count;
    int steps[SHEET_COLUMNS], step_count;
    char captions[2 * SHEET_VIEWS][SHEET_COLUMNS][64];
    uint8_t *panels[2 * SHEET_VIEWS][SHEET_COLUMNS]; // truth above prediction of each view
} EvalSheet;

Status eval_sheet_open(EvalSheet *sheet, const char *folder, const RolloutFile *rollout, Error *err);
// Writes the pictures of a step, and keeps those that the overview shows. `truth` holds all views of one frame.
Status eval_sheet_add(EvalSheet *sheet, int step, const Frames *truth, const EvalPictures *drawn, Error *err);
Status eval_sheet_write(const EvalSheet *sheet, Error *err);
void eval_sheet_free(EvalSheet *sheet); // accepts {0}

#endif
