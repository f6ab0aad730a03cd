// SPDX-License-Identifier: Apache-2.0
// Recognises the kind of a file, for errors about a file of the wrong kind.
#ifndef VPD_BASE_FILE_KIND_H
#define VPD_BASE_FILE_KIND_H

#include "base/error.h"

#include <stdbool.h>

// "a PNG picture", "a text file", .. by the first bytes of the file; "a file of another format" if they match no known
// kind. Of a folder "a folder", or "the folder of a training run".
const char *file_kind(const char *path);

// A folder that `vpd train` wrote: it holds a folder "checkpoints".
bool file_is_run(const char *path);

// For readers of text: "PATH: expected WANTED, found an HDF5 file". A path that cannot be opened is left to the reader.
Status file_expect_text(const char *path, const char *wanted, Error *err);

#endif
