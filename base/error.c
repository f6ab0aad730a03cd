// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

void error_clean(char *text, const char *keep) {
    for (unsigned char *c = (unsigned char *)text; *c; c++) {
        bool c1 = c[0] == 0xC2 && c[1] >= 0x80 && c[1] < 0xA0; // the control characters beyond ASCII, in UTF-8
        if ((*c < 0x20 && !strchr(keep, *c)) || *c == 0x7F || c1) *c = '?';
        if (c1) c[1] = '?';
    }
}

void error_fill(Error *err, Status status, const char *format, ...) {
    if (!err) return;
    va_list args;
    va_start(args, format);
    vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    error_clean(err->text, "\t");
    err->status = status;
}

Status error_prefix(Error *err, const char *format, ...) {
    if (!err) return STATUS_FAILED;
    char prefix[512], joined[sizeof err->text];
    va_list args;
    va_start(args, format);
    vsnprintf(prefix, sizeof prefix, format, args);
    va_end(args);
    snprintf(joined, sizeof joined, "%s: %.*s", prefix, (int)(sizeof joined - sizeof prefix - 3), err->text);
    error_clean(joined, "\t");
    snprintf(err->text, sizeof err->text, "%s", joined);
    return err->status;
}
