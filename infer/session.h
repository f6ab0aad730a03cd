// SPDX-License-Identifier: Apache-2.0
// A trained model, ready to use: config and weights of a checkpoint, on a device.
//   session_open: path of a checkpoint or of a run's folder  ->  Vpd with its weights
#ifndef VPD_INFER_SESSION_H
#define VPD_INFER_SESSION_H

#include "device/choice.h"
#include "files/checkpoint.h"
#include "files/rollout_file.h"
#include "model/vpd.h"

typedef struct SessionOptions {
    const char *checkpoint; // as checkpoint_find takes it
    const char *device;     // "auto", "cpu", ..; NULL: auto
    int threads;            // 0: all that the machine has
    bool raw;               // use the weights of the optimiser, not their moving average
} SessionOptions;

typedef struct Session {
    char path[FILE_PATH_SIZE];        // of the checkpoint file, absolute
    char note[512];                   // "", or a warning about a damaged file that was skipped
    char device_why[DEVICE_WHY_SIZE]; // "", or why "auto" chose the CPU (device/choice.h)
    CheckpointMeta meta;
    bool raw;
    Device *device;
    Vpd *model;
} Session;

// A missing or damaged file, or one that is not a checkpoint, is STATUS_BAD_INPUT.
Status session_open(Session *session, const SessionOptions *options, Error *err);
void session_close(Session *session); // accepts {0}

// Notes in the rollout which weights made it.
void session_sign(const Session *session, RolloutFile *rollout);
// Whether the rollout was made with weights that are not averaged.
bool session_is_raw(const RolloutFile *rollout);
// Weights other than those that made the rollout are STATUS_BAD_INPUT. A rollout without a note passes. Whether the
// weights were averaged is not checked.
Status session_check(const Session *session, const RolloutFile *rollout, const char *name, Error *err);
// Opens the weights that made a rollout, to draw or continue it. If options->checkpoint is NULL, the path in the file
// is used. options->raw is ignored. Other weights are STATUS_BAD_INPUT. `name` is the rollout's file, for messages.
Status session_open_for(Session *session, const SessionOptions *options, const RolloutFile *rollout, const char *name,
                        Error *err);

#endif
