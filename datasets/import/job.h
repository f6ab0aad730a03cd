// SPDX-License-Identifier: Apache-2.0
// The state of an import: import.c writes, job.c completes and checks the importer's PosedSet.
#ifndef VPD_DATASETS_IMPORT_JOB_H
#define VPD_DATASETS_IMPORT_JOB_H

#include "datasets/import/import.h"
#include "datasets/import/kept.h"
#include "datasets/import/picture.h"
#include "datasets/writer.h"

typedef struct ImportJob {
    const ImportOptions *options;
    const char *path;
    const Log *log;
    DatasetWriter *writer;
    PosedSet set;
    bool is_f32;
    EpisodeInfo info;
    int first;                   // first of the info.V views of the episode
    View *views;                 // (V)
    double *K, *poses, still;    // (V,3,3), (F,V,4,4); the one time of a still scene
    int *heldout;                // (V)
    const PosedImage **pictures; // (F,V)
    size_t written;              // pictures so far
    ImportKept kept;             // of all episodes so far
} ImportJob;

// Leaves out unreadable pictures, or reports the first missing file.
Status job_drop_bad(ImportJob *job, Error *err);
// Adds a hint at --skip-bad to an error of wrong input.
Status job_advise_skip(const ImportJob *job, Status status, Error *err);

// Numbers the views of a still scene, applies --as, --every, --near, --far, finds sizes and the kind of depth, checks
// cameras.
Status job_complete(ImportJob *job, Error *err);

#endif
