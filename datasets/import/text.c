// SPDX-License-Identifier: Apache-2.0
#include "datasets/import/text.h"

#include "base/file.h"

#include <stdlib.h>
#include <string.h>

#define TEXT_MAX ((size_t)1 << 26)

Status text_open(const char *path, TextFile *out, Error *err) {
    *out = (TextFile){.path = path};
    Status status = file_read_all(path, TEXT_MAX, &out->text, &out->length, err);
    out->at = out->text;
    return status;
}

void text_close(TextFile *file) {
    free(file->text);
    *file = (TextFile){0};
}

bool text_next_raw_line(TextFile *file, char **line) {
    char *at = file->text + (file->at - file->text), *end = file->text + file->length;
    if (at >= end) return false;
    char *stop = memchr(at, '\n', (size_t)(end - at));
    if (!stop) stop = end;
    *line = at;
    file->line++;
    file->at = stop < end ? stop + 1 : end;
    if (stop < end) *stop = 0; // behind the text stands a zero
    at[strcspn(at, "\r")] = 0;
    return true;
}

bool text_next_line(TextFile *file, char **line) {
    while (text_next_raw_line(file, line)) {
        if ((*line)[strspn(*line, " \t")]) return true;
    }
    return false;
}

Status text_numbers(const TextFile *file, const char *line, double *out, int count, Error *err) {
    const char *at = line;
    for (int i = 0; i < count; i++) {
        char *end;
        out[i] = strtod(at, &end);
        if (end == at)
            return error_set(err, STATUS_BAD_INPUT, "%s:%d: expected %d numbers, found %d", file->path, file->line,
                             count, i);
        at = end + strspn(end, " \t,;");
    }
    if (*at)
        return error_set(err, STATUS_BAD_INPUT, "%s:%d: expected %d numbers, found more, or something else behind them",
                         file->path, file->line, count);
    return STATUS_OK;
}

Status text_matrix(TextFile *file, int rows, int columns, double *out, Error *err) {
    for (int row = 0; row < rows; row++) {
        char *line;
        if (!text_next_line(file, &line))
            return error_set(err, STATUS_BAD_INPUT,
                             "%s: expected %d rows of %d numbers, found the end of the file after %d", file->path, rows,
                             columns, row);
        Status status = text_numbers(file, line, out + row * columns, columns, err);
        if (status) return status;
    }
    return STATUS_OK;
}

Status text_read_matrix(const char *folder, const char *name, int rows, int columns, double *out, Error *err) {
    char path[FILE_PATH_SIZE];
    TextFile text = {0};
    Status status = file_join(path, sizeof path, folder, name, err);
    if (!status) status = text_open(path, &text, err);
    if (!status) status = text_matrix(&text, rows, columns, out, err);
    text_close(&text);
    return status;
}
