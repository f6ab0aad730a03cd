// SPDX-License-Identifier: Apache-2.0
// How far times of frames may be off. Seconds, or any other unit that both have.
#ifndef VPD_BASE_TIME_STEP_H
#define VPD_BASE_TIME_STEP_H

#include <math.h>
#include <stdbool.h>

#define TIME_STEP_SAME 0.01 // relative difference up to which two rates count as one

static inline bool time_step_same(double step, double other) { return fabs(step - other) <= TIME_STEP_SAME * other; }

// Whether two frames are as far apart as the step says: a clock may be late, but no frame is missing.
static inline bool time_step_fits(double interval, double step) { return fabs(interval - step) <= 0.2 * step; }

#endif
