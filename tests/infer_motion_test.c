// SPDX-License-Identifier: Apache-2.0
// Motion of particles against true object motion, on cases whose answers are known.
#include "base/camera.h"
#include "infer/motion.h"
#include "tests/test.h"

enum { PER_OBJECT = 20, OBJECTS = 2, FLOOR = 10, N = PER_OBJECT * OBJECTS + FLOOR };

typedef struct Scene {
    float before[3 * N], after[3 * N];
    uint16_t object[N];
    double position0[3 * OBJECTS], position1[3 * OBJECTS], quaternion0[4 * OBJECTS], quaternion1[4 * OBJECTS];
} Scene;

static MotionStep step_of(const Scene *scene) {
    return (MotionStep){N,
                        OBJECTS,
                        scene->before,
                        scene->after,
                        scene->object,
                        scene->position0,
                        scene->position1,
                        scene->quaternion0,
                        scene->quaternion1,
                        NULL,
                        {0, 0, 1}};
}

// Two objects that fly, fall and turn, seen from one side (the particles' mean is not the centre), and a floor.
// `scale` times the true motion is what the particles do.
static void make_scene(Scene *scene, double scale) {
    const double from[6] = {0.1, 0.2, 0.5, -0.3, 0, 0.4}, to[6] = {0.4, 0.1, 0.3, -0.3, 0.25, 0.1};
    memset(scene, 0, sizeof *scene);
    for (int k = 0; k < OBJECTS; k++) {
        double R[9], q0[4] = {1, 0.2, -0.3, 0.1 * k}, q1[4] = {0.5, 0.7, 0.1 + k, -0.6};
        double R0[9], R1[9];
        memcpy(scene->quaternion0 + 4 * k, q0, sizeof q0);
        memcpy(scene->quaternion1 + 4 * k, q1, sizeof q1);
        memcpy(scene->position0 + 3 * k, from + 3 * k, 3 * sizeof(double));
        memcpy(scene->position1 + 3 * k, to + 3 * k, 3 * sizeof(double));
        rotation_from_quaternion(q0, R0);
        rotation_from_quaternion(q1, R1);
        for (int i = 0; i < 9; i++)
            R[i] = R1[i / 3 * 3] * R0[i % 3 * 3] + R1[i / 3 * 3 + 1] * R0[i % 3 * 3 + 1] +
                   R1[i / 3 * 3 + 2] * R0[i % 3 * 3 + 2];
        for (int j = 0; j < PER_OBJECT; j++) {
            int i = k * PER_OBJECT + j;
            double r[3] = {0.1 * sin(j), 0.1 * cos(2.3 * j), 0.05 + 0.04 * sin(0.7 * j)};
            scene->object[i] = (uint16_t)(k + 1);
            for (int c = 0; c < 3; c++) {
                double y = to[3 * k + c] + R[3 * c] * r[0] + R[3 * c + 1] * r[1] + R[3 * c + 2] * r[2];
                double x = from[3 * k + c] + r[c];
                scene->before[3 * i + c] = (float)x;
                scene->after[3 * i + c] = (float)(x + scale * (y - x));
            }
        }
    }
    for (int i = N - FLOOR; i < N; i++) {
        scene->before[3 * i] = scene->after[3 * i] = (float)i * 0.1f;
        scene->after[3 * i + 1] = 0.003f * (float)(i - (N - FLOOR)); // mean 1.35 cm
    }
}

static void test_perfect(void **state) {
    (void)state;
    Scene scene;
    MotionTally tally = {0};
    make_scene(&scene, 1);
    MotionStep step = step_of(&scene);
    assert_true(motion_add(&tally, &step));
    assert_int_equal(tally.error.count, 2);
    assert_close(mean_value(&tally.error), 0, 1e-7, 0); // places are floats
    assert_close(mean_value(&tally.point_error), 0, 2e-7, 0);
    assert_close(mean_value(&tally.spread), 0, 2e-7, 0);
    assert_close(mean_value(&tally.floor_drift), 0.0135, 1e-7, 0);
    assert_int_equal(tally.floor_drift.count, FLOOR);
    assert_close(line_fit_slope(&tally.horizontal), 1, 1e-6, 0);
    assert_close(line_fit_slope(&tally.vertical), 1, 1e-6, 0);
    assert_close(line_fit_correlation(&tally.horizontal), 1, 1e-6, 0);
    assert_close(mean_value(&tally.centre_error), 0, 1e-6, 0); // though particles lie on one side of a body that turns
    assert_close(mean_value(&tally.centre_motion), (sqrt(0.14) + sqrt(0.1525)) / 2, 1e-9, 0);
    assert_int_equal(tally.horizontal.count, 4);
    assert_int_equal(tally.vertical.count, 2);
}

// The motion of an object that was given says nothing.
static void test_given(void **state) {
    (void)state;
    Scene scene;
    MotionTally tally = {0}, all = {0};
    const IntList given = {.count = 1, .v = {1}};
    make_scene(&scene, 0.5);
    MotionStep step = step_of(&scene);
    assert_true(motion_add(&all, &step));
    step.given = &given;
    assert_true(motion_add(&tally, &step));
    assert_int_equal(tally.error.count, 1);
    assert_close(mean_value(&tally.centre_motion), sqrt(0.14), 1e-9, 0); // of object 0
    assert_true(tally.floor_drift.count == all.floor_drift.count && tally.unseen == 0);
}

static void test_half_the_motion(void **state) {
    (void)state;
    Scene scene;
    MotionTally tally = {0};
    make_scene(&scene, 0.5);
    MotionStep step = step_of(&scene);
    assert_true(motion_add(&tally, &step));
    assert_close(line_fit_slope(&tally.horizontal), 0.5, 1e-6, 0);
    assert_close(line_fit_slope_centred(&tally.vertical), 0.5, 1e-5, 0);
    assert_close(mean_value(&tally.error), 0.5 * mean_value(&tally.true_motion), 1e-7, 0);
    assert_true(mean_value(&tally.spread) > 0.001); // half a rotation, linearly: no rigid motion
}

// Particles that go with the centres of objects that turn, as a model does that cannot see balls of one colour turn.
static void test_turning_unseen(void **state) {
    (void)state;
    Scene scene;
    MotionTally tally = {0};
    make_scene(&scene, 0);
    for (int i = 0; i < OBJECTS * PER_OBJECT; i++)
        for (int c = 0; c < 3; c++) {
            int at = 3 * (i / PER_OBJECT) + c;
            scene.after[3 * i + c] += (float)(scene.position1[at] - scene.position0[at]);
        }
    MotionStep step = step_of(&scene);
    assert_true(motion_add(&tally, &step));
    assert_close(mean_value(&tally.centre_error), 0, 1e-6, 0);
    assert_true(mean_value(&tally.error) > 0.01);
}

// An object that falls straight down by 0.3 m, predicted to slide 0.4 m along x and fall 0.6 m; y is up.
static void test_up_axis(void **state) {
    (void)state;
    Scene scene;
    MotionTally tally = {0};
    make_scene(&scene, 0);
    MotionStep step = step_of(&scene);
    memcpy(step.up, (double[]){0, 1, 0}, sizeof step.up);
    step.objects = 1;
    step.quaternion0 = step.quaternion1 = NULL;
    memcpy(scene.position1, scene.position0, sizeof scene.position0);
    scene.position1[1] -= 0.3;
    for (int i = 0; i < PER_OBJECT; i++) {
        scene.after[3 * i] += 0.4f;
        scene.after[3 * i + 1] -= 0.6f;
    }
    assert_true(motion_add(&tally, &step));
    assert_close(mean_value(&tally.error), 0.5, 1e-6, 0);
    assert_close(mean_value(&tally.centre_error), 0.5, 1e-6, 0);
    assert_close(line_fit_slope(&tally.vertical), 2, 1e-5, 0);
    assert_true(isnan(line_fit_slope(&tally.horizontal))); // nothing moved sideways in truth
    assert_close(tally.horizontal.yy, 0.16, 1e-6, 0);
    assert_int_equal(tally.ignored, PER_OBJECT); // the particles of object 2, which has no pose here
}

static void test_counts(void **state) {
    (void)state;
    Scene scene;
    MotionTally tally = {0};
    make_scene(&scene, 1);
    for (int i = 0; i < PER_OBJECT; i++) scene.object[i] = 0;                  // object 1 is seen nowhere
    for (int i = PER_OBJECT + 3; i < 2 * PER_OBJECT; i++) scene.object[i] = 0; // object 2 by three particles
    MotionStep step = step_of(&scene);
    assert_true(motion_add(&tally, &step));
    assert_int_equal(tally.unseen, 1);
    assert_int_equal(tally.error.count, 1);
    assert_int_equal(tally.spread.count, 0);
    assert_true(isnan(mean_value(&tally.spread)));
    double once = mean_value(&tally.true_motion);
    assert_true(motion_add(&tally, &step));
    assert_int_equal(tally.error.count, 2);
    assert_int_equal(tally.unseen, 2);
    assert_int_equal(tally.vertical.count, 2);
    assert_close(mean_value(&tally.true_motion), once, 1e-12, 0);
    scene.after[0] = NAN;
    assert_false(motion_add(&tally, &step));
    assert_int_equal(tally.rejected, 1);
    assert_int_equal(tally.error.count, 2);
}

// Reference: numpy's SVD (Kabsch with the sign of the determinant).
static void test_rigid_residual(void **state) {
    (void)state;
    float a[36], b[36];
    uint16_t object[12];
    RigidFit out;
    for (int i = 0; i < 12; i++) {
        const double p[3] = {sin(i * 1.3), cos(i * 2.1) * 0.7, sin(i * 0.7 + 1) * 0.4};
        const double q[3] = {cos(i * 1.1) * 0.3, sin(i * 1.9) * 0.5, cos(i * 0.5) * 0.8};
        for (int c = 0; c < 3; c++) {
            a[3 * i + c] = (float)p[c];
            b[3 * i + c] = (float)q[c];
        }
        object[i] = 7;
    }
    assert_true(motion_fit_rigid(a, b, object, 12, 7, &out));
    assert_close(out.residual, 0.922076899, 1e-7, 0);
    for (int i = 0; i < 36; i++) b[i] = i % 3 == 2 ? -a[i] : a[i]; // a mirror image is not a rigid motion
    assert_true(motion_fit_rigid(a, b, object, 12, 7, &out));
    assert_close(out.residual, 0.568149245, 1e-7, 0);
    assert_false(motion_fit_rigid(a, b, object, 12, 6, &out));
    assert_false(motion_fit_rigid(a, b, object, 3, 7, &out));
}

// A planted error: a model that only falls must not look like one that moves.
static void test_planted_error(void **state) {
    (void)state;
    Scene scene;
    MotionTally tally = {0};
    make_scene(&scene, 1);
    for (int i = 0; i < N; i++) {
        scene.after[3 * i] = scene.before[3 * i];
        scene.after[3 * i + 1] = scene.before[3 * i + 1];
    }
    MotionStep step = step_of(&scene);
    assert_true(motion_add(&tally, &step));
    assert_close(line_fit_slope(&tally.horizontal), 0, 1e-6, 0);
    assert_close(line_fit_slope(&tally.vertical), 1, 1e-6, 0);
    assert_true(mean_value(&tally.error) > 0.1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_perfect),         cmocka_unit_test(test_given),
        cmocka_unit_test(test_half_the_motion), cmocka_unit_test(test_up_axis),
        cmocka_unit_test(test_counts),          cmocka_unit_test(test_rigid_residual),
        cmocka_unit_test(test_planted_error),   cmocka_unit_test(test_turning_unseen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
