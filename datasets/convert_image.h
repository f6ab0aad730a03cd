// SPDX-License-Identifier: Apache-2.0
// One picture of a data set cropped, resized, cut to a box, with its depth in the requested units; for convert.c only.
#ifndef VPD_DATASETS_CONVERT_IMAGE_H
#define VPD_DATASETS_CONVERT_IMAGE_H

#include "base/image.h"
#include "datasets/convert.h"

typedef struct ConvertPlan {
    int crop[4];  // x, y, width, height within the stored picture
    int W0, H, W; // width of the stored picture; size of the new one
    bool u16;
    double unit;       // metres per unit when u16
    const double *box; // (2,3) or NULL
    const char *place; // of the episode, for errors
} ConvertPlan;

// Which part of the episode `info` is written where.
Status convert_plan(const ConvertOptions *options, const EpisodeInfo *info, const char *place, ConvertPlan *out,
                    Error *err);
void convert_intrinsics(const ConvertPlan *plan, const double K[9], double out[9]);

typedef struct ConvertedImage {
    Image rgb, depth, mask; // depth f32 metres or u16 units; mask empty when there is none
} ConvertedImage;

// Picture (0, view) of frames. Pixels are copied.
Status convert_image(const ConvertPlan *plan, const Frames *frames, int view, ConvertedImage *out, Error *err);
void converted_image_free(ConvertedImage *image);

#endif
