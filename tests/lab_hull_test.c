// SPDX-License-Identifier: Apache-2.0
// Convex hulls of points.
#include "lab/hull.h"

#include "base/vector.h"
#include "tests/test.h"

static double volume(const Hull *h) { return vector_enclosed(h->corner[0], 0, h->triangle[0], h->triangles); }

static double random_number(uint64_t *state) { // 0 to 1
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) / 9007199254740992.0;
}

// No point is far outside, and each edge is there once in each direction.
static void check(const double *x, size_t count, const Hull *h) {
    size_t edges = 0;
    for (size_t t = 0; t < h->triangles; t++)
        for (size_t s = 0; s < h->triangles; s++)
            for (int k = 0; k < 3; k++)
                for (int l = 0; l < 3; l++)
                    edges += h->triangle[t][k] == h->triangle[s][(l + 1) % 3] &&
                             h->triangle[t][(k + 1) % 3] == h->triangle[s][l];
    assert_int_equal(edges, 3 * h->triangles);
    for (size_t t = 0; t < h->triangles; t++) {
        double u[3], v[3], n[3], w[3];
        const int32_t *corner = h->triangle[t];
        vector_between(h->corner[0], corner[0], corner[1], u);
        vector_between(h->corner[0], corner[0], corner[2], v);
        vector_cross(u, v, n);
        for (size_t i = 0; i < count; i++) {
            for (size_t c = 0; c < 3; c++) w[c] = x[3 * i + c] - h->corner[corner[0]][c];
            assert_true(vector_dot(n, w) <= 0.12 * sqrt(vector_dot(n, n)));
        }
    }
}

// A grid of points in a box, many of them in one plane: the corners alone are left.
static void test_box(void **state) {
    enum { SIDE = 7, COUNT = SIDE * SIDE * SIDE };
    double x[3 * COUNT];
    Hull h;
    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        x[3 * i] = 0.05 * (double)(i % SIDE);
        x[3 * i + 1] = 0.02 * (double)(i / SIDE % SIDE);
        x[3 * i + 2] = 0.03 * (double)(i / SIDE / SIDE) + 4;
    }
    hull_make(x, COUNT, &h);
    assert_int_equal(h.corners, 8);
    assert_int_equal(h.triangles, 12);
    assert_close(volume(&h), 0.3 * 0.12 * 0.18, 1e-12, 0);
    hull_refine(&h, 0.16);
    assert_int_equal(h.triangles, 2 * h.corners - 4);
    assert_true(h.corners > 16 && h.corners < 40);
    assert_close(volume(&h), 0.3 * 0.12 * 0.18, 1e-12, 0);
    check(x, COUNT, &h);
    hull_refine(&h, 0);
    assert_int_equal(h.corners, HULL_POINTS);
    assert_int_equal(h.triangles, HULL_TRIANGLES - 4);
}

// Of a ball of radius 1 the 64 corners enclose most.
static void test_balls(void **state) {
    enum { COUNT = 1000 };
    double x[3 * COUNT];
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        uint64_t random = seed;
        Hull h;
        for (size_t i = 0; i < COUNT; i++) {
            double length = 0;
            for (size_t c = 0; c < 3; c++) x[3 * i + c] = random_number(&random) - 0.5;
            length = sqrt(vector_dot(x + 3 * i, x + 3 * i));
            for (size_t c = 0; c < 3; c++) x[3 * i + c] /= length;
        }
        hull_make(x, COUNT, &h);
        assert_true(h.corners >= HULL_POINTS - 2 && h.triangles == 2 * h.corners - 4);
        check(x, COUNT, &h);
        assert_true(volume(&h) > 0.82 * 4.18879);
    }
}

static void test_flat(void **state) {
    double x[3 * 100] = {0};
    Hull h;
    (void)state;
    hull_make(x, 100, &h);
    assert_int_equal(h.corners, 0); // one place
    for (size_t i = 0; i < 100; i++) x[3 * i] = (double)i;
    hull_make(x, 100, &h);
    assert_int_equal(h.corners, 0); // a line
    for (size_t i = 0; i < 100; i++) x[3 * i + 1] = (double)(i % 7 * 10);
    hull_make(x, 100, &h);
    assert_int_equal(h.corners, 0); // a plane
    x[2] = 20;
    hull_make(x, 3, &h);
    assert_int_equal(h.corners, 0);
    hull_make(x, 100, &h);
    assert_true(h.corners > 4);
    hull_make(x, 0, &h);
    assert_int_equal(h.corners, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_box),
        cmocka_unit_test(test_balls),
        cmocka_unit_test(test_flat),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
