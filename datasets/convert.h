// SPDX-License-Identifier: Apache-2.0
// Writes data sets into a new file: selects episodes, frames and views, merges, crops and resizes pictures, cuts depth
// to a box, stores it as whole numbers, and assigns splits. Every picture becomes one chunk.
//   in: open data sets      out: one vpd-dataset file
#ifndef VPD_DATASETS_CONVERT_H
#define VPD_DATASETS_CONVERT_H

#include "base/log.h"
#include "datasets/dataset.h"

typedef enum ConvertDepth { DEPTH_AS_STORED, DEPTH_AS_U16, DEPTH_AS_F32 } ConvertDepth;

typedef struct ConvertOptions {
    int episodes[SPLIT_COUNT]; // of each split, in the order of the files; -1 = all
    int first, count, stride;  // frames of each episode; count 0 = all that are left, stride 0 = 1
    const int *views;          // (view_count) to keep, increasing; NULL = all
    int view_count;
    bool assign;               // assign new splits to the kept episodes:
    int assigned[SPLIT_COUNT]; // how many of each, in order; they must add up to all
    int crop[4];               // x, y, width, height in stored pixels; width 0 = whole pictures
    int H, W;                  // resample to this size, after cropping; 0 = as it is
    bool has_box;
    double box[6]; // (2,3) metres: depth outside becomes unknown (so does sky); stored as bounds
    ConvertDepth depth;
    double unit;       // metres per unit of u16 depth; 0 = as stored, else 0.001
    const char *name;  // of the new data set; NULL = the data set's, or of several files that of the new one
    int deflate_level; // 1..9; 0 = 4
} ConvertOptions;

// All data sets must have the same missing_depth.
Status dataset_convert(Dataset *const *datasets, int count, const ConvertOptions *options, const char *path,
                       const Log *log, Error *err);

#endif
