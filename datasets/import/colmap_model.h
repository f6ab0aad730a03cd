// SPDX-License-Identifier: Apache-2.0
// A COLMAP model: cameras and images, from .bin (little-endian) or .txt. Poses are world to camera, quaternions w
// first; pixel centres lie at halves.
#ifndef VPD_DATASETS_IMPORT_COLMAP_MODEL_H
#define VPD_DATASETS_IMPORT_COLMAP_MODEL_H

#include "base/error.h"
#include "base/lens.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct ColmapCamera {
    unsigned id;
    Lens lens;
} ColmapCamera;

typedef struct ColmapImage {
    char *name; // malloc'ed
    unsigned camera;
    double wxyz[4], t[3]; // camera from world
} ColmapImage;

typedef struct ColmapModel {
    ColmapCamera *cameras; // by number
    ColmapImage *images;   // by name
    size_t camera_count, image_count;
} ColmapModel;

bool colmap_has_model(const char *folder);
Status colmap_read(const char *folder, ColmapModel *out, Error *err);
void colmap_free(ColmapModel *model); // accepts {0}
// NULL when there is none of this number.
const ColmapCamera *colmap_camera(const ColmapModel *model, unsigned id);

#endif
