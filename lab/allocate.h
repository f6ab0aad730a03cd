// SPDX-License-Identifier: Apache-2.0
#ifndef VPD_LAB_ALLOCATE_H
#define VPD_LAB_ALLOCATE_H

#include <stdbool.h>
#include <stdlib.h>

// Zeroed memory, not NULL for a count of 0; where there is none, *good becomes false.
static inline void *allocate(size_t count, size_t size, bool *good) {
    void *out = calloc(count ? count : 1, size);
    *good = *good && out;
    return out;
}

#endif
