// SPDX-License-Identifier: Apache-2.0
// Bodies stay outside surfaces that stand still and each other.
#include "bodies/outside.h"
#include "tests/test.h"

#include <math.h>
#include <string.h>

enum { CORNERS = 8 };
static const BodyScales SCALES = {.reach = 0.12f, .length = 0.1f, .speed = 0.08f, .step = 0.04f, .still = 0.002f};

// A cube with a side of 0.2 m: four corners are nodes, and if `hull` all eight are its hull.
static void add_cube(BodySet *set, const double middle[3], bool hull) {
    real x[3 * CORNERS];
    size_t row;
    Error err;
    for (size_t i = 0; i < CORNERS; i++)
        for (size_t c = 0; c < 3; c++) x[3 * i + c] = (real)(middle[c] + (i >> c & 1 ? 0.1 : -0.1));
    assert_status_ok(body_set_add_body(set, CORNERS / 2, &row, &err), err);
    memcpy(set->now + 3 * row, x + 3 * CORNERS / 2, 3 * CORNERS / 2 * sizeof *x); // the upper ones
    memcpy(set->before + 3 * row, x + 3 * CORNERS / 2, 3 * CORNERS / 2 * sizeof *x);
    if (hull) assert_status_ok(body_set_add_hull(set, CORNERS, x, &err), err);
}

static void add_plane(BodySet *set, real height, real rough) {
    Error err;
    SurfacePatch floor = {.position = {0, 0, height}, .normal = {0, 0, 1}, .radius = INFINITY, .rough = rough};
    assert_status_ok(body_set_add_patch(set, floor, &err), err);
}

static RigidMotion shifted(const BodySet *set, size_t b, double x, double y, double z) {
    size_t first = set->first_node[b];
    RigidMotion motion = rigid_motion_fit(set->first_node[b + 1] - first, set->now + 3 * first, set->now + 3 * first);
    motion.to[0] += x, motion.to[1] += y, motion.to[2] += z;
    return motion;
}

static double moved(const RigidMotion *motion, int c) { return motion->to[c] - motion->from[c]; }

// Cubes above the floor, with a hull and without, that fall by 0.05 m.
static double fall_on(double rough, double height, double by, bool hull) {
    BodySet set = {0};
    Error err;
    assert_status_ok(body_set_add_window(&set, &err), err);
    add_cube(&set, (double[]){0.3, 0, height}, hull);
    add_plane(&set, 0, (real)rough);
    RigidMotion motion = shifted(&set, 0, 0.01, 0, by);
    bodies_stay_outside(&set, &SCALES, 2, &motion);
    assert_close(moved(&motion, 0), 0.01, 1e-6, 0); // only along the normal
    double down = moved(&motion, 2);
    body_set_free(&set);
    return down;
}

static double fall(double height, double by, bool hull) { return fall_on(0, height, by, hull); }

static void test_surfaces(void **state) {
    (void)state;
    assert_close(fall(0.2, -0.05, true), -0.05, 1e-6, 0);    // it does not reach the floor
    assert_close(fall(0.13, -0.05, true), -0.03, 1e-6, 0);   // it comes to lie on it
    assert_close(fall(0.13, -0.05, false), -0.05, 1e-6, 0);  // its lower side is not known,
    assert_close(fall(-0.08, -0.05, false), -0.02, 1e-6, 0); // but its nodes stay above
    assert_close(fall(0.09, -0.05, true), 0, 1e-6, 0);       // 1 cm inside: no deeper, and not thrown out
    assert_close(fall(0.09, 0.02, true), 0.02, 1e-6, 0);
}

// Noise of 4 mm: points may be 12 mm behind the floor.
static void test_rough_surfaces(void **state) {
    (void)state;
    assert_close(fall_on(0.004, 0.13, -0.05, true), -0.042, 1e-6, 0);
    assert_close(fall_on(0.004, 0.09, -0.05, true), -0.002, 1e-6, 0);
    assert_close(fall_on(0.004, 0.08, -0.05, true), 0, 1e-6, 0);
}

// Two cubes whose middles are 0.3 m apart and come closer by `each` from both sides; how far the first goes.
static double meet(double each, bool hull, double *second) {
    BodySet set = {0};
    Error err;
    assert_status_ok(body_set_add_window(&set, &err), err);
    add_cube(&set, (double[]){0, 0, 1}, hull);
    add_cube(&set, (double[]){0.3, 0, 1}, hull);
    RigidMotion motion[2] = {shifted(&set, 0, each, 0, 0), shifted(&set, 1, -each, 0, 0)};
    bodies_stay_outside(&set, &SCALES, 2, motion);
    double first = moved(&motion[0], 0);
    *second = moved(&motion[1], 0);
    assert_close(moved(&motion[1], 2), 0, 1e-6, 0);
    body_set_free(&set);
    return first;
}

static void test_each_other(void **state) {
    (void)state;
    double second;
    assert_close(meet(0.04, true, &second), 0.04, 1e-6, 0);  // 2 cm stay between them
    assert_close(meet(0.065, true, &second), 0.05, 1e-6, 0); // they would be 3 cm in each other: half for each
    assert_close(second, -0.05, 1e-6, 0);
    assert_close(meet(0.065, false, &second), 0.065, 1e-6, 0); // their sides are not known
}

// What is driven does not give way, neither to another body nor to the floor, and none gives way to it but by what the
// network says.
static void test_driven(void **state) {
    (void)state;
    for (int other = 0; other < 2; other++) {
        BodySet set = {0};
        Error err;
        assert_status_ok(body_set_add_window(&set, &err), err);
        add_plane(&set, 0, 0);
        add_cube(&set, (double[]){0, 0, 0.13}, true);
        add_cube(&set, (double[]){0.3, 0, 0.13}, true);
        RigidMotion motion[2] = {shifted(&set, 0, 0.065, 0, -0.05), shifted(&set, 1, -0.065, 0, -0.05)};
        const RigidMotion given = motion[other];
        set.given[other] = &given;
        bodies_stay_outside(&set, &SCALES, 2, motion);
        assert_close(moved(&motion[0], 0), 0.065, 1e-6, 0);
        assert_close(moved(&motion[1], 0), -0.065, 1e-6, 0);
        assert_close(moved(&motion[other], 2), -0.05, 1e-6, 0);
        assert_close(moved(&motion[!other], 2), -0.03, 1e-6, 0);
        body_set_free(&set);
    }
}

// What is inside another body now may stay so.
static void test_no_deeper(void **state) {
    (void)state;
    BodySet set = {0};
    Error err;
    assert_status_ok(body_set_add_window(&set, &err), err);
    add_cube(&set, (double[]){0, 0, 1}, true);
    add_cube(&set, (double[]){0.15, 0, 1}, true);
    RigidMotion motion[2] = {shifted(&set, 0, 0, 0, 0), shifted(&set, 1, 0, 0, 0)};
    bodies_stay_outside(&set, &SCALES, 2, motion);
    for (int b = 0; b < 2; b++) assert_close(moved(&motion[b], 0), 0, 1e-6, 0);
    motion[1].to[0] -= 0.02;
    bodies_stay_outside(&set, &SCALES, 2, motion);
    assert_close(moved(&motion[0], 0), -0.01, 1e-6, 0);
    assert_close(moved(&motion[1], 0), -0.01, 1e-6, 0);
    body_set_free(&set);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_surfaces), cmocka_unit_test(test_rough_surfaces), cmocka_unit_test(test_each_other),
        cmocka_unit_test(test_driven),   cmocka_unit_test(test_no_deeper),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
