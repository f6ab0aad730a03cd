// SPDX-License-Identifier: Apache-2.0
// Text from untrusted files.
#ifndef VPD_BASE_TEXT_H
#define VPD_BASE_TEXT_H

#include <stdbool.h>

// The code point at *text, which is not at its end; *text moves past it. 0: the bytes are no UTF-8 (overlong forms and
// surrogates are none); it moves past those that began like it, at least one.
unsigned long text_next(const unsigned char **text);
// Whether YAML can hold the text on one line: UTF-8 without control characters, line ends, surrogates and byte order
// marks.
bool text_is_plain(const char *text);
// Decimal and finite; strtod alone would take hexadecimal, nan and inf.
bool text_number(const char *text, double *out);

#endif
