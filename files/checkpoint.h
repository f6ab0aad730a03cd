// SPDX-License-Identifier: Apache-2.0
// Checkpoints: everything a stopped run needs to go on bit for bit, or the averaged weights alone for publication, in
// one HDF5 file.
//
//     /                  attributes: format "vpd-checkpoint", format_version (u32 major, u32 minor), commit, step,
//                        contents "training" | "publication", best_score (NaN: none), time_step (s), seconds,
//                        checksum; all texts of fixed length
//     config             u8 [n], the resolved config as YAML, derived lengths in it
//     parameters/NAME    f32, each weight by name in the shape of docs/model.md           (training)
//     moments/m/NAME     f32, Adam's mean; moments/v/NAME its mean square                 (training)
//     ema/NAME           f32 (f16 in a publication), the moving average of the weights    (optional in training)
//     run                attributes: record, JSON: {"evaluated": true, "data": {..}}: whether the evaluation that was
//                        due at this step is done, and what the data were (files/data_record.h); checksum of that text
//                        (training, from version 1.1 on)
//
// Random numbers and the loader's order are keyed by the step: it is their whole state. Nothing depends on the number
// of threads or ranks, nor on how the blocks are padded.
//
// checksum (16 hex digits): XXH3-64, each piece seeded with the sum of the pieces before it (0). Of a group of arrays:
// for each array in byte order of the names its name, its dimensions as u64, its values as f32. Of the root: a text of
// its attributes and the groups' checksums, then the config; so it names weights and config. Programs for 1.0 read 1.1
// and the other way round. Writing is crash-safe: the file is made in memory, written to a draft, fsynced, renamed.
//
// Files are strangers': every one is opened through datasets/h5.h and held against the model; errors are one sentence
// with STATUS_BAD_INPUT. A full disk is STATUS_FAILED and leaves the earlier file.
#ifndef VPD_FILES_CHECKPOINT_H
#define VPD_FILES_CHECKPOINT_H

#include "base/file.h"
#include "files/data_record.h"
#include "model/config.h"
#include "nn/parameters.h"

enum { CHECKPOINT_VERSION_MAJOR = 1, CHECKPOINT_VERSION_MINOR = 1 };

typedef struct CheckpointMeta {
    Config config;     // resolved, lengths derived
    long step;         // optimiser steps done
    double best_score; // best validation score so far; NaN before the first
    double time_step;  // seconds between two frames that the model saw
    double seconds;    // spent training so far
    bool evaluated;    // the evaluation that is due at this step is done; false before version 1.1
    DataRecord data;   // what it was trained on; data.episodes 0: not recorded (before version 1.1, publications)
    // Filled by reading (saving writes the program's own, but the commit of a publication stays):
    char commit[64];
    char hash[17];    // the root's checksum
    int version[2];   // major, minor
    bool publication; // averaged weights alone
    bool has_ema, has_moments, is_half;
} CheckpointMeta;

// Device blocks laid out like Parameters.values (set->size reals); NULL = there is none.
typedef struct CheckpointBlocks {
    real *m, *v, *ema;
} CheckpointBlocks;

typedef enum CheckpointWeights {
    CHECKPOINT_EMA, // the moving average; the weights themselves where a run keeps none
    CHECKPOINT_RAW  // the weights as the optimiser left them
} CheckpointWeights;

// ---- one file

// Replaces `path` at once. m and v come together or not at all.
Status checkpoint_save(const char *path, const Parameters *set, const CheckpointBlocks *blocks,
                       const CheckpointMeta *meta, Error *err);

// Everything but the weights, checked against the root's checksum.
Status checkpoint_read_meta(const char *path, CheckpointMeta *meta, Error *err);

// Weights into set->values. Every name, shape and type is compared first, and all differences are in the one error;
// after an error the set is as before. `meta` may be NULL.
Status checkpoint_load(const char *path, Parameters *set, CheckpointWeights which, CheckpointMeta *meta, Error *err);

// For --resume: raw weights, and every block that is not NULL (an error when the file lacks it).
Status checkpoint_resume(const char *path, Parameters *set, const CheckpointBlocks *blocks, CheckpointMeta *meta,
                         Error *err);

// Reads all of it and compares every checksum.
Status checkpoint_verify(const char *path, Error *err);

// Weights into a safetensors file (files/safetensors.h), f32 or `half`. Its metadata: format "vpd", weights "ema" |
// "raw", step, time_step, commit, checkpoint (the hash), config (YAML, without paths of this machine), and each option
// by its key
// ("gnn.length_scale": "0.1").
Status checkpoint_export_safetensors(const char *path, CheckpointWeights which, bool half, const char *out, Error *err);

// A checkpoint of the file's averaged weights alone, as f16 or f32. A value that f16 cannot hold is an error. The
// config keeps no path of this machine.
Status checkpoint_export_publication(const char *path, CheckpointWeights which, bool half, const char *out, Error *err);

// ---- a run's folder of checkpoints: step_00001000.h5 .., and the small files `latest` and `best` that each name one

// Saves step_NNNNNNNN.h5 of meta->step into `folder` (made when missing), then `best` if `is_best`, then `latest`; at
// last removes all but the newest `keep`, the latest and the best, and drafts that killed processes left. A failed
// removal is not an error.
Status checkpoint_save_in(const char *folder, const Parameters *set, const CheckpointBlocks *blocks,
                          const CheckpointMeta *meta, bool is_best, long keep, Error *err);

typedef struct CheckpointFound {
    char path[FILE_PATH_SIZE];
    char note[512]; // "" or one sentence for a warning: which damaged file was passed over
} CheckpointFound;

// The file that `latest` names; when it is missing or damaged, the newest one that is whole. None: STATUS_BAD_INPUT.
Status checkpoint_find_latest(const char *folder, CheckpointFound *found, Error *err);

// What a user means by `path`: a file; `latest` or `best` beside checkpoints; a folder of checkpoints, or a run's
// folder that holds one as checkpoints/ (its best, else its latest).
Status checkpoint_find(const char *path, CheckpointFound *found, Error *err);

#endif
