// SPDX-License-Identifier: Apache-2.0
// Text from untrusted files.
#ifndef VPD_BASE_TEXT_H
#define VPD_BASE_TEXT_H

#include <stdbool.h>

// Whether YAML can hold the text on one line: UTF-8 without control characters, line ends, surrogates and byte order
// marks.
bool text_is_plain(const char *text);
// Decimal and finite; strtod alone would take hexadecimal, nan and inf.
bool text_number(const char *text, double *out);

#endif
