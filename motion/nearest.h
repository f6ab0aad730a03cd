// SPDX-License-Identifier: Apache-2.0
// The nearest few of points that come one after another.
#ifndef VPD_MOTION_NEAREST_H
#define VPD_MOTION_NEAREST_H

#include <stddef.h>
#include <stdint.h>

// Keeps point `i` at squared distance `d2` if it is among the nearest `most` so far: near and index (most) hold `count`
// of them, nearest first; of two at the same distance the earlier. Returns the new count.
static inline size_t nearest_keep(double *near, int32_t *index, size_t count, size_t most, double d2, size_t i) {
    if (count == most && !(d2 < near[count - 1])) return count;
    size_t at = count < most ? count : count - 1;
    for (; at > 0 && near[at - 1] > d2; at--) near[at] = near[at - 1], index[at] = index[at - 1];
    near[at] = d2, index[at] = (int32_t)i;
    return count < most ? count + 1 : count;
}

#endif
