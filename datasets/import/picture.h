// SPDX-License-Identifier: Apache-2.0
// Brings one picture of a recording to the grid of its view: decoded, put upright, undistorted, resampled, depth in
// metres along z. Colour by area and then linear; depth by image_map_depth, never as a mixture of two surfaces; masks
// by the nearest pixel.
#ifndef VPD_DATASETS_IMPORT_PICTURE_H
#define VPD_DATASETS_IMPORT_PICTURE_H

#include "datasets/import/posed_set.h"

typedef struct View {
    int H, W;
    double K[9]; // no distortion
} View;

Status picture_colour(const PosedSet *set, const PosedImage *image, const View *view, Image *out, Error *err);
// f32: metres, 0 = missing; else u16 in the set's units, only for plain and rotated u16 pictures.
Status picture_depth(const PosedSet *set, const PosedImage *image, const View *view, bool f32, Image *out, Error *err);
Status picture_mask(const PosedSet *set, const PosedImage *image, const View *view, Image *out, Error *err); // u16

// Reads colour, depth and mask to see whether they can be decoded.
Status picture_probe(const PosedSet *set, const PosedImage *image, Error *err);

// Reads the stored numbers, which may be upside down.
Status picture_read(const PosedSet *set, const PosedImage *image, bool depth, Image *out, Error *err);

#endif
