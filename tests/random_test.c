// SPDX-License-Identifier: Apache-2.0
#include "base/random.h"
#include "tests/test.h"

static bool equals(Random4 r, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
    return r.v[0] == a && r.v[1] == b && r.v[2] == c && r.v[3] == d;
}

// The known answers of Random123 (kat_vectors, philox4x32 with 10 rounds).
static void test_known_answers(void **state) {
    (void)state;
    RandomKey zero = {0}, ones = {~0u, ~0u, ~0u, ~0u};
    RandomKey pi = {.seed = 0xa4093822, .purpose = 0x299f31d0, .step = 0x13198a2e, .episode = 0x03707344};
    assert_true(equals(random4(zero, 0), 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8));
    assert_true(equals(random4(ones, ~0ull), 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd));
    assert_true(equals(random4(pi, 0x85a308d3243f6a88), 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1));
    assert_false(equals(random4(zero, 1), 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8)); // planted: another index
}

// Every part of the key makes other numbers.
static void test_streams_differ(void **state) {
    (void)state;
    const RandomKey keys[] = {{1, 1, 1, 1}, {2, 1, 1, 1}, {1, 2, 1, 1}, {1, 1, 2, 1}, {1, 1, 1, 2}};
    for (int a = 0; a < 5; a++)
        for (int b = 0; b < a; b++)
            for (int word = 0; word < 4; word++)
                assert_int_not_equal(random4(keys[a], 7).v[word], random4(keys[b], 7).v[word]);
}

static void test_ranges(void **state) {
    (void)state;
    assert_true(random_to_unit(0) == 0 && random_to_unit(~0u) < 1);
    RandomKey key = {.seed = 3, .purpose = RANDOM_TEST};
    int counts[7] = {0};
    for (uint64_t i = 0; i < 70000; i++) {
        assert_in_range(random_below(key, i, 7), 0, 6);
        counts[random_below(key, i, 7)]++;
    }
    // Binomial with mean 10000, standard deviation 93: five of them.
    for (int i = 0; i < 7; i++) assert_in_range(counts[i], 10000 - 465, 10000 + 465);
    assert_int_equal(random_below(key, 5, 1), 0);
}

static void test_moments(void **state) {
    (void)state;
    enum { COUNT = 100000 };
    RandomKey key = {.seed = 4, .purpose = RANDOM_TEST};
    double mean = 0, square = 0;
    for (uint64_t i = 0; i < COUNT; i++) {
        double u = (double)random_uniform(key, i);
        mean += u / COUNT;
        square += u * u / COUNT;
    }
    // Five standard errors of 100,000 draws: variances of u and u^2 are 1/12 and 4/45.
    assert_close(mean, 0.5, 5 / sqrt(12.0 * COUNT), 0);
    assert_close(square, 1.0 / 3, 5 * sqrt(4 / (45.0 * COUNT)), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_known_answers), cmocka_unit_test(test_streams_differ),
                                       cmocka_unit_test(test_ranges), cmocka_unit_test(test_moments)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
