// SPDX-License-Identifier: Apache-2.0
// Numbers and lines from untrusted text files.
#ifndef VPD_DATASETS_IMPORT_TEXT_H
#define VPD_DATASETS_IMPORT_TEXT_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct TextFile {
    char *text;
    size_t length;
    const char *at; // where reading stands
    int line;       // of `at`, from 1
    const char *path;
} TextFile;

// The path must outlive the TextFile.
Status text_open(const char *path, TextFile *out, Error *err);
void text_close(TextFile *file); // accepts {0}

// The next line without its end, blank ones skipped; false at the end. The line is cut out of the text in place.
bool text_next_line(TextFile *file, char **line);
bool text_next_raw_line(TextFile *file, char **line); // blank ones too

// Exactly `count` numbers of any kind (nan and inf too) from a line, separated by blanks or commas.
Status text_numbers(const TextFile *file, const char *line, double *out, int count, Error *err);

// Reads rows of numbers, one row a line.
Status text_matrix(TextFile *file, int rows, int columns, double *out, Error *err);
// The matrix at the beginning of the file folder/name.
Status text_read_matrix(const char *folder, const char *name, int rows, int columns, double *out, Error *err);

#endif
