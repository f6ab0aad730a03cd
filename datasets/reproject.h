// SPDX-License-Identifier: Apache-2.0
// One view held against another. Shapes and the test itself as datasets/check.h says.
#ifndef VPD_DATASETS_REPROJECT_H
#define VPD_DATASETS_REPROJECT_H

#include "datasets/check.h"

// An image with its camera, as it stands or under a guess.
typedef struct Shot {
    int H, W;
    double K[9], pose[16], inverse[16];
    const float *depth;   // (H,W)
    const uint16_t *mask; // (H,W) or NULL
    double depth_scale;
    bool ray_length, flip_x, flip_y;
} Shot;

Shot shot_of(const Frames *frames, int frame, int view);
Shot shot_under(const Shot *shot, Guess guess);

// Errors gathered for one pair of views, or for all.
typedef struct ErrorList {
    float *errors; // metres, of tested points that are neither occluded nor seen through
    size_t count, capacity, tested, occluded, through, agreeing;
} ErrorList;

// Adds up to `points` pixels of a, spread over the image, the same ones in every run. STATUS_FAILED without memory.
Status reproject_add(const Shot *a, const Shot *b, size_t points, ErrorList *list, Error *err);
Status error_list_append(ErrorList *to, const ErrorList *from, Error *err);
void error_list_free(ErrorList *list);

// Sorts the errors.
PairStats error_list_stats(ErrorList *list, int a, int b);

// Value at share q of a sorted array; NaN when it is empty.
double sorted_quantile(const float *sorted, size_t count, double q);
void sort_floats(float *values, size_t count);

#endif
