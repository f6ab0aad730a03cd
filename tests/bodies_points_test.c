// SPDX-License-Identifier: Apache-2.0
// Bodies and surfaces made from points on them.
#include "base/random.h"
#include "bodies/body_inputs.h"
#include "tests/test.h"

#include <math.h>
#include <string.h>

enum { NORMAL = 12, DISTANCE = 15, ABOVE = 10, AWAY = 11 };
static const BodyScales scales = {.reach = 0.15f, .length = 0.125f, .speed = 0.1f, .step = 0.05f};

static real uniform(size_t i) { return random_uniform((RandomKey){.seed = 6, .purpose = RANDOM_TEST}, i) - 0.5f; }

static void assert_near(real found, double expected, double tolerance) {
    if (!(fabs((double)found - expected) <= tolerance)) fail_msg("expected %.6f, found %.6f", expected, (double)found);
}

static void add_window(BodySet *set) {
    Error err;
    assert_status_ok(body_set_add_window(set, &err), err);
}

// A grid of 4x4 points on each face of a cube of side `side`.
enum { CUBE = 96 };
static void make_cube(const double *centre, double side, real *x) {
    for (size_t i = 0; i < CUBE; i++) {
        size_t axis = i / 32, k = i % 16;
        double sign = i / 16 % 2 ? 1 : -1, p[3];
        p[axis] = sign / 2, p[(axis + 1) % 3] = ((double)(k % 4) - 1.5) / 4,
        p[(axis + 2) % 3] = ((double)(k / 4) - 1.5) / 4;
        for (size_t c = 0; c < 3; c++) x[3 * i + c] = (real)(centre[c] + side * p[c]);
    }
}

static void add_cube(BodySet *set, const double *centre, const double *velocity) {
    real now[3 * CUBE], before[3 * CUBE];
    Error err;
    make_cube(centre, 0.2, now);
    for (size_t i = 0; i < 3 * CUBE; i++) before[i] = now[i] - (real)velocity[i % 3];
    assert_status_ok(body_set_add_points(set, CUBE, now, before, NULL, &err), err);
}

// The nodes are points of the body, no two the same, that leave none of the body far from a node.
static void test_nodes_are_spread(void **state) {
    (void)state;
    BodySet set = {0};
    real all[3 * CUBE];
    const double centre[3] = {1, 2, 3};
    add_window(&set);
    add_cube(&set, centre, (double[]){0.01, 0, 0});
    make_cube(centre, 0.2, all);
    assert_int_equal(set.nodes, BODY_NODES);
    for (size_t i = 0; i < CUBE; i++) {
        double least = INFINITY;
        for (size_t n = 0; n < set.nodes; n++) {
            double d2 = 0;
            for (size_t c = 0; c < 3; c++) d2 += pow((double)(all[3 * i + c] - set.now[3 * n + c]), 2);
            least = fmin(least, d2);
        }
        assert_true(least < 0.11 * 0.11); // neighbours in the grid are 0.05 apart
    }
    for (size_t n = 0; n < set.nodes; n++) {
        assert_near(set.now[3 * n] - set.before[3 * n], 0.01, 1e-6);
        for (size_t m = 0; m < n; m++) assert_true(memcmp(set.now + 3 * n, set.now + 3 * m, 3 * sizeof(real)) != 0);
    }
    body_set_free(&set);
}

static void test_few_points(void **state) {
    (void)state;
    BodySet set = {0};
    BodyInputs in = {0};
    Error err;
    real x[9] = {0, 0, 0.1f, 0.1f, 0, 0.1f, 0, 0.1f, 0.1f};
    add_window(&set);
    for (size_t count = 1; count <= 3; count++) {
        assert_status_ok(body_set_add_points(&set, count, x, x, NULL, &err), err);
        assert_status_ok(body_set_add_surface(&set, count, x, &err), err);
    }
    assert_status_ok(body_set_add_surface(&set, 0, x, &err), err);
    assert_int_equal(set.nodes, 6);
    assert_int_equal(set.patches, 6);
    assert_status_ok(body_inputs_make(&set, &scales, 2, &in, &err), err);
    for (size_t i = 0; i < set.nodes * BODY_FEATURES; i++) assert_true(isfinite((double)in.feature[i]));
    body_inputs_free(&in);
    body_set_free(&set);
}

// Points of a tilted plane, with noise of 1 mm.
static void test_patches_follow_the_surface(void **state) {
    (void)state;
    enum { COUNT = BODY_PATCHES + 100 };
    static real x[3 * COUNT];
    BodySet set = {0};
    Error err;
    for (size_t i = 0; i < COUNT; i++) {
        x[3 * i] = 2 * uniform(3 * i), x[3 * i + 1] = 2 * uniform(3 * i + 1);
        x[3 * i + 2] = 0.3f * x[3 * i] + 0.002f * uniform(3 * i + 2);
    }
    add_window(&set);
    assert_status_ok(body_set_add_surface(&set, COUNT, x, &err), err);
    assert_int_equal(set.patches, BODY_PATCHES);
    double length = sqrt(1 + 0.3 * 0.3), rough = 0;
    for (size_t p = 0; p < set.patches; p++) {
        const SurfacePatch *patch = &set.patch[p];
        assert_true(fabs(fabs((double)patch->normal[2]) - 1 / length) < 0.02);
        assert_true(patch->radius > 0.03f && patch->radius < 0.6f);
        rough += (double)(patch->rough * patch->rough) / BODY_PATCHES;
    }
    // 8 points of a fitted plane show 5/8 of the variance, which is that of uniform numbers.
    assert_close(sqrt(rough), sqrt(5.0 / 8 / 12) * 0.002 / length, 3e-5, 0);
    body_set_free(&set);
}

// A plane's normal points to the body, whatever its sign and wherever the body is.
static void test_normals_point_to_the_body(void **state) {
    (void)state;
    for (int i = 0; i < 4; i++) {
        BodySet set = {0};
        BodyInputs in = {0};
        Error err;
        double side = i / 2 ? 1 : -1;
        add_window(&set);
        SurfacePatch floor = {.normal = {0, 0, i % 2 ? 1 : -1}, .radius = INFINITY};
        assert_status_ok(body_set_add_patch(&set, floor, &err), err);
        add_cube(&set, (double[]){0, 0, side * 0.11}, (double[]){0, 0, 0});
        assert_status_ok(body_inputs_make(&set, &scales, 2, &in, &err), err);
        for (size_t n = 0; n < set.nodes; n++) {
            const real *f = in.feature + BODY_FEATURES * n;
            double height = side * (double)set.now[3 * n + 2];
            if (height >= 0.15) continue;
            assert_near(f[NORMAL + 2], side, 0);
            assert_near(f[DISTANCE], height / 0.125, 1e-5);
        }
        body_inputs_free(&in);
        body_set_free(&set);
    }
}

// Two cubes whose faces are 4 cm apart and close by 2 cm a step.
static void test_gap_between_faces(void **state) {
    (void)state;
    BodySet set = {0};
    BodyInputs in = {0};
    Error err;
    size_t faces = 0;
    add_window(&set);
    add_cube(&set, (double[]){0, 0, 1}, (double[]){0, 0, 0});
    add_cube(&set, (double[]){0.24, 0, 1}, (double[]){-0.02, 0, 0});
    assert_status_ok(body_inputs_make(&set, &scales, 2, &in, &err), err);
    for (size_t i = 0, pair = 0; i < set.nodes; pair += (size_t)in.hears[i++]) {
        const real *normal = set.normal + 3 * i;
        bool second = i >= set.first_node[1];
        double out = 0, length = 0;
        for (size_t c = 0; c < 3; c++) {
            double middle = c == 2 ? 1 : c == 0 && second ? 0.24 : 0;
            length += pow((double)normal[c], 2);
            out += (double)normal[c] * ((double)set.now[3 * i + c] - middle);
        }
        assert_true(fabs(length - 1) < 1e-5 && out > 0);
        const real *g = in.geometry + BODY_GEOMETRY * pair;
        if (second || set.now[3 * i] < 0.09f || !in.hears[i] || set.normal[3 * in.heard[pair]] > -0.999f) continue;
        faces++;
        assert_near(g[ABOVE], 0.04 / 0.125, 0.02);
        assert_near(g[AWAY], -0.02 / 0.1, 0.01);
    }
    assert_true(faces > 0);
    body_inputs_free(&in);
    body_set_free(&set);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nodes_are_spread),           cmocka_unit_test(test_few_points),
        cmocka_unit_test(test_patches_follow_the_surface), cmocka_unit_test(test_normals_point_to_the_body),
        cmocka_unit_test(test_gap_between_faces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
