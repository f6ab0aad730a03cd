// SPDX-License-Identifier: Apache-2.0
// Which way is up, from the cameras alone: rings, pairs, single cameras and cameras that look straight down, in worlds
// with any axis up, and hands that do not hold a camera level.
#include "base/camera.h"
#include "base/camera_rig.h"
#include "base/random.h"
#include "tests/test.h"

enum { POSE = 16 * sizeof(double) };

static double uniform(uint64_t i) { return random_uniform((RandomKey){7, RANDOM_TEST, 0, 0}, i) * 2 - 1; }

// A camera at this azimuth and elevation, in radians, at distance 2 of the origin, rolled about its axis. The world's
// axis number `axis` is up, or down (sign -1).
static void place(double azimuth, double elevation, double roll, int axis, double sign, double pose[16]) {
    double r[3] = {cos(elevation) * cos(azimuth), cos(elevation) * sin(azimuth), sin(elevation)};
    double x[3] = {-sin(azimuth), cos(azimuth), 0}, y[3], z[3], R[9], t[3];
    for (int c = 0; c < 3; c++) z[c] = -r[c];
    for (int c = 0; c < 3; c++) y[c] = z[(c + 1) % 3] * x[(c + 2) % 3] - z[(c + 2) % 3] * x[(c + 1) % 3];
    for (int c = 0; c < 3; c++) {
        int to = (c + axis + 1) % 3;  // the third axis becomes `axis`
        double s = c == 0 ? 1 : sign; // a half turn about the first axis
        R[3 * to] = s * (cos(roll) * x[c] + sin(roll) * y[c]);
        R[3 * to + 1] = s * (cos(roll) * y[c] - sin(roll) * x[c]);
        R[3 * to + 2] = s * z[c];
        t[to] = s * 2 * r[c];
    }
    pose_from_rotation(R, t, pose);
}

// Degrees between the found direction and the true one.
static double error_of(const double *poses, size_t count, int axis, double sign) {
    double up[3];
    camera_rig_up(poses, count, POSE, up);
    assert_close(up[0] * up[0] + up[1] * up[1] + up[2] * up[2], 1, 1e-12, 0);
    return acos(fmin(fmax(sign * up[axis], -1), 1)) * 57.29578;
}

// Level cameras leave no error but the little that decides the sign; 0.1 degrees is a tenth of what a table could show.
static void test_level(void **state) {
    (void)state;
    static const double cases[][2] = {{0, 0.6}, {2.1, 0.6}, {4.2, 0.3}, {0.35, 1.2}}; // azimuth, elevation
    for (int axis = 0; axis < 3; axis++)
        for (double sign = -1; sign <= 1; sign += 2) {
            double poses[4][16];
            for (int i = 0; i < 4; i++) place(cases[i][0], cases[i][1], 0, axis, sign, poses[i]);
            assert_true(error_of(poses[0], 4, axis, sign) < 0.1);
            assert_true(error_of(poses[0], 2, axis, sign) < 0.1);
            assert_true(error_of(poses[0], 1, axis, sign) < 1e-6); // one: the nearest axis
            place(0.05, 0.6, 0, axis, sign, poses[1]);
            assert_true(error_of(poses[0], 2, axis, sign) < 1e-6); // a stereo pair
        }
}

static void test_straight_down(void **state) {
    (void)state;
    double poses[3][16];
    for (int i = 0; i < 3; i++) place(0.3 + 2 * i, 1.5707963, 0, 1, 1, poses[i]);
    assert_true(error_of(poses[0], 3, 1, 1) < 0.1);
    place(1.2, 0.4, 0, 1, 1, poses[1]); // one of them from the side
    assert_true(error_of(poses[0], 3, 1, 1) < 0.1);
}

// Whether the cameras leave a choice.
static void test_choice(void **state) {
    (void)state;
    double poses[4][16], up[3];
    for (int i = 0; i < 4; i++) place(2.1 * i, 0.6, 0.1, 1, 1, poses[i]);
    assert_true(camera_rig_up(poses[0], 4, POSE, up));
    assert_true(camera_rig_up(poses[0], 2, POSE, up));
    assert_false(camera_rig_up(poses[0], 1, POSE, up));
    for (int i = 0; i < 4; i++) place(0.05 * i, 0.6, 0, 1, 1, poses[i]); // side by side
    assert_false(camera_rig_up(poses[0], 4, POSE, up));
    for (int i = 0; i < 4; i++) place(2.1 * i, 0.6, 1.5707963, 1, 1, poses[i]); // all on their side
    assert_false(camera_rig_up(poses[0], 4, POSE, up));
    for (int i = 0; i < 4; i++) place(2.1 * i, 0.6, 1.3 * i, 1, 1, poses[i]); // in an arm's hand
    assert_false(camera_rig_up(poses[0], 4, POSE, up));
}

// Rolls of up to 10 degrees: their mean is what remains.
static void test_hand_held(void **state) {
    (void)state;
    double poses[40][16];
    for (int i = 0; i < 40; i++) place(0.05 * i, 0.5, 0.17 * uniform((uint64_t)i), 2, 1, poses[i]);
    assert_true(error_of(poses[0], 40, 2, 1) < 5);
}

// The same through a stride, and a frame of the first camera, as recordings of one sensor often have.
static void test_strides(void **state) {
    (void)state;
    struct {
        double before, pose[16], after[3];
    } cameras[3] = {{0}};
    double up[3], identity[16], focus[3];
    for (int i = 0; i < 3; i++) place(2 * i, 0.5, 0, 1, 1, cameras[i].pose);
    camera_rig_up(cameras[0].pose, 3, sizeof cameras[0], up);
    assert_close(up[1], 1, 1e-6, 0);
    camera_rig_focus(cameras[0].pose, 3, sizeof cameras[0], focus);
    for (int c = 0; c < 3; c++) assert_close(focus[c], 0, 1e-9, 0);
    pose_identity(identity);
    camera_rig_up(identity, 1, POSE, up);
    assert_true(up[0] == 0 && up[1] == -1 && up[2] == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_level), cmocka_unit_test(test_straight_down),
                                       cmocka_unit_test(test_choice), cmocka_unit_test(test_hand_held),
                                       cmocka_unit_test(test_strides)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
