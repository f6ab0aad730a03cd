// SPDX-License-Identifier: Apache-2.0
#include "lab/experiment.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

ExperimentFigures experiment_figures(const double *values, size_t count) {
    ExperimentFigures out = {0};
    double *sorted = malloc((count + 1) * sizeof *sorted);
    if (!sorted || !count) {
        free(sorted);
        return (ExperimentFigures){NAN, NAN, NAN, NAN};
    }
    memcpy(sorted, values, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare);
    for (size_t i = 0; i < count; i++) out.mean += values[i] / (double)count;
    for (size_t i = 0; i < count; i++) out.spread += (values[i] - out.mean) * (values[i] - out.mean);
    out.spread = count > 1 ? sqrt(out.spread / (double)(count - 1) / (double)count) : NAN;
    out.median = (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
    out.worst = sorted[count - 1];
    free(sorted);
    return out;
}
