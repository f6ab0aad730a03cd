// SPDX-License-Identifier: Apache-2.0
// Draws an episode: a contact sheet (PNG), or an animation of a view (GIF).
#ifndef VPD_DATASETS_SHOW_H
#define VPD_DATASETS_SHOW_H

#include "datasets/dataset.h"

typedef struct ShowOptions {
    int episode;
    int columns; // pictures in a row of the sheet: frames spread over the episode, or views of a still scene; 0 = 8
    int width;   // of a picture, pixels; 0 = 160
    bool depth;  // a picture of depth below each: near is bright, unknown is red
    int view;    // the only one to show; -1 = all (of the sheet: at most 64, spread evenly)
    double fps;  // of the GIF; 0 = as recorded
} ShowOptions;

// Rows are views, columns frames; a still scene's views fill rows one after the other.
Status dataset_show_sheet(const Dataset *dataset, const ShowOptions *options, const char *path, Error *err);
// The frames of one view as an animation.
Status dataset_show_gif(const Dataset *dataset, const ShowOptions *options, int view, const char *path, Error *err);

#endif
