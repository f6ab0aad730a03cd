// SPDX-License-Identifier: Apache-2.0
#ifndef VPD_BASE_HASH_H
#define VPD_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

// The slot at which the search for a key begins in a hash table; `slots` is a power of two, at least 2. It is the
// highest bits of a product (Knuth, "The Art of Computer Programming" 6.4): all bits of the key change these, while
// lower ones know nothing of the key's highest bits.
static inline size_t hash_slot(uint64_t key, size_t slots) {
    return (size_t)(key * 0x9E3779B97F4A7C15u >> (64 - __builtin_ctzll(slots)));
}

#endif
