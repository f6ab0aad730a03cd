// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include "base/error.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE_SIZE = 2048 };

Log log_open(FILE *out, bool quiet) {
    const char *no_color = getenv("NO_COLOR"), *kind = getenv("TERM");
    bool terminal = isatty(fileno(out)) == 1;
    bool dumb = !kind || strcmp(kind, "dumb") == 0;
    return (Log){out, quiet, terminal && !dumb, terminal && !dumb && !(no_color && *no_color)};
}

void log_clean(char *text) { error_clean(text, "\n\t"); }

static void print_line(const Log *log, const char *before, const char *after, const char *format, va_list args) {
    char line[LINE_SIZE];
    if (!log->out) return;
    vsnprintf(line, sizeof line, format, args);
    log_clean(line);
    // On a terminal there may be a progress line: it is overwritten and drawn again below.
    fprintf(log->out, "%s%s%s%s\n", log->terminal ? "\r\033[K" : "", before, line, after);
    fflush(log->out);
}

void log_note(const Log *log, const char *format, ...) {
    if (!log || log->quiet) return;
    va_list args;
    va_start(args, format);
    print_line(log, "", "", format, args);
    va_end(args);
}

void log_error(const Log *log, const char *format, ...) {
    va_list args;
    va_start(args, format);
    print_line(log, log->color ? "\033[31mvpd: " : "vpd: ", log->color ? "\033[0m" : "", format, args);
    va_end(args);
}

void log_warning(const Log *log, const char *format, ...) {
    if (!log) return;
    va_list args;
    va_start(args, format);
    print_line(log, log->color ? "\033[33mwarning: " : "warning: ", log->color ? "\033[0m" : "", format, args);
    va_end(args);
}
