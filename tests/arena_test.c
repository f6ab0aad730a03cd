// SPDX-License-Identifier: Apache-2.0
#include "base/arena.h"
#include "tests/test.h"

// A source that counts, and can run dry.
typedef struct Counter {
    size_t live, calls, limit;
} Counter;

static void *counted_allocate(void *owner, size_t bytes) {
    Counter *counter = owner;
    if (bytes > counter->limit - counter->live) return NULL;
    counter->live += bytes;
    counter->calls++;
    return aligned_alloc(64, bytes);
}

static void counted_release(void *owner, void *memory, size_t bytes) {
    ((Counter *)owner)->live -= bytes;
    free(memory);
}

static Arena make_arena(Counter *counter) {
    Arena arena;
    arena_init(&arena, (ArenaSource){counted_allocate, counted_release, counter, NULL});
    return arena;
}

static void test_memory_is_aligned_and_apart(void **state) {
    (void)state;
    Counter counter = {.limit = SIZE_MAX};
    Arena arena = make_arena(&counter);
    enum { COUNT = 200 };
    unsigned char *parts[COUNT];
    for (int i = 0; i < COUNT; i++) {
        size_t size = (size_t)i * 997; // some 20 MB: several blocks; zero bytes first
        parts[i] = arena_alloc(&arena, size);
        assert_non_null(parts[i]);
        assert_int_equal((uintptr_t)parts[i] % 64, 0);
        memset(parts[i], i, size);
    }
    for (int i = 0; i < COUNT; i++)
        for (size_t j = 0; j < (size_t)i * 997; j++) assert_int_equal(parts[i][j], i);
    assert_true(arena.used == arena.peak && arena.used >= 199u * 200 / 2 * 997);
    arena_free(&arena);
    assert_int_equal(counter.live, 0);
    arena_free(&arena);
}

static void step(Arena *arena) {
    for (int i = 0; i < 50; i++) {
        ArenaMark mark = arena_mark(arena);
        assert_non_null(arena_alloc(arena, 100000));
        if (i % 2) arena_release(arena, mark);
    }
    arena_reset(arena);
}

static void test_a_warm_step_allocates_nothing(void **state) {
    (void)state;
    Counter counter = {.limit = SIZE_MAX};
    Arena arena = make_arena(&counter);
    step(&arena); // cold: grows by blocks, joined by the reset
    size_t calls = counter.calls;
    assert_true(calls > 1);
    for (int i = 0; i < 10; i++) step(&arena);
    assert_int_equal(counter.calls, calls);
    assert_int_equal(arena.allocations, calls);
    // Batches differ: a step that needs a hundredth more finds room.
    assert_non_null(arena_alloc(&arena, arena.peak / 100));
    step(&arena);
    assert_int_equal(counter.calls, calls);
    arena_alloc(&arena, 50 * 100000); // planted: a larger step must show in the counter
    assert_true(arena.allocations > calls);
    arena_free(&arena);
}

static void test_marks(void **state) {
    (void)state;
    Counter counter = {.limit = SIZE_MAX};
    Arena arena = make_arena(&counter);
    ArenaMark empty = arena_mark(&arena);
    void *first = arena_alloc(&arena, 1000);
    ArenaMark mark = arena_mark(&arena);
    size_t used = arena.used;
    void *second = arena_alloc(&arena, 1000);
    for (int i = 0; i < 5; i++) arena_alloc(&arena, 3 << 20); // over several blocks
    arena_release(&arena, mark);
    assert_int_equal(arena.used, used);
    assert_ptr_equal(arena_alloc(&arena, 1000), second);
    size_t calls = counter.calls;
    for (int i = 0; i < 5; i++) assert_non_null(arena_alloc(&arena, 3 << 20)); // the blocks were kept
    assert_int_equal(counter.calls, calls);
    arena_release(&arena, empty);
    assert_int_equal(arena.used, 0);
    assert_ptr_equal(arena_alloc(&arena, 1000), first);
    arena_free(&arena);
    assert_int_equal(counter.live, 0);
}

static void test_no_memory(void **state) {
    (void)state;
    Counter counter = {.limit = 4 << 20};
    Arena arena = make_arena(&counter);
    assert_non_null(arena_alloc(&arena, 1 << 20));
    assert_null(arena_alloc(&arena, 8 << 20));
    assert_non_null(arena_alloc(&arena, 1 << 19)); // smaller ones still go
    assert_null(arena_alloc(&arena, SIZE_MAX));
    assert_null(arena_alloc(&arena, SIZE_MAX - 64));
    assert_null(arena_array(&arena, SIZE_MAX / 2, 3));
    assert_non_null(arena_array(&arena, 3, 5));
    arena_reset(&arena);
    assert_non_null(arena_alloc(&arena, 1 << 20));
    arena_free(&arena);
    assert_int_equal(counter.live, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory_is_aligned_and_apart),
        cmocka_unit_test(test_a_warm_step_allocates_nothing),
        cmocka_unit_test(test_marks),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
