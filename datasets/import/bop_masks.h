// SPDX-License-Identifier: Apache-2.0
// Labels of a BOP scene: scene_gt.json lists the objects of each image ("obj_id"), and mask_visib/IMAGE_OBJECT.png (six
// digits each) is not 0 where object number OBJECT of that list is seen. The list's order may change from image to
// image, so a label means the k-th object of one obj_id: labels count from 1 by obj_id, then k.
#ifndef VPD_DATASETS_IMPORT_BOP_MASKS_H
#define VPD_DATASETS_IMPORT_BOP_MASKS_H

#include "datasets/import/posed_set.h"

// Lets the set read labels from masks if the scene has them; else does nothing.
Status bop_masks_open(const char *scene, PosedSet *set, Error *err);
// Gives the image with this number (PosedImage.number) its mask; accepts a scene without masks.
Status bop_masks_take(const PosedSet *set, PosedImage *image, Error *err);

#endif
