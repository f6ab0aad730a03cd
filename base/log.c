// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

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

void log_clean(char *text) {
    for (unsigned char *c = (unsigned char *)text; *c; c++) {
        bool c1 = c[0] == 0xC2 && c[1] >= 0x80 && c[1] < 0xA0; // the control characters beyond ASCII, in UTF-8
        if ((*c < 0x20 && *c != '\n' && *c != '\t') || *c == 0x7F || c1) *c = '?';
        if (c1) c[1] = '?';
    }
}

static void print_line(const Log *log, const char *before, const char *after, const char *format, va_list args) {
    char line[LINE_SIZE];
    vsnprintf(line, sizeof line, format, args);
    log_clean(line);
    // On a terminal a progress line may stand there: it is overwritten and drawn again below.
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

void log_warning(const Log *log, const char *format, ...) {
    if (!log) return;
    va_list args;
    va_start(args, format);
    print_line(log, log->color ? "\033[33mwarning: " : "warning: ", log->color ? "\033[0m" : "", format, args);
    va_end(args);
}
