// SPDX-License-Identifier: Apache-2.0
#include "datasets/import/formats.h"

#include "base/sort.h"
#include "datasets/time_unit.h"

#include <math.h>
#include <stdlib.h>

// Median of the steps between the finite times, 0 when there is none.
static double median_step(double *sorted, size_t count) {
    sort_doubles(sorted, count);
    size_t steps = 0;
    for (size_t i = 0; i + 1 < count; i++) {
        double step = sorted[i + 1] - sorted[i];
        if (step > 0) sorted[steps++] = step;
    }
    if (steps == 0) return 0;
    sort_doubles(sorted, steps);
    return sorted[steps / 2];
}

Status time_unit(const double *times, size_t count, const ImportSource *source, const char *place, double *out,
                 Error *err) {
    *out = source->options->time_unit > 0 ? source->options->time_unit : 1;
    if (source->options->time_unit > 0) return STATUS_OK;
    double *sorted = malloc((count + 1) * sizeof *sorted);
    size_t finite = 0;
    if (!sorted) return error_set(err, STATUS_FAILED, "%s: no memory to read its times", place);
    for (size_t i = 0; i < count; i++)
        if (isfinite(times[i])) sorted[finite++] = times[i];
    double step = median_step(sorted, finite);
    free(sorted);
    const TimeUnit *unit = time_unit_likely(step);
    if (!unit) return STATUS_OK;
    log_warning(source->log,
                "%s: the times of pictures are %.6g apart and are assumed to be in %s (a step of %.4g s); give "
                "--time-unit s, ms, us or ns if that is wrong",
                place, step, unit->words, step * unit->seconds);
    *out = unit->seconds;
    return STATUS_OK;
}

Status times_to_seconds(PosedSet *set, const ImportSource *source, const char *place, Error *err) {
    double unit = 1, *times = malloc((set->count + 1) * sizeof *times);
    size_t count = 0;
    if (!times) return error_set(err, STATUS_FAILED, "%s: no memory to read its times", place);
    for (size_t i = 0; i < set->count; i++)
        if (set->images[i].view == set->images[0].view) times[count++] = set->images[i].time;
    Status status = time_unit(times, count, source, place, &unit, err);
    for (size_t i = 0; i < set->count; i++) set->images[i].time *= unit;
    free(times);
    return status;
}
