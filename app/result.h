// SPDX-License-Identifier: Apache-2.0
// What a command left behind, told once, at its end: as a sentence, or with --json as one object on a line of stdout:
//   {"command":"rollout","written":["out.h5"],"episode":"000002", .. ,"seconds":3.21}
// "written" are the files and folders; what else there is stands in docs/library.md, "From scripts".
#ifndef VPD_APP_RESULT_H
#define VPD_APP_RESULT_H

#include "app/command.h"
#include "base/json.h"

// For the flags of each command that tells a result.
#define FLAG_JSON                                                                                                      \
    { .name = "json", .help = "say what was done as one JSON object on stdout" }

typedef enum ResultPlace { RESULT_STDOUT, RESULT_NOTE } ResultPlace; // of the sentence; a note is silent under --quiet

// Gives up the reference to `object`; "command" and "seconds" are put in. NULL (a name that is no UTF-8) fails.
Status result_tell(const CommandLine *line, json_t *object, ResultPlace place, Error *err, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

// The object alone, for commands whose other output is more than a sentence.
Status result_json(const CommandLine *line, json_t *object, Error *err);

// The object of result_tell for a data set that was written: its episodes, frames, images and splits. Without --json
// NULL, and nothing is read.
Status result_of_dataset(const CommandLine *line, const char *path, json_t **out, Error *err);

#endif
