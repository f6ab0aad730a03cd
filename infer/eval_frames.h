// SPDX-License-Identifier: Apache-2.0
// Measures pictures of any other system with the metrics of `vpd eval`. They are read from
//   FOLDER/EPISODE/view_V/frame_FFFF.png     8-bit PNG of the data set's size, e.g. out/000003/view_0/frame_0008.png
//   FOLDER/EPISODE/view_V/depth_FFFF.tiff    optional, f32 metres along z, or u16 PNG depth_FFFF.png in millimetres
// EPISODE is the episode's name in the data set, V the index of the view, FFFF the frame of the episode (both counted
// from 0). Pictures may be missing; the report says how many were found.
#ifndef VPD_INFER_EVAL_FRAMES_H
#define VPD_INFER_EVAL_FRAMES_H

#include "datasets/dataset.h"
#include "infer/report.h"

typedef struct EvalFramesOptions {
    const char *folder;
    int last_input;           // frame of the episode that is step 0
    int steps;                // steps to measure; 0: to the end of the episodes
    int stride;               // frames per step; 0 counts as 1
    bool splits[SPLIT_COUNT]; // episodes of these splits; none set: of all
} EvalFramesOptions;

// `report` is filled by report_init here. Not one picture found is STATUS_BAD_INPUT.
Status eval_frames(const Dataset *dataset, const EvalFramesOptions *options, Report *report, Error *err);

#endif
