// SPDX-License-Identifier: Apache-2.0
// Shared by the options_*.c files; nobody else includes it.
#ifndef VPD_BASE_OPTIONS_INTERNAL_H
#define VPD_BASE_OPTIONS_INTERNAL_H

#include "base/options.h"

enum { OPTION_VALUE_SIZE = 1024 }; // holds any value as text, a full list of doubles included

// Reads `value` into the option's field; the error names key, type, range and what was found.
Status option_parse(const Option *option, void *config, const char *value, Error *err);

// What a value of this option looks like: "an integer from 1 to 100 (steps)".
void option_describe(const Option *option, char *out, size_t size);

// NULL when no option has this key.
const Option *option_find(OptionTable table, const char *key);

bool option_is_list(const Option *option);

#endif
