// SPDX-License-Identifier: Apache-2.0
// Union-find: sets of numbers that are joined again and again. parent[i] is another number of the set of i, or i itself
// if it is the root of the set.
#ifndef VPD_BASE_UNION_FIND_H
#define VPD_BASE_UNION_FIND_H

#include <stdint.h>

// The root of i's set. Makes the way to it shorter for the next call.
static inline int32_t union_find_root(int32_t *parent, int32_t i) {
    while (parent[i] != i) i = parent[i] = parent[parent[i]];
    return i;
}

// Joins the sets of a and b; the smaller of their roots is the root of both.
static inline void union_find_join(int32_t *parent, int32_t a, int32_t b) {
    a = union_find_root(parent, a), b = union_find_root(parent, b);
    if (a < b) parent[b] = a;
    else parent[a] = b;
}

#endif
