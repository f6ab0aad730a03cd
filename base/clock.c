// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

double clock_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void clock_format(double seconds, char *out, size_t size) {
    long long whole = isfinite(seconds) && seconds < 1e12 ? llround(seconds) : -1;
    if (seconds < 0 || whole < 0) snprintf(out, size, "?");
    else if (seconds < 9.95) snprintf(out, size, "%.1f s", seconds);
    else if (whole < 60) snprintf(out, size, "%lld s", whole);
    else if (whole < 3600) snprintf(out, size, "%lld min %02lld s", whole / 60, whole % 60);
    else if (whole < 86400) snprintf(out, size, "%lld h %02lld min", whole / 3600, whole / 60 % 60);
    else snprintf(out, size, "%lld d %lld h", whole / 86400, whole / 3600 % 24);
}
