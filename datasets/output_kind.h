// SPDX-License-Identifier: Apache-2.0
// Recognises an existing file at the path of an output by its content, to decide whether it may be replaced, and knows
// the names that outputs must have.
#ifndef VPD_DATASETS_OUTPUT_KIND_H
#define VPD_DATASETS_OUTPUT_KIND_H

#include <stdbool.h>

// Whether the file is of one of the kinds in `list` ("png", "npz", "vpd-rollout vpd-particles", ..)? An empty file is
// of every kind, and so is one that cannot be read.
bool output_is_of_kind(const char *path, const char *list);

// The ending that the name of a file of the kinds in `list` must have and `path` lacks; NULL: its name is good.
const char *output_missing_ending(const char *path, const char *list);

// "a data set, a GIF or an MP4 film": the kinds in the list, as they are listed in the source. Returns `words`.
enum { OUTPUT_KIND_WORDS = 256 };
const char *output_kind_words(const char *list, char words[OUTPUT_KIND_WORDS]);

#endif
