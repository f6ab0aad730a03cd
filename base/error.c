// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"

#include "base/text.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

void error_clean(char *text, const char *keep) {
    for (const unsigned char *at = (unsigned char *)text, *next = at; *at; at = next) {
        unsigned long c = text_next(&next); // 0: no UTF-8
        bool control = c < 0x20 || (c >= 0x7F && c < 0xA0);
        if (control && !(c && c < 0x20 && strchr(keep, (int)c)))
            memset(text + (at - (unsigned char *)text), '?', (size_t)(next - at));
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
