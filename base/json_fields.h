// SPDX-License-Identifier: Apache-2.0
// Values from untrusted JSON. Errors name the file and the key, what was expected and what was found. `object` may be
// any value: only objects have keys.
#ifndef VPD_BASE_JSON_FIELDS_H
#define VPD_BASE_JSON_FIELDS_H

#include "base/json.h"

#include <stdbool.h>
#include <stddef.h>

// A finite number. Optional: *out keeps its value when the key is absent or null.
Status json_field_number(const char *path, const json_t *object, const char *key, double *out, Error *err);
Status json_field_number_optional(const char *path, const json_t *object, const char *key, double *out, Error *err);
// Exactly `count` finite numbers, lists of lists read row by row.
Status json_field_numbers(const char *path, const json_t *object, const char *key, double *out, size_t count,
                          Error *err);
// The text lives as long as the JSON value.
Status json_field_text(const char *path, const json_t *object, const char *key, const char **out, Error *err);
Status json_field_object(const char *path, const json_t *object, const char *key, json_t **out, Error *err);
// A list of at least one value.
Status json_field_list(const char *path, const json_t *object, const char *key, json_t **out, Error *err);
// How many numbers there are in lists of lists; 0 when anything else is among them.
size_t json_count_numbers(const json_t *value);

#endif
