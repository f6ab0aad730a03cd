// SPDX-License-Identifier: Apache-2.0
// Checkpoints: everything that a stopped run needs to continue bit for bit, or the averaged weights alone for
// publication, in one HDF5 file.
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
// Random numbers and the loader's order depend only on the step, so they need no other state. Nothing depends on the
// number of threads or ranks, or on the padding of blocks.
//
// checksum (16 hex digits): XXH3-64, where each piece is seeded with the sum of the pieces before it (first 0). For a
// group of arrays: each array in byte order of the names, with its name, its dimensions as u64 and its values as f32.
// For the root: a text of its attributes and the groups' checksums, then the config, so that it identifies weights and
// config. Programs for 1.0 read 1.1, and the reverse. Writing is crash-safe: the file is made in memory, written to a
// draft, fsynced and renamed.
//
// Files are not trusted: each is opened through datasets/h5.h and compared with the model. Errors are one sentence with
// STATUS_BAD_INPUT. A full disk is STATUS_FAILED and leaves the earlier file unchanged.
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
    double time_step;  // seconds between two frames in training
    double seconds;    // spent training so far
    bool evaluated;    // the evaluation due at this step is done; false before version 1.1
    DataRecord data;   // the training data; data.episodes 0: not recorded (before version 1.1, publications)
    // Filled by reading. Saving writes the program's own values, except the commit of a publication.
    char commit[64];
    char hash[17];    // the root's checksum
    int version[2];   // major, minor
    bool publication; // has averaged weights alone
    bool has_ema, has_moments, is_half;
} CheckpointMeta;

// Device blocks laid out like Parameters.values (set->size reals); NULL = missing.
typedef struct CheckpointBlocks {
    real *m, *v, *ema;
} CheckpointBlocks;

typedef enum CheckpointWeights {
    CHECKPOINT_EMA, // the moving average, or the weights themselves if the run has none
    CHECKPOINT_RAW  // the weights of the optimiser
} CheckpointWeights;

// ---- one file

// Replaces `path` atomically. m and v are both given or both NULL.
Status checkpoint_save(const char *path, const Parameters *set, const CheckpointBlocks *blocks,
                       const CheckpointMeta *meta, Error *err);

// Reads everything but the weights, and checks the root's checksum.
Status checkpoint_read_meta(const char *path, CheckpointMeta *meta, Error *err);

// Reads weights into set->values. Every name, shape and type is compared first, and one error lists all differences.
// After an error the set is unchanged.
Status checkpoint_load(const char *path, Parameters *set, CheckpointWeights which, Error *err);
// The same of the parameters of the dynamics alone ("gnn.", "bodies."), averaged if the file has averages. What else
// the file has may be of any shape.
Status checkpoint_load_dynamics(const char *path, Parameters *set, Error *err);

// For --resume: reads the optimiser's weights, and every block that is not NULL (an error if the file lacks it). `meta`
// may be NULL.
Status checkpoint_resume(const char *path, Parameters *set, const CheckpointBlocks *blocks, CheckpointMeta *meta,
                         Error *err);

// Reads the whole file and compares every checksum.
Status checkpoint_verify(const char *path, Error *err);

// Writes weights to a safetensors file (files/safetensors.h), as f32 or `half`. Its metadata: format "vpd", weights
// "ema" | "raw", step, time_step, commit, checkpoint (the hash), config (YAML, without paths of this machine), and each
// option by its key ("gnn.length_scale": "0.1").
Status checkpoint_export_safetensors(const char *path, CheckpointWeights which, bool half, const char *out, Error *err);

// Writes a checkpoint of the file's averaged weights alone, as f16 or f32. A value beyond the range of f16 is an error.
// Paths of this machine are removed from the config.
Status checkpoint_export_publication(const char *path, CheckpointWeights which, bool half, const char *out, Error *err);

// ---- a run's folder of checkpoints: step_00001000.h5 .., and the small files `latest` and `best`, which each hold one
// name

// Saves step_NNNNNNNN.h5 of meta->step into `folder` (created if missing), then updates `best` if `is_best`, then
// `latest`. Finally removes all but the newest `keep`, the latest and the best, and drafts of killed processes. A
// failed removal is not an error.
Status checkpoint_save_in(const char *folder, const Parameters *set, const CheckpointBlocks *blocks,
                          const CheckpointMeta *meta, bool is_best, long keep, Error *err);

typedef struct CheckpointFound {
    char path[FILE_PATH_SIZE];
    char note[512]; // "", or a warning about a damaged file that was skipped
} CheckpointFound;

// Finds the file that `latest` names, or if that is missing or damaged, the newest undamaged one. STATUS_BAD_INPUT if
// there is none.
Status checkpoint_find_latest(const char *folder, CheckpointFound *found, Error *err);

// Resolves a user's path: a file; `latest` or `best` in a folder of checkpoints; a folder of checkpoints, or a run's
// folder with checkpoints/ (then its best, else its latest).
Status checkpoint_find(const char *path, CheckpointFound *found, Error *err);

#endif
