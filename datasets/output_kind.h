// SPDX-License-Identifier: Apache-2.0
// Of which kind an existing file at the place of an output is, by its content: whether it may be replaced.
#ifndef VPD_DATASETS_OUTPUT_KIND_H
#define VPD_DATASETS_OUTPUT_KIND_H

#include <stdbool.h>

// Is the file of one of the kinds in `list` ("png", "npz", "vpd-rollout vpd-particles", ..)? An empty file is of every
// kind, and so is one that cannot be read.
bool output_is_of_kind(const char *path, const char *list);

// "a data set", of the first kind in the list.
const char *output_kind_words(const char *list);

#endif
