// SPDX-License-Identifier: Apache-2.0
// Arrays on the heap that grow.
#ifndef VPD_BASE_ARRAY_H
#define VPD_BASE_ARRAY_H

#include "base/check.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

// Makes room for `count` items of `size` bytes in an array; `array` is the address of the pointer to it. False without
// memory: the array is then as it was.
static inline bool array_grow(void *array, size_t count, size_t size) {
    void *old, *grown;
    size_t bytes;
    memcpy(&old, array, sizeof old);
    if (!size_mul(count, size, &bytes)) return false;
    grown = realloc(old, bytes ? bytes : 1);
    if (grown) memcpy(array, &grown, sizeof grown);
    return grown != NULL;
}

#endif
