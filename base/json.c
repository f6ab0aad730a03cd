// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"

#include "base/file.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

json_t *json_finite(double value) { return isfinite(value) ? json_real(value) : json_null(); }

json_t *json_text(const char *words) {
    json_t *value = json_string(words ? words : "");
    char *plain = value ? NULL : strdup(words ? words : "");
    for (char *c = plain; c && *c; c++)
        if ((unsigned char)*c > 127) *c = '?';
    if (plain) value = json_string(plain);
    free(plain);
    return value ? value : json_string("");
}

Status json_write_line(FILE *out, json_t *object, Error *err) {
    int bad = !object || json_dumpf(object, out, JSON_COMPACT | JSON_REAL_PRECISION(9) | JSON_ENCODE_ANY) ||
              putc('\n', out) == EOF;
    int code = object ? errno : ENOMEM;
    json_decref(object);
    return bad ? error_set(err, STATUS_FAILED, "cannot write JSON: %s", strerror(code)) : STATUS_OK;
}

Status json_read_file(const char *path, size_t max_bytes, json_t **out, Error *err) {
    char *text = NULL;
    size_t length = 0;
    json_error_t problem;
    *out = NULL;
    Status status = file_read_all(path, max_bytes, &text, &length, err);
    if (status != STATUS_OK) return status;
    *out = json_loadb(text, length, JSON_REJECT_DUPLICATES, &problem);
    free(text);
    if (*out) return STATUS_OK;
    return error_set(err, STATUS_BAD_INPUT, "%s:%d:%d: not valid JSON: %s", path, problem.line, problem.column,
                     problem.text);
}
