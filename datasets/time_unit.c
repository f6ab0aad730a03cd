// SPDX-License-Identifier: Apache-2.0
#include "datasets/time_unit.h"

#include <stdio.h>

#define STEP_MIN 1e-3
#define STEP_MAX 2.0

const TimeUnit *time_unit_likely(double step) {
    static const TimeUnit UNITS[] = {{"milliseconds", 1e-3}, {"microseconds", 1e-6}, {"nanoseconds", 1e-9}};
    for (size_t u = 0; step > STEP_MAX && u < sizeof UNITS / sizeof *UNITS; u++) {
        double seconds = step * UNITS[u].seconds;
        if (seconds >= STEP_MIN && seconds <= STEP_MAX) return &UNITS[u];
    }
    return NULL;
}

bool time_unit_doubt(double seconds, char *out, size_t size) {
    const TimeUnit *unit = time_unit_likely(seconds);
    if (unit)
        snprintf(out, size,
                 "frames are %.6g s apart: are their times in %s (a step of %.4g s)? Then multiply \"time\" by %g, as "
                 "data sets have seconds",
                 seconds, unit->words, seconds * unit->seconds, unit->seconds);
    return unit != NULL;
}

Status time_unit_check(const EpisodeInfo *episode, Error *err) {
    char doubt[240];
    if (!time_unit_doubt(episode->time_step, doubt, sizeof doubt)) return STATUS_OK;
    return error_set(err, STATUS_BAD_INPUT, "%s:/episodes/%s/time: %s", episode->file, episode->name, doubt);
}
