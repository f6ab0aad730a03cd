// SPDX-License-Identifier: Apache-2.0
// Messages for the user. A library prints nothing by itself: it is given a Log (or NULL, which is silent)
// by the program. Results go to stdout and never through here; errors are values (base/error.h).
#ifndef VPD_BASE_LOG_H
#define VPD_BASE_LOG_H

#include <stdbool.h>
#include <stdio.h>

typedef struct Log {
    FILE *out;     // stderr; NULL: silent, warnings too
    bool quiet;    // warnings alone
    bool terminal; // `out` is one: progress may redraw its line
    bool color;
} Log;

// Looks at the terminal and at NO_COLOR.
Log log_open(FILE *out, bool quiet);

void log_note(const Log *log, const char *format, ...) __attribute__((format(printf, 2, 3)));
// "warning: ..."
void log_warning(const Log *log, const char *format, ...) __attribute__((format(printf, 2, 3)));

// The sentence that the program ends with: "vpd: ..."
void log_error(const Log *log, const char *format, ...) __attribute__((format(printf, 2, 3)));

// Text with parts of untrusted files, made harmless for a terminal: control characters become '?'.
void log_clean(char *text);

#endif
