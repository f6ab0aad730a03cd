// SPDX-License-Identifier: Apache-2.0
// Parts of the program that are loaded when they are first needed, from files beside it.
#ifndef VPD_BASE_MODULE_H
#define VPD_BASE_MODULE_H

#include "base/error.h"

#include <limits.h>
#include <stdbool.h>

enum { MODULE_PATH_SIZE = PATH_MAX + 64 };

// Looks for `file` in the folder of the program or of libvpd.so, whichever holds this code, or in lib/ beside bin/ as
// installed. `folder` becomes the first of them, for messages.
bool module_find(const char *file, char folder[PATH_MAX], char path[MODULE_PATH_SIZE]);

// Loads the library at `path`, which stays until the process ends, and looks up `symbol`.
Status module_load(const char *path, const char *symbol, const void **out, Error *err);

// An error unless the module at `path` is of this program's version and commit.
Status module_check_version(const char *path, const char *version, const char *commit, Error *err);

#endif
