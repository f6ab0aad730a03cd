// SPDX-License-Identifier: Apache-2.0
// A trained model, ready to use: a checkpoint's config and weights on a device.
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
    int threads;            // 0: what the machine offers
    bool raw;               // the weights as the optimiser left them, not their moving average
} SessionOptions;

typedef struct Session {
    char path[FILE_PATH_SIZE];        // of the checkpoint's file, absolute
    char note[512];                   // "" or a warning: which damaged file was passed over
    char device_why[DEVICE_WHY_SIZE]; // "", or why "auto" took the CPU (device/choice.h)
    CheckpointMeta meta;
    bool raw;
    Device *device;
    Vpd *model;
} Session;

// A missing, foreign or damaged checkpoint is STATUS_BAD_INPUT.
Status session_open(Session *session, const SessionOptions *options, Error *err);
void session_close(Session *session); // accepts {0}

// Writes into the rollout which weights made it.
void session_sign(const Session *session, RolloutFile *rollout);
// Whether the weights that made it were not averaged.
bool session_is_raw(const RolloutFile *rollout);
// Other weights than those that made the rollout are STATUS_BAD_INPUT; a rollout that names none is taken at the user's
// word. Whether they were averaged is not looked at.
Status session_check(const Session *session, const RolloutFile *rollout, const char *name, Error *err);
// The weights that made a rollout, for drawing or going on. options->checkpoint NULL: the path that the file names.
// options->raw is not looked at. Other weights are STATUS_BAD_INPUT. `name` is the rollout's file, for messages.
Status session_open_for(Session *session, const SessionOptions *options, const RolloutFile *rollout, const char *name,
                        Error *err);

#endif
