// SPDX-License-Identifier: Apache-2.0
// Pinhole geometry: projection undoes unprojection, poses are groups, conventions are the ones of the header.
#include "base/camera.h"
#include "base/random.h"
#include "tests/test.h"

static double uniform(uint64_t i) { return random_uniform((RandomKey){7, RANDOM_TEST, 0, 0}, i) * 2 - 1; }

static void random_pose(uint64_t seed, double pose[16]) {
    double q[4], R[9], t[3];
    for (uint64_t i = 0; i < 4; i++) q[i] = uniform(8 * seed + i);
    for (uint64_t i = 0; i < 3; i++) t[i] = 5 * uniform(8 * seed + 4 + i);
    rotation_from_quaternion(q, R);
    pose_from_rotation(R, t, pose);
}

static void assert_same(const double *a, const double *b, int count) {
    for (int i = 0; i < count; i++) assert_close(a[i], b[i], 1e-12, 0); // a few roundings of numbers near 1
}

static void test_project_unproject(void **state) {
    (void)state;
    const double K[9] = {110, 0.5, 31, 0, 95, 25, 0, 0, 1};
    for (uint64_t i = 0; i < 50; i++) {
        double pose[16], inverse[16], point[3], xy[2], x = 32 + 30 * uniform(1000 + i), y = 24 + 20 * uniform(2000 + i);
        random_pose(i, pose);
        pose_inverse(pose, inverse);
        camera_unproject_world(K, pose, x, y, 2.5, point);
        pose_apply(inverse, point, point);
        assert_close(camera_project(K, point, xy), 2.5, 1e-12, 0);
        assert_close(xy[0], x, 1e-10, 0); // pixels of size 1/100 m at 2.5 m
        assert_close(xy[1], y, 1e-10, 0);
    }
    double untouched[2] = {-7, -7};
    assert_true(camera_project(K, (double[]){1, 1, -2}, untouched) == -2 && untouched[0] == -7);
}

static void test_poses(void **state) {
    (void)state;
    static const double points[4][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    double pose[16], inverse[16], moved[3], flipped[16], error, determinant;
    for (uint64_t i = 0; i < 20; i++) {
        random_pose(i, pose);
        pose_inverse(pose, inverse);
        for (int p = 0; p < 4; p++) { // four points that span space
            pose_apply(pose, points[p], moved);
            pose_apply(inverse, moved, moved);
            assert_same(moved, points[p], 3);
        }
        assert_true(pose_rotation_error(pose, &error, &determinant));
        assert_close(error, 0, 1e-12, 0);
        assert_close(determinant, 1, 1e-12, 0);
        pose_flip_opengl(pose, flipped);
        pose_flip_opengl(flipped, flipped);
        assert_same(flipped, pose, 16);
    }
    pose[0] = NAN;
    assert_false(pose_rotation_error(pose, &error, &determinant));
    random_pose(1, pose);
    for (int i = 0; i < 3; i++) pose[4 * i] = -pose[4 * i];
    assert_true(pose_rotation_error(pose, &error, &determinant));
    assert_close(determinant, -1, 1e-12, 0);
    pose[12] = 1;
    assert_false(pose_rotation_error(pose, &error, &determinant));
}

// 90 degrees about z takes x to y.
static void test_quaternion(void **state) {
    (void)state;
    double R[9];
    const double quarter[9] = {0, -1, 0, 1, 0, 0, 0, 0, 1};
    rotation_from_quaternion((double[]){2, 0, 0, 2}, R);
    assert_same(R, quarter, 9);
}

static void test_look_at(void **state) {
    (void)state;
    double pose[16], inverse[16], point[3], xy[2], K[9], error, determinant;
    const double eye[3] = {3, 1, 2}, target[3] = {0, 0.5, 0.2}, up[3] = {0, 0, 1};
    camera_intrinsics_from_fov(1.2, 48, 64, K);
    assert_true(camera_look_at(eye, target, up, pose));
    assert_true(pose_rotation_error(pose, &error, &determinant));
    assert_close(determinant, 1, 1e-12, 0);
    pose_inverse(pose, inverse);
    pose_apply(inverse, target, point);
    camera_project(K, point, xy);
    assert_close(xy[0], 32, 1e-9, 0);
    assert_close(xy[1], 24, 1e-9, 0);
    pose_apply(inverse, (double[]){0, 0.5, 1.2}, point); // above the target: higher in the image
    camera_project(K, point, xy);
    assert_true(xy[1] < 24);
    assert_false(camera_look_at(eye, (double[]){3, 1, 9}, up, pose));
    assert_false(camera_look_at(eye, eye, up, pose));
}

// A resized picture sees the same directions at the same relative positions.
static void test_resize(void **state) {
    (void)state;
    const double K[9] = {500, 0, 320.5, 0, 510, 240.25, 0, 0, 1};
    double small[9], a[3], b[3];
    camera_resize_intrinsics(K, 480, 640, 120, 320, small);
    camera_unproject(K, 100, 300, 1, a);
    camera_unproject(small, 50, 75, 1, b);
    assert_same(a, b, 3);
    double wide[9];
    camera_intrinsics_from_fov(1.0, 100, 200, wide);
    camera_unproject(wide, 200, 50, 1, a);
    assert_close(atan(a[0]), 0.5, 1e-12, 0);
}

// The closeness test above must see a pose that is off by a hair.
static void test_planted_error(void **state) {
    (void)state;
    double pose[16], error, determinant;
    random_pose(3, pose);
    pose[5] += 1e-6;
    assert_true(pose_rotation_error(pose, &error, &determinant));
    assert_false(test_close(error, 0, 1e-12, 0));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_project_unproject), cmocka_unit_test(test_poses),  cmocka_unit_test(test_quaternion),
        cmocka_unit_test(test_look_at),           cmocka_unit_test(test_resize), cmocka_unit_test(test_planted_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
