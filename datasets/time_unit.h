// SPDX-License-Identifier: Apache-2.0
// Times in another unit than seconds show in their steps: pictures come 1 ms to 2 s apart.
#ifndef VPD_DATASETS_TIME_UNIT_H
#define VPD_DATASETS_TIME_UNIT_H

#include "datasets/dataset.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct TimeUnit {
    const char *words; // "milliseconds"
    double seconds;
} TimeUnit;

// The unit of ms, us and ns that makes the step 1 ms to 2 s, the larger of two; NULL where the step may be of seconds,
// or no unit does.
const TimeUnit *time_unit_likely(double step);

// What to say of a data set whose frames are `seconds` apart; false where such steps are usual.
bool time_unit_doubt(double seconds, char *out, size_t size);
// STATUS_BAD_INPUT where there is such a doubt about an episode.
Status time_unit_check(const EpisodeInfo *episode, Error *err);

#endif
