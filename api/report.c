// SPDX-License-Identifier: Apache-2.0
// Results as JSON texts, and the warnings that belong to them.
#include "api/api.h"

#include <stdlib.h>
#include <string.h>

void vpd_text_free(char *text) { free(text); }

Status api_notes_open(ApiNotes *notes, Error *err) {
    *notes = (ApiNotes){0};
    FILE *stream = open_memstream(&notes->text, &notes->length);
    if (!stream) return error_set(err, STATUS_FAILED, "out of memory for warnings");
    notes->log = (Log){.out = stream, .quiet = true};
    return STATUS_OK;
}

void api_notes_free(ApiNotes *notes) {
    if (notes->log.out) fclose(notes->log.out);
    free(notes->text);
    *notes = (ApiNotes){0};
}

// A quiet log holds one warning on each line.
char *api_notes_text(const ApiNotes *notes) {
    static const char prefix[] = "warning: ";
    fflush(notes->log.out);
    char *out = strdup(notes->text), *to = out;
    for (const char *line = notes->text, *end; out && *line; line = end) {
        if (!strncmp(line, prefix, strlen(prefix))) line += strlen(prefix);
        end = line + strcspn(line, "\n");
        end += *end == '\n';
        memcpy(to, line, (size_t)(end - line));
        to += end - line;
    }
    if (out) *to = 0;
    return out;
}

// NULL: one could not be put into the list.
static json_t *warnings(const ApiNotes *notes) {
    char *text = api_notes_text(notes);
    json_t *out = text ? json_array() : NULL;
    for (char *rest = text, *line; out && (line = strtok_r(rest, "\n", &rest));) {
        if (json_array_append_new(out, json_string(line)) == 0) continue;
        json_decref(out);
        out = NULL;
    }
    free(text);
    return out;
}

Status api_report(json_t *object, ApiNotes *notes, char **out, Error *err) {
    bool good = object && json_object_set_new(object, "warnings", warnings(notes)) == 0;
    if (good && out) {
        *out = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(9));
        good = *out != NULL;
    }
    json_decref(object);
    return good ? STATUS_OK
                : error_set(err, STATUS_FAILED, "the report: a path or name is not UTF-8, or memory ran out");
}
