// SPDX-License-Identifier: Apache-2.0
#include "base/json_fields.h"

#include <math.h>

enum { DEPTH_MAX = 8 };

static const char *kind_of(const json_t *value) {
    static const char *const WORDS[] = {"an object", "a list", "a text", "a whole number", "a number", "true", "false"};
    if (!value) return "nothing";
    int type = json_typeof(value);
    return type < 7 ? WORDS[type] : "null";
}

static Status wrong(const char *path, const char *key, const char *expected, const json_t *found, Error *err) {
    return error_set(err, STATUS_BAD_INPUT, "%s: \"%s\": expected %s, found %s", path, key, expected, kind_of(found));
}

Status json_field_number(const char *path, const json_t *object, const char *key, double *out, Error *err) {
    const json_t *value = json_object_get(object, key);
    if (!json_is_number(value) || !isfinite(json_number_value(value))) return wrong(path, key, "a number", value, err);
    *out = json_number_value(value);
    return STATUS_OK;
}

Status json_field_number_optional(const char *path, const json_t *object, const char *key, double *out, Error *err) {
    const json_t *value = json_object_get(object, key);
    return !value || json_is_null(value) ? STATUS_OK : json_field_number(path, object, key, out, err);
}

// Adds the numbers below `value` to out[0 .. capacity); false when something else is there.
static bool collect(const json_t *value, double *out, size_t capacity, size_t *count, int depth) {
    if (json_is_number(value)) {
        if (*count < capacity) out[*count] = json_number_value(value);
        ++*count;
        return isfinite(json_number_value(value));
    }
    if (!json_is_array(value) || depth == DEPTH_MAX) return false;
    bool good = true;
    for (size_t i = 0; good && i < json_array_size(value); i++)
        good = collect(json_array_get(value, i), out, capacity, count, depth + 1);
    return good;
}

size_t json_count_numbers(const json_t *value) {
    size_t count = 0;
    return collect(value, NULL, 0, &count, 0) ? count : 0;
}

Status json_field_numbers(const char *path, const json_t *object, const char *key, double *out, size_t count,
                          Error *err) {
    const json_t *value = json_object_get(object, key);
    size_t found = 0;
    if (!json_is_array(value)) return wrong(path, key, "a list of numbers", value, err);
    if (!collect(value, out, count, &found, 0))
        return error_set(err, STATUS_BAD_INPUT, "%s: \"%s\": expected only finite numbers, found something else", path,
                         key);
    if (found != count)
        return error_set(err, STATUS_BAD_INPUT, "%s: \"%s\": expected %zu numbers, found %zu", path, key, count, found);
    return STATUS_OK;
}

Status json_field_text(const char *path, const json_t *object, const char *key, const char **out, Error *err) {
    const json_t *value = json_object_get(object, key);
    *out = json_string_value(value);
    return *out ? STATUS_OK : wrong(path, key, "a text", value, err);
}

Status json_field_object(const char *path, const json_t *object, const char *key, json_t **out, Error *err) {
    *out = json_object_get(object, key);
    return json_is_object(*out) ? STATUS_OK : wrong(path, key, "an object", *out, err);
}

Status json_field_list(const char *path, const json_t *object, const char *key, json_t **out, Error *err) {
    *out = json_object_get(object, key);
    if (json_is_array(*out) && json_array_size(*out) == 0)
        return error_set(err, STATUS_BAD_INPUT, "%s: \"%s\": expected a list that is not empty", path, key);
    return json_is_array(*out) ? STATUS_OK : wrong(path, key, "a list", *out, err);
}
