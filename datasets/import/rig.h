// SPDX-License-Identifier: Apache-2.0
// Fixed cameras with a folder of pictures each: what PGND and PhysTwin have in common.
#ifndef VPD_DATASETS_IMPORT_RIG_H
#define VPD_DATASETS_IMPORT_RIG_H

#include "base/file.h"
#include "base/npy.h"
#include "datasets/import/formats.h"

typedef struct RigCamera {
    char colour[FILE_PATH_SIZE], depth[FILE_PATH_SIZE]; // folders
    const char *depth_ending;                           // ".png": the picture's name with another ending
    int view;
    Lens lens;
    double world_from_camera[16];
} RigCamera;

// Adds every picture of the camera that has depth and counts the others; names are frame numbers. time_of returns the
// time of a picture, NAN to leave it out.
Status rig_add_camera(const RigCamera *camera, double (*time_of)(const void *owner, int view, long number),
                      const void *owner, PosedSet *out, Error *err);

// Makes frames of the pictures of all cameras (posed_set_align), and tells how many were left out before.
Status rig_align(const ImportSource *source, PosedSet *out, Error *err);

// Reads an array of this shape (0: any length), ignoring trailing dimensions of 1.
Status rig_read_array(const char *folder, const char *name, int rank, const size_t *dims, NpyArray *out, Error *err);

#endif
