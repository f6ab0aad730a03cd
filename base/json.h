// SPDX-License-Identifier: Apache-2.0
// Helpers over jansson: one compact object per line, for run logs and results, and a guarded read.
#ifndef VPD_BASE_JSON_H
#define VPD_BASE_JSON_H

#include "base/error.h"

#include <jansson.h>
#include <stdio.h>

// A number that is written with 9 digits (exact for a float); null for NaN and infinities, which JSON lacks.
json_t *json_finite(double value);

// A text; "" for NULL. Of what is no UTF-8, bytes that are not ASCII become "?".
json_t *json_text(const char *words);

// Writes `object` on one line and releases the reference, also on failure. NULL (no memory) fails.
Status json_write_line(FILE *out, json_t *object, Error *err);

#define JSON_FILE_MAX ((size_t)1 << 28) // most bytes of a file that belongs to a recording

// Reads a regular file of at most `max_bytes`; no duplicate keys. Errors name line and column. json_decref the result.
Status json_read_file(const char *path, size_t max_bytes, json_t **out, Error *err);

#endif
