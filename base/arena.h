// SPDX-License-Identifier: Apache-2.0
// An arena hands out 64-byte aligned memory that is released all at once (reset) or back to a mark (stack-like use). It
// grows by blocks; a reset joins them into one block of the high-water size, so that a warm step allocates nothing.
#ifndef VPD_BASE_ARENA_H
#define VPD_BASE_ARENA_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ArenaBlock ArenaBlock;

// Where blocks come from: the host's heap, or a device's memory pool.
typedef struct ArenaSource {
    void *(*allocate)(void *owner, size_t bytes); // 64-byte aligned; NULL when there is no memory
    void (*release)(void *owner, void *memory, size_t bytes);
    void *owner;
    // Total and free bytes (SIZE_MAX: unknown); NULL when neither is known.
    void (*room)(void *owner, size_t *left, size_t *total);
} ArenaSource;

typedef struct Arena {
    ArenaSource source;
    ArenaBlock *last;   // newest block
    size_t used;        // bytes in use over all blocks
    size_t held;        // bytes of all blocks
    size_t peak;        // largest `used` since the arena was made
    size_t cycle_peak;  // largest `used` since the last reset
    size_t allocations; // blocks requested from the source so far: constant over warm steps
} Arena;

typedef struct ArenaMark {
    ArenaBlock *block;
    size_t block_used, used;
} ArenaMark;

ArenaSource arena_host_source(void);
void arena_init(Arena *arena, ArenaSource source);
void arena_free(Arena *arena);

// NULL when the source has no memory (or the size overflows); zero bytes give a valid pointer. Memory is not zeroed.
void *arena_alloc(Arena *arena, size_t bytes);
// count * size bytes, overflow checked.
void *arena_array(Arena *arena, size_t count, size_t size);

void arena_reset(Arena *arena);
ArenaMark arena_mark(const Arena *arena);
// Releases everything allocated after the mark. Blocks stay with the arena until the next reset.
void arena_release(Arena *arena, ArenaMark mark);

#ifdef __cplusplus
}
#endif

#endif
