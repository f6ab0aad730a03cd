// SPDX-License-Identifier: Apache-2.0
// Which existing files a command may replace. It never replaces a file that it reads. It replaces a file of the kind
// that it writes, which an earlier run may have left there. A data set, which may be the only copy of a recording, and
// any file of another kind it replaces with --force alone.
#ifndef VPD_APP_OUTPUT_H
#define VPD_APP_OUTPUT_H

#include "app/command.h"

// For the flags of each command that has a flag with `writes`.
#define FLAG_FORCE                                                                                                     \
    {                                                                                                                  \
        .name = "force",                                                                                               \
        .help = "replace an existing data set or a file of another kind (never a file that the command reads)"         \
    }

// `kinds` as in Flag.writes. A path that does not exist, or is a folder, is good.
Status output_check(const CommandLine *line, const char *path, const char *kinds, Error *err);

// The pictures that video_write would replace or remove for a film of `count` frames, where `path` is a folder.
Status output_check_frames(const CommandLine *line, const char *path, size_t count, Error *err);

// Every flag that was given and has `writes`.
Status outputs_check(const CommandLine *line, Error *err);

#endif
