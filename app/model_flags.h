// SPDX-License-Identifier: Apache-2.0
// Flags that several commands share: rollout, render, eval; data import.
#ifndef VPD_APP_MODEL_FLAGS_H
#define VPD_APP_MODEL_FLAGS_H

#include "app/command.h"
#include "infer/session.h"

#define FLAG_DEVICE                                                                                                    \
    { .name = "device", .value = "DEVICE", .help = "auto, cpu, cuda or cuda:NUMBER (default auto)" }
#define FLAG_RAW                                                                                                       \
    { .name = "raw", .help = "the weights as the optimiser left them, not their moving average" }
#define FLAG_INPUT_VIEWS                                                                                               \
    { .name = "input-views", .value = "LIST", .help = "views given to the model (default: as it was trained)" }

#define FLAG_DRIVEN                                                                                                    \
    {                                                                                                                  \
        .name = "driven", .value = "LIST",                                                                             \
        .help = "objects that move as the recording says, such as a gripper: numbers in state/object_position; -1 is " \
                "the last object"                                                                                      \
    }

#define FLAG_ANALYTIC                                                                                                  \
    {                                                                                                                  \
        .name = "analytic", .value = "[=MAP]", .optional = true,                                                       \
        .help = "simulate all bodies as rigid ones, in place of the model's dynamics; MAP: keys of the edit "          \
                "`simulate`"                                                                                           \
    }

// "3,7" into a list of integers from min to max; *out keeps its value when the flag was not given.
Status command_int_list(const CommandLine *line, const char *flag, long min, long max, IntList *out, Error *err);
// --size 128x96 (width x height, as in every flag and table of the program); both stay as they are when the flag was
// not given.
Status command_size(const CommandLine *line, int *H, int *W, Error *err);
// "x,y,z,x,y,z": lower and upper corner, metres. *given says whether the flag was there.
Status command_box(const CommandLine *line, const char *flag, double box[6], bool *given, Error *err);
// The MAP of --analytic, "{}" without one; NULL: the flag was not given. STATUS_BAD_INPUT: the edit does not take it.
Status command_analytic(const CommandLine *line, const char **out, Error *err);
// Can a file be written there? Makes its folder; nothing else is left behind.
Status command_check_writable(const char *path, Error *err);
// For commands that take "CHECKPOINT DATA": after bad input, says so where the first argument is the data and the
// second the checkpoint. Returns `status`.
Status command_explain_swap(const CommandLine *line, Status status, Error *err);

// For commands that take files that are shown: after bad input, says how a scene or a log that `path` may be is shown.
// Returns `status`.
Status command_explain_text(const char *path, Status status, Error *err);

// What --device and --threads say; a note tells why "auto" took the CPU.
Status command_open_device(const CommandLine *line, Device **out, Error *err);
// --device and --threads, and --raw where the command has it.
SessionOptions session_options(const CommandLine *line, const char *checkpoint, bool raw);
// Opens it and says what was loaded.
Status command_open_session(const CommandLine *line, const char *checkpoint, Session *session, Error *err);

#endif
