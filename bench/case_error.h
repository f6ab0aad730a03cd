// SPDX-License-Identifier: Apache-2.0
// How far results in f64 are from those expected.
#ifndef VPD_BENCH_CASE_ERROR_H
#define VPD_BENCH_CASE_ERROR_H

#include <math.h>
#include <stddef.h>

// The largest difference over the largest expected value; INFINITY if a value is not finite.
static inline double case_error(const double *expected, const double *found, size_t count) {
    double worst = 0, size = 0;
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(expected[i]) || !isfinite(found[i])) return INFINITY;
        size = fmax(size, fabs(expected[i]));
        worst = fmax(worst, fabs(expected[i] - found[i]));
    }
    return worst == 0 ? 0 : worst / size;
}

#endif
