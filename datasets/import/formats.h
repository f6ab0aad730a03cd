// SPDX-License-Identifier: Apache-2.0
// The importers by name, for import.c alone, and what several of them need.
#ifndef VPD_DATASETS_IMPORT_FORMATS_H
#define VPD_DATASETS_IMPORT_FORMATS_H

#include "datasets/import/import.h"

extern const Importer import_hololens, import_apc, import_transforms, import_kubric, import_tum, import_scannet,
    import_colmap, import_bop, import_open3d, import_pgnd, import_phystwin, import_robot;

// --intrinsics as a lens.
Lens given_lens(const ImportOptions *options);
// [fx s cx; 0 fy cy; 0 0 1], row by row with `columns` numbers each, and whole-number pixel centres.
Lens lens_of_matrix(const double *K, int columns);
// Seconds per unit of time stamps, for layouts that do not define it: --time-unit, else the one of s, ms, us and ns
// with a median step of 1 ms to 2 s, with a warning unless that is s. `times` may stand in any order.
Status time_unit(const double *times, size_t count, const ImportSource *source, const char *place, double *out,
                 Error *err);
// The same for the times of all pictures, by those of one camera.
Status times_to_seconds(PosedSet *set, const ImportSource *source, const char *place, Error *err);
// One picture by name; the paths lie beneath the folders. `image` has the rest; takes ownership of its mask, also on
// failure.
Status add_named_picture(const char *colour_folder, const char *colour, const char *depth_folder, const char *depth,
                         PosedImage *image, PosedSet *out, Error *err);

#endif
