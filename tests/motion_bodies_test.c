// SPDX-License-Identifier: Apache-2.0
// Bodies of a motion field: how many there are, which points are theirs, and how each moved, against known motions of
// painted boxes; planes; and fields with few points, or equal ones.
#include "motion/bodies_surface.h"
#include "tests/motion_world.h"

// The error of where the body says that the thing's centre was, metres; -1 unless all its points are the body's alone.
static double centre_error(const Thing *t, size_t k, const Bodies *b) {
    int32_t body = b->body[k * SEEN];
    for (size_t j = 0; j < b->points; j++)
        if ((b->body[j] == body) != (j / SEEN == k)) return -1;
    if (body < 0) return -1;
    const Body *of = &b->list[body];
    double sum = 0;
    for (size_t c = 0; c < 3; c++) {
        double before = (double)(of->centre[c] - of->shift[c]);
        for (size_t d = 0; d < 3; d++)
            before += (double)of->turn[3 * d + c] * (t[k].centre[d] + t[k].shift[d] - (double)of->centre[d]);
        sum += (before - t[k].centre[c]) * (before - t[k].centre[c]);
    }
    return sqrt(sum);
}

static void check(const Thing *t, size_t count, double depth_error, double most) {
    World w = world_make(t, count, depth_error, 0.002);
    int32_t pixels[2 * PIXELS];
    Bodies b = {0};
    Error err = {0};
    assert_status_ok(bodies_find(&w.field, LENGTHS, &b, &err), err);
    assert_status_ok(bodies_register(&w.field, &w.now, &w.past, LENGTHS, &b, pixels, &err), err);
    assert_int_equal(b.count, count);
    for (size_t k = 0; k < count; k++) {
        double error = centre_error(t, k, &b);
        if (!(error >= 0 && error < most))
            fail_msg("body %zu: its centre is off by %g m, or points are wrong", k, error);
    }
    bodies_free(&b);
    world_free(&w);
}

static void finds_bodies_apart(void **state) {
    (void)state;
    check((Thing[]){RED, BLUE}, 2, 0, 0.001);
}

static void finds_one(void **state) {
    (void)state;
    check(&RED, 1, 0, 0.001);
}

// They meet face to face.
static void finds_bodies_that_touch(void **state) {
    (void)state;
    Thing blue = BLUE;
    for (int c = 0; c < 3; c++) blue.centre[c] = RED.centre[c];
    blue.centre[0] += RED.half[0] + blue.half[0];
    check((Thing[]){RED, blue}, 2, 0, 0.002);
}

static void same_motion_apart_is_two(void **state) {
    (void)state;
    Thing other = RED;
    other.centre[1] += 0.5;
    for (int c = 0; c < 3; c++) other.turn[c] = 0;
    Thing first = RED;
    for (int c = 0; c < 3; c++) first.turn[c] = 0;
    check((Thing[]){first, other}, 2, 0, 0.001);
}

// 400 pixels with errors of up to 4 mm: their mean is known to a fraction of that.
static void bears_noise(void **state) {
    (void)state;
    check((Thing[]){RED, BLUE}, 2, 0.004, 0.003);
}

// One or two pixels far from all others show no plane; a third does.
static void few_pixels_have_no_normal(void **state) {
    (void)state;
    for (size_t count = 1; count <= 3; count++) {
        PointCloud cloud = cloud_make(count);
        for (size_t i = 0; i < 3 * count; i++) cloud.position[i] = (real)(0.005 * noise(9, i));
        Surface surface = surface_make(count);
        assert_true(surface_ready(&surface));
        surface_fill(&surface, &cloud, &(Planes){0}, LENGTHS);
        for (size_t i = 0; i < count; i++) {
            double length2 = (double)element_dot(surface.normal + 3 * i, surface.normal + 3 * i);
            assert_close(length2, count == 3, 0, 1e-6);
            assert_true(surface.flat[i] <= 0);
        }
        surface_free(&surface);
        point_cloud_free(&cloud);
    }
}

static void few_points(void **state) {
    (void)state;
    for (size_t count = 0; count < 12; count++) { // all equal
        MotionField field;
        int32_t pixels[12];
        Bodies b = {0};
        Error err = {0};
        PointCloud cloud = cloud_make(count);
        assert_status_ok(motion_field_create(count, &field, &err), err);
        assert_status_ok(bodies_find(&field, LENGTHS, &b, &err), err);
        assert_int_equal(b.count, count > 0);
        for (size_t i = 0; i < b.count; i++)
            for (int c = 0; c < 9; c++) assert_close(b.list[i].turn[c], c % 4 == 0, 1e-6, 0);
        assert_status_ok(bodies_register(&field, &cloud, &cloud, LENGTHS, &b, pixels, &err), err);
        assert_int_equal(b.points, count);
        for (size_t i = 0; i < count; i++) assert_true(b.body[i] >= -1 && b.body[i] < (int32_t)b.count);
        bodies_free(&b);
        motion_field_free(&field);
        point_cloud_free(&cloud);
    }
}

// Two sheets side by side: the larger goes up, the other turns about the edge where they meet, so that neighbours
// across it move alike.
static void linked_bodies_are_divided(void **state) {
    (void)state;
    enum { LARGE = 60, ALL = 80 };
    MotionField field;
    Bodies b = {0};
    Error err = {0};
    assert_status_ok(motion_field_create(ALL, &field, &err), err);
    for (size_t i = 0; i < ALL; i++) {
        bool turns = i >= LARGE;
        double x = 0.01 + 0.03 * (double)((turns ? i - LARGE : i) / 4);
        field.position[3 * i] = (real)(turns ? x : -x);
        field.position[3 * i + 1] = (real)(0.03 * (double)(i % 4));
        field.motion[3 * i + 2] = (real)(turns ? 0.01 + 0.1 * x : 0.01);
        if (turns) field.gradient[9 * i + 6] = (real)0.1, field.gradient[9 * i + 2] = (real)-0.1;
    }
    assert_status_ok(bodies_find(&field, LENGTHS, &b, &err), err);
    assert_int_equal(b.count, 2);
    // Those next to the edge may go with either.
    for (size_t i = 0; i < ALL; i++)
        if (i < LARGE || i >= LARGE + 8) assert_int_equal(b.body[i], i >= LARGE);
    bodies_free(&b);
    motion_field_free(&field);
}

// A floor and a wall, on which depth errs by up to 5 mm, and a ball's worth of points in between.
static void finds_planes(void **state) {
    (void)state;
    enum { FLOOR = 500, WALL = 300, BETWEEN = 60, ALL = FLOOR + WALL + BETWEEN };
    PointCloud cloud = cloud_make(ALL);
    for (size_t i = 0; i < ALL; i++) {
        real *x = cloud.position + 3 * i;
        cloud.moving[i] = 0;
        for (size_t c = 0; c < 3; c++)
            x[c] = (real)(i < FLOOR + WALL ? noise(9, 4 * i + c) : 0.2 + 0.1 * noise(9, 4 * i + c));
        if (i < FLOOR) x[2] = (real)(0.005 * noise(9, 4 * i + 3));
        else if (i < FLOOR + WALL) x[0] = (real)(-1 + 0.005 * noise(9, 4 * i + 3));
    }
    Planes planes = planes_find(&cloud, 2);
    assert_int_equal(planes.count, 2);
    for (size_t i = 0; i < ALL; i++) {
        bool outside = i >= FLOOR + WALL;
        assert_int_equal(planes_outside(&planes, cloud.position + 3 * i), outside);
    }
    for (size_t i = 0; i < ALL; i++)
        cloud.moving[i] = i < FLOOR + WALL; // what moves shows no plane, and a ball is none
    planes = planes_find(&cloud, 2);
    assert_int_equal(planes.count, 0);
    assert_false(planes_outside(&planes, cloud.position));
    point_cloud_free(&cloud);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_one),
        cmocka_unit_test(finds_bodies_apart),
        cmocka_unit_test(finds_bodies_that_touch),
        cmocka_unit_test(same_motion_apart_is_two),
        cmocka_unit_test(bears_noise),
        cmocka_unit_test(linked_bodies_are_divided),
        cmocka_unit_test(few_pixels_have_no_normal),
        cmocka_unit_test(few_points),
        cmocka_unit_test(finds_planes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
