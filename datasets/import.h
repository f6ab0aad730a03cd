// SPDX-License-Identifier: Apache-2.0
// Recordings in other layouts to one vpd-dataset file. An importer only says which pictures there are, with which
// cameras (PosedSet); reading, resizing and writing is done here for all of them. To add a layout: write
// datasets/import_NAME.c with one `const Importer`, and name it in the table of datasets/import.c.
//   in: folder      out: episodes of rgb and depth (F,V,H,W); a static scene is one frame with one view per picture
#ifndef VPD_DATASETS_IMPORT_H
#define VPD_DATASETS_IMPORT_H

#include "base/log.h"
#include "datasets/dataset.h"

typedef struct ImportOptions {
    const char *format; // name of an importer; NULL: guess from the folder
    int H, W;           // resample to this size and scale K; 0: as the first colour picture is
    int every;          // take every Nth picture; 0 counts as 1
    int holdout;        // of those taken, hold out every Nth view; 0: none
    int holdout_first;  // the first of them, 0 .. holdout - 1
    int window;         // cut a still scene into episodes of so many consecutive views; 0: one episode of all
    double near, far;   // depth outside is dropped, metres; NAN: the importer's own
    bool has_bounds;
    double bounds[6]; // (2,3) box of the workspace, metres: written down with each episode, nothing is cut
    Split split;
    const char *name; // of the data set; NULL: the folder's
} ImportOptions;

// How a depth picture's numbers become metres: units * scale, 0 = missing.
typedef enum DepthCoding {
    DEPTH_PLAIN,  // u16 or f32 as they are
    DEPTH_ROTATED // u16, rotated right by three bits first
} DepthCoding;

typedef struct PosedImage {
    char *colour, *depth; // paths, malloc'ed
    int frame, view;
    double K[9], world_from_camera[16]; // OpenCV, pixel centres at halves
    int K_H, K_W;                       // size of the picture that K belongs to; 0: the colour picture's
} PosedImage;

// One episode: exactly one image for each (frame, view).
typedef struct PosedSet {
    PosedImage *images;
    size_t count, capacity;
    int F, V;
    double *time; // (F), malloc'ed; NULL for F = 1
    DepthCoding coding;
    double depth_scale, near, far; // metres per unit; metres
    char source[128], scene[64];
} PosedSet;

Status posed_set_add(PosedSet *set, const PosedImage *image, Error *err); // takes over the paths, also on failure
void posed_set_free(PosedSet *set);

typedef struct Importer {
    const char *name, *layout; // "apc", "scene-*/cam.info.txt with ..."
    bool (*detect)(const char *folder);
    int (*count)(const char *folder); // episodes in it
    Status (*run)(const char *folder, int episode, const Log *log, PosedSet *out, Error *err);
} Importer;

extern const Importer import_hololens, import_apc;

// Ends with NULL.
extern const Importer *const importers[];

Status dataset_import(const char *folder, const ImportOptions *options, const char *path, const Log *log, Error *err);

#endif
