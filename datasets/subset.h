// SPDX-License-Identifier: Apache-2.0
// Cuts episodes, frames and views out of a data set into a new file.
//   in: open data set, how many episodes of each split (first ones), which frames      out: one vpd-dataset file
#ifndef VPD_DATASETS_SUBSET_H
#define VPD_DATASETS_SUBSET_H

#include "base/log.h"
#include "datasets/dataset.h"

typedef struct SubsetOptions {
    int episodes[SPLIT_COUNT]; // of each split, in file order; -1 = all
    int first, count, stride;  // frames of each episode; count 0 = all that are left, stride 0 = 1
    const int *views;          // (view_count) to keep, increasing; NULL = all
    int view_count;
    const char *name;  // of the new data set; NULL = the old one
    int deflate_level; // 1..9; 0 = 4
} SubsetOptions;

Status dataset_write_subset(const Dataset *dataset, const SubsetOptions *options, const char *path, const Log *log,
                            Error *err);

#endif
