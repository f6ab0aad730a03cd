// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>

void error_fill(Error *err, Status status, const char *format, ...) {
    if (!err) return;
    va_list args;
    va_start(args, format);
    vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
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
    snprintf(err->text, sizeof err->text, "%s", joined);
    return err->status;
}
