// SPDX-License-Identifier: Apache-2.0
#include "base/arena.h"

#include "base/check.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum { ALIGNMENT = 64, FIRST_BLOCK = 1 << 20, HUGE_PAGE = 2 << 20, HUGE_BLOCK = 4 * HUGE_PAGE, HEADROOM = 64 };

// Block headers live on the host, since the memory itself may be a device's.
struct ArenaBlock {
    ArenaBlock *previous, *next; // released blocks stay linked as `next` and are used again
    char *memory;
    size_t size, used;
};

// Large blocks ask for huge pages: a five-hundredth of the page faults, and fewer misses when addresses are looked up.
static void *host_allocate(void *owner, size_t bytes) {
    (void)owner;
    size_t alignment = bytes < HUGE_BLOCK ? ALIGNMENT : HUGE_PAGE;
    if (bytes > SIZE_MAX - alignment) return NULL;
    // Whole multiples of the alignment: C11 asks for it, and sanitizers insist.
    bytes = (bytes + alignment - 1) / alignment * alignment;
    void *memory = aligned_alloc(alignment, bytes);
#ifdef MADV_HUGEPAGE
    if (memory && alignment == HUGE_PAGE)
        (void)madvise(memory, bytes, MADV_HUGEPAGE); // a hint that the kernel may refuse
#endif
    return memory;
}

static void host_release(void *owner, void *memory, size_t bytes) {
    (void)owner;
    (void)bytes;
    free(memory);
}

// Memory that the process may use: the machine's, or less (ulimit -v).
static void host_room(void *owner, size_t *left, size_t *total) {
    (void)owner;
    struct rlimit limit;
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    *left = SIZE_MAX;
    *total = pages > 0 && page > 0 ? (size_t)pages * (size_t)page : SIZE_MAX;
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur < *total) *total = (size_t)limit.rlim_cur;
}

ArenaSource arena_host_source(void) { return (ArenaSource){host_allocate, host_release, NULL, host_room}; }

void arena_init(Arena *arena, ArenaSource source) { *arena = (Arena){.source = source}; }

static ArenaBlock *add_block(Arena *arena, size_t size) {
    ArenaBlock *block = calloc(1, sizeof *block);
    if (!block) return NULL;
    block->memory = arena->source.allocate(arena->source.owner, size);
    if (!block->memory) {
        free(block);
        return NULL;
    }
    arena->allocations++;
    arena->held += size;
    block->size = size;
    block->previous = arena->last;
    if (arena->last) arena->last->next = block;
    arena->last = block;
    return block;
}

static void drop_block(Arena *arena, ArenaBlock *block) {
    arena->held -= block->size;
    arena->source.release(arena->source.owner, block->memory, block->size);
    free(block);
}

static void drop_chain(Arena *arena, ArenaBlock *block) {
    while (block) {
        ArenaBlock *next = block->next;
        drop_block(arena, block);
        block = next;
    }
}

static ArenaBlock *first_block(const Arena *arena) {
    ArenaBlock *block = arena->last;
    while (block && block->previous) block = block->previous;
    return block;
}

void arena_free(Arena *arena) {
    drop_chain(arena, first_block(arena));
    *arena = (Arena){.source = arena->source};
}

// Moves to a block with room for `bytes`: a kept one behind the last, else a new one.
static ArenaBlock *block_with_room(Arena *arena, size_t bytes) {
    ArenaBlock *block = arena->last;
    if (block && block->size - block->used >= bytes) return block;
    ArenaBlock *kept = block ? block->next : NULL;
    if (kept && kept->size >= bytes) return arena->last = kept;
    if (block) {
        drop_chain(arena, kept);
        block->next = NULL;
    }
    // Doubling keeps the number of blocks of a first step small.
    size_t size = block ? 2 * block->size : FIRST_BLOCK;
    if (size > (size_t)256 << 20) size = (size_t)256 << 20;
    block = size > bytes ? add_block(arena, size) : NULL;
    return block ? block : add_block(arena, bytes); // if that fails, only what is needed
}

void *arena_alloc(Arena *arena, size_t bytes) {
    size_t padded;
    if (!size_add(bytes, ALIGNMENT - 1, &padded)) return NULL;
    padded &= ~(size_t)(ALIGNMENT - 1);
    if (padded == 0) padded = ALIGNMENT;
    ArenaBlock *block = block_with_room(arena, padded);
    if (!block) return NULL;
    void *memory = block->memory + block->used;
    block->used += padded;
    arena->used += padded;
    if (arena->used > arena->cycle_peak) arena->cycle_peak = arena->used;
    if (arena->used > arena->peak) arena->peak = arena->used;
    return memory;
}

void *arena_array(Arena *arena, size_t count, size_t size) {
    size_t bytes;
    return size_mul(count, size, &bytes) ? arena_alloc(arena, bytes) : NULL;
}

void arena_reset(Arena *arena) {
    ArenaBlock *first = first_block(arena);
    // After a step that needed several blocks, the next one gets a single block of the peak's size and a little more:
    // later batches may need somewhat more, and a new block costs its page faults again.
    if (first && first->next) {
        size_t size = (arena->cycle_peak + arena->cycle_peak / HEADROOM) / ALIGNMENT * ALIGNMENT;
        drop_chain(arena, first);
        arena->last = NULL;
        add_block(arena, size);
    } else if (first) {
        first->used = 0;
        arena->last = first;
    }
    arena->used = arena->cycle_peak = 0;
}

ArenaMark arena_mark(const Arena *arena) {
    return (ArenaMark){arena->last, arena->last ? arena->last->used : 0, arena->used};
}

void arena_release(Arena *arena, ArenaMark mark) {
    ArenaBlock *block = mark.block ? mark.block : first_block(arena);
    for (ArenaBlock *later = block; later; later = later->next) later->used = 0;
    if (mark.block) mark.block->used = mark.block_used;
    arena->last = block;
    arena->used = mark.used;
}
