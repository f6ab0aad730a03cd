// SPDX-License-Identifier: Apache-2.0
// The choice of one point per voxel against a plain search through every level.
#include "base/hash.h"
#include "nn/choose.h"
#include "tests/test.h"

#include <stdlib.h>
#include <string.h>

enum { POINTS = 3000 };

static void make_points(real *x, Keyed *items, uint32_t seed) {
    RandomKey key = {.seed = seed, .purpose = RANDOM_TEST};
    for (size_t i = 0; i < POINTS; i++) {
        for (size_t c = 0; c < 3; c++) x[3 * i + c] = 4 * random_uniform(key, 3 * i + c) - 2;
        x[3 * i + 2] *= (real)0.01; // nearly a plane
        items[i] = (Keyed){choose_key(key, i), (int32_t)i};
    }
    choose_sort(items, POINTS);
}

static bool same_voxel(const real *a, const real *b, double edge) {
    for (int c = 0; c < 3; c++)
        if (floor((double)a[c] / edge) != floor((double)b[c] / edge)) return false;
    return true;
}

// Every level from the coarsest, every pair of points.
static size_t choose_plainly(const real *x, const Keyed *items, size_t n, double extent, int32_t *out) {
    for (int j = -8; j <= 64; j++) {
        double edge = extent * exp2(-j / 4.0);
        size_t kept = 0;
        int32_t first[POINTS];
        for (size_t i = 0; i < POINTS; i++) {
            bool taken = false;
            for (size_t k = 0; k < kept && !taken; k++)
                taken = same_voxel(x + 3 * items[i].index, x + 3 * first[k], edge);
            if (!taken) first[kept++] = items[i].index;
        }
        if (kept < n && j < 64) continue;
        memcpy(out, first, (kept < n ? kept : n) * sizeof *out);
        return kept < n ? kept : n;
    }
    return 0;
}

static void choice_is_that_of_a_plain_search(void **state) {
    (void)state;
    static real x[3 * POINTS];
    static Keyed items[POINTS], sorted[POINTS];
    static int32_t expected[POINTS];
    VoxelTable table = {0};
    Error err = {0};
    const size_t wanted[] = {1, 40, 700, 2000, 41};
    for (uint32_t i = 0; i < 5; i++) {
        size_t chosen = 0, count;
        make_points(x, sorted, i);
        memcpy(items, sorted, sizeof items);
        assert_status_ok(choose_voxel(&table, items, POINTS, wanted[i], x, 2, &chosen, &err), err);
        count = choose_plainly(x, sorted, wanted[i], 2, expected);
        assert_int_equal(chosen, count);
        for (size_t k = 0; k < count; k++) assert_int_equal(items[k].index, expected[k]);
    }
    voxel_table_free(&table);
}

static void coincident_points_give_one(void **state) {
    (void)state;
    real x[3 * 10] = {0};
    Keyed items[10];
    VoxelTable table = {0};
    Error err = {0};
    size_t chosen = 0;
    for (int i = 0; i < 10; i++) items[i] = (Keyed){(uint64_t)i, 9 - i};
    assert_status_ok(choose_voxel(&table, items, 10, 4, x, 1, &chosen, &err), err);
    assert_int_equal(chosen, 1);
    assert_int_equal(items[0].index, 9); // the smallest key
    voxel_table_free(&table);
}

// Voxels lie on surfaces, so whole rows of them differ in one coordinate alone. Of random slots 632 of 1,000 would
// differ.
static void rows_of_voxels_have_different_slots(void **state) {
    (void)state;
    enum { SLOTS = 1024, LEAST = 400 };
    for (int axis = 0; axis < 3; axis++) {
        bool taken[SLOTS] = {0};
        int different = 0;
        for (uint64_t k = 0; k < SLOTS; k++) {
            size_t slot = hash_slot(1ull << 62 | 1ull << 41 | 1ull << 20 | (k << 21 * axis), SLOTS);
            assert_in_range(slot, 0, SLOTS - 1);
            different += !taken[slot];
            taken[slot] = true;
        }
        assert_in_range(different, LEAST, SLOTS);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(choice_is_that_of_a_plain_search),
                                       cmocka_unit_test(coincident_points_give_one),
                                       cmocka_unit_test(rows_of_voxels_have_different_slots)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
