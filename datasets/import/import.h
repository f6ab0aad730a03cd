// SPDX-License-Identifier: Apache-2.0
// Converts recordings in other layouts to one vpd-dataset file. An importer only lists the pictures with their cameras
// (PosedSet); reading, undistorting, resizing and writing are done here for all of them, on all threads. To add a
// layout: write datasets/import/NAME.c with one `const Importer`, and name it in the table of
// datasets/import/formats.c.
//   in: folder or file      out: episodes of rgb and depth (F,V,H,W); a still scene is one frame with one view per
//   picture
#ifndef VPD_DATASETS_IMPORT_IMPORT_H
#define VPD_DATASETS_IMPORT_IMPORT_H

#include "datasets/import/posed_set.h"

typedef enum ImportAs { AS_RECORDED, AS_STILL, AS_VIDEO } ImportAs;

// Pictures that could not be read.
typedef struct ImportReport {
    size_t pictures; // of the recording
    size_t left_out; // of those: the unreadable ones, and pictures of other cameras at the same moments
    size_t bad;
    char **why; // (bad) one sentence each, which names the file
} ImportReport;

void import_report_free(ImportReport *report); // accepts {0}

// What an import leaves out without being asked to.
typedef struct ImportLeftOut {
    size_t moments;  // that not every camera saw
    size_t pictures; // without depth or without a pose
} ImportLeftOut;

// One of several processes that import a recording: episodes `first` up to and without `end`. `gather` fills
// all (processes, bytes) with what each has in `own`; after an error in one of them it is an error in all.
typedef struct ImportPart {
    int first, end, processes;
    Status (*gather)(void *owner, const void *own, size_t bytes, void *all, Error *err);
    void *owner;
} ImportPart;

typedef struct ImportOptions {
    const char *format; // name of an importer; NULL: guess from the folder
    int H, W;           // resample to this size and scale K; 0: as the first colour picture is
    int every;          // take every Nth picture; 0 counts as 1
    int holdout;        // of those taken, hold out every Nth view; 0: none
    int holdout_first;  // the first of them, 0 .. holdout - 1
    int window;         // cut a still scene into episodes of this many consecutive views; 0: one episode of all
    double near, far;   // depth outside is discarded, metres; NAN: the importer's own
    bool has_bounds;
    double bounds[6]; // (2,3) workspace box, metres: stored with each episode, nothing is cut
    Split split;
    const char *name; // of the data set; NULL: the folder's
    ImportAs as;      // one moving camera: views of a still scene or frames of a video
    double fps;       // of recordings without times; 0: not given
    double time_unit; // seconds per unit of time stamps, for layouts that do not define it; 0: guessed from their steps
    double gap;       // largest time between pictures of the same moment, seconds; 0: the importer's own
    double intrinsics[9]; // fx fy cx cy (whole-number centres) k1 k2 p1 p2 k3, of layouts that have none
    bool has_intrinsics;
    double depth_unit;   // metres per unit of the depth pictures; 0: the importer's own
    const char *cameras; // FILE and folder for layouts without cameras, without depth; NULL: not given
    const char *depth;
    int level; // of deflate, 1..9; 0 counts as 4
    // Unreadable pictures are left out and listed here; NULL: the first one is an error.
    ImportReport *report;
    const ImportPart *part;  // NULL: all episodes
    ImportLeftOut *left_out; // is filled in; NULL: nobody asks
} ImportOptions;

typedef struct ImportSource {
    const char *path; // of the folder or file
    int episode;
    const ImportOptions *options;
    const Log *log;
} ImportSource;

typedef struct Importer {
    const char *name, *layout;            // "apc", "scene-*/cam.info.txt with ..."
    bool (*is_episode)(const char *path); // whether a folder or file holds one recording in this layout
    bool in_folders;                      // a folder of such folders is a recording of several episodes, too
    int (*count)(const char *path);       // instead of is_episode, for files that hold several
    // `source->path` is the episode's own folder, but of layouts with `count` the whole recording. `out` starts as {0}
    // with near 0, far infinite, depth_scale 1 and V = 0. V = 0 means one still scene with one view per picture, in
    // order.
    Status (*run)(const ImportSource *source, PosedSet *out, Error *err);
} Importer;

// Ends with NULL; in the order of guessing.
extern const Importer *const importers[];

// Finds the layout, and the number of recordings of a folder, which become an episode each (with `window`, several).
Status dataset_import_count(const char *path, const ImportOptions *options, int *count, Error *err);

Status dataset_import(const char *path, const ImportOptions *options, const char *target, const Log *log, Error *err);

#endif
