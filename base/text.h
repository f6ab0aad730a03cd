// SPDX-License-Identifier: Apache-2.0
// Words of a stranger's text file.
#ifndef VPD_BASE_TEXT_H
#define VPD_BASE_TEXT_H

#include <stdbool.h>

// Text that YAML can hold on one line: UTF-8 without control characters, line ends, surrogates and byte order marks.
bool text_is_plain(const char *text);
// Decimal and finite; strtod alone would take hexadecimal, nan and inf.
bool text_number(const char *text, double *out);

#endif
