// SPDX-License-Identifier: Apache-2.0
// Angular springs and motors of hinges: closed forms, what is kept, gradients, the stable bound, and what is refused.
#include "tests/lab_hinge.h"

// The angle of a torsional pendulum at any amplitude, and about any angle of rest, that beyond half a turn too.
static void test_pendulum(void **state) {
    static const struct { double angle, spin; } cases[] = {{0, 1}, {0, 20}, {60, 15}, {-120, -10}, {179, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const double stiffness = 3, rate = sqrt(stiffness / INERTIA), rest = cases[i].angle * M_PI / 180;
        char text[1024];
        double now = 0, most = 0;
        Movie m;
        snprintf(text, sizeof text,
                 "frames: 300\ngravity: [0, 0, 0]\n" HEAD "objects:\n" POST ROD("position: [0, 0, 1], spin: [0, %g, 0]")
                     PIN("stiffness: %g, angle: %g"),
                 cases[i].spin, stiffness, cases[i].angle);
        movie_play(&m, text);
        for (size_t f = 1; f < m.frames; f++) {
            const double t = (double)f / 200;
            now = turned(&m, f, now);
            most = fmax(most, fabs(now));
            assert_close(now, rest - rest * cos(rate * t) + cases[i].spin / rate * sin(rate * t), 5e-3, 0);
        }
        print_message("up to %.0f degrees\n", most * 180 / M_PI);
        movie_end(&m);
    }
}

// A damped motor comes to rest where its torque is that of the spring: of a torque, of a target, and of both.
static void test_static(void **state) {
    static const struct {
        const char *joint, *control;
        double angle;
    } cases[] = {{"stiffness: 4, damping: 1", "torque: 2", 0.5},
                 {"stiffness: 4, damping: 1", "torque: -8", -2},
                 {"stiffness: 40, damping: 4", "angle: 150", 150 * M_PI / 180},
                 {"stiffness: 40, damping: 4, angle: -100", "angle: 30", -70 * M_PI / 180},
                 {"stiffness: 40, damping: 4, angle: 100", "angle: 120, torque: 10", 220 * M_PI / 180 + 0.25}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[1024];
        Movie m;
        snprintf(text, sizeof text,
                 "frames: 800\ngravity: [0, 0, 0]\n" HEAD "objects:\n" POST ROD("position: [0, 0, 1]") PIN("%s")
                     ACT("%s"),
                 cases[i].joint, cases[i].control);
        movie_play(&m, text);
        assert_close(last_angle(&m), cases[i].angle, 0, 1e-5);
        movie_end(&m);
    }
}

// A servo holds a level arm against gravity: stiffness times its sag is weight times lever.
static void test_servo(void **state) {
    const double lever = 0.27, weight = 2 * 9.81;
    (void)state;
    for (int k = 0; k < 3; k++) {
        const double stiffness = 30 * (k + 1);
        char text[1024];
        double sag = 0;
        Movie m;
        snprintf(text, sizeof text,
                 "frames: 800\n" HEAD "objects:\n" POST ROD("position: [0.27, 0, 1]") PIN("stiffness: %g, damping: 3"),
                 stiffness);
        movie_play(&m, text);
        for (int n = 0; n < 50; n++) sag = weight * lever * cos(sag) / stiffness;
        assert_close(last_angle(&m), sag, 0, 1e-3); // the springs of the joint give way, too
        movie_end(&m);
    }
}

// Without stiffness damping brings a motor to its speed, on and on; with it, the angle of rest moves and then stays.
static void test_speed(void **state) {
    Movie m;
    double now = 0, when = 0;
    (void)state;
    movie_play(&m, "frames: 400\ngravity: [0, 0, 0]\n" HEAD "objects:\n" POST ROD("position: [0, 0, 1]")
                       PIN("damping: 0.5") ACT("speed: 500"));
    for (size_t f = 1; f < m.frames; f++) {
        const double rate = 0.5 / INERTIA, speed = 500 * M_PI / 180;
        now = turned(&m, f, now), when = (double)f / 200;
        assert_close(now, speed * (when - (1 - exp(-rate * when)) / rate), 0.02, 2e-3);
    }
    assert_true(now > 4 * M_PI);
    movie_end(&m);
    movie_play(&m, "frames: 600\ngravity: [0, 0, 0]\n" HEAD "objects:\n" POST ROD("position: [0, 0, 1]")
                       PIN("stiffness: 50, damping: 2") "controls: [{joint: pin, speed: 100, from: 20, to: 220}]\n");
    assert_close(turned(&m, 180, 1.3), 80 * M_PI / 180, 0, 2e-3); // it keeps up
    assert_close(last_angle(&m), 100 * M_PI / 180, 0, 1e-5);
    movie_end(&m);
}

// Two objects in free flight: a torque acts on both, opposite ways; an undamped spring keeps the energy, too.
static void test_kept(void **state) {
    double before[6], after[6], energy[2], most = 0;
    (void)state;
    for (int k = 0; k < 2; k++) {
        char text[2048];
        Movie m;
        snprintf(text, sizeof text,
                 "frames: 200\ngravity: [0, 0, 0]\nfps: 200\nsubsteps: %d\nprecision: f64\nobjects:\n" FREE ROD(
                     "position: [0.25, 0.02, 1.01], velocity: [0.1, 0.2, 0]") "%s",
                 k ? 40 : 400,
                 k ? FREE_PIN "stiffness: 2, damping: 0.1, k_d: 3}}\n" ACT("torque: 3, from: 20, to: 120")
                   : FREE_PIN "stiffness: 20, angle: 30}}\n");
        movie_play(&m, text);
        momenta(&m, 0, before);
        momenta(&m, 200, after);
        for (int c = 0; c < 6; c++) assert_close(after[c], before[c], 1e-9, 0);
        for (size_t f = 0; f < m.frames && !k; f++) {
            energy[f > 0] = movie_energy(&m, f);
            most = fmax(most, fabs(energy[f > 0] - energy[0]));
        }
        if (!k) print_message("%g J at the start, off by %g\n", energy[0], most / energy[0]);
        if (!k) assert_true(most < 2e-3 * energy[0]);
        movie_end(&m);
    }
}

#define CHAIN                                                                                                          \
    "frames: 5\nfps: 30\nsubsteps: 200\nobjects:\n" POST ROD(                                                          \
        "position: [0.27, 0, 1], spin: [0, 2, 1]") "  hand: {box: {size: [0.1, 0.04, 0.03], cells: [1, 1, 1]}, mass: " \
                                                   "0.5, rigid: yes, position: [0.58, 0, 1]}\n"                        \
                                                   "joints:\n"                                                         \
                                                   "  hip: {between: [post, rod], kind: hinge, axis: [0, 1, 0], at: "  \
                                                   "[0, 0, 1], k_e: 3e4, k_d: 20, stiffness: 30, "                     \
                                                   "damping: 1, angle: 170}\n"                                         \
                                                   "  knee: {between: [hand, rod], kind: hinge, axis: [0, 1, 1], at: " \
                                                   "[0.53, 0, 1], k_e: 2e4, k_d: 10, damping: "                        \
                                                   "0.2}\n"                                                            \
                                                   "controls:\n  - {joint: hip, angle: -120, from: 1, to: 4}\n  - "    \
                                                   "{joint: hip, speed: 90}\n"                                         \
                                                   "  - {joint: knee, torque: 0.5, from: 2}\n"

static void test_gradients(void **state) {
    static const char *const names[] = {"joints.hip.stiffness", "joints.hip.damping", "joints.hip.angle",
                                        "joints.hip.axis.x", "joints.hip.at.x"};
    (void)state;
    movie_check_gradients(CHAIN);
    movie_check_names(CHAIN, names, sizeof names / sizeof *names);
}

// The bound knows angular springs, also of an object that is long and thin: quiet a little below it, and not above.
static void test_stable_step(void **state) {
    static const char *const joints[] = {"k_e: 1e3, stiffness: 1e4", "k_e: 1e3, damping: 3e2",
                                         "k_e: 1e5, stiffness: 30"};
    (void)state;
    for (int k = 0; k < 3; k++)
        for (int both = 0; both < 2; both++) {
            char text[2048];
            snprintf(text, sizeof text,
                     "%s" ROD("position: [0.27, 0, 1]") "joints: {pin: {between: [%s, rod], kind: hinge, axis: [0, 1, "
                                                        "0.2], at: [0, 0, 1], %s}}\nvalues: {rod: {velocity: [[0.001, "
                                                        "0.002, 0.001]]}}\n",
                     both ? "  base: {box: {size: [0.5, 0.04, 0.02], cells: [1, 1, 1]}, mass: 2, rigid: yes, "
                            "position: [-0.27, 0, 1]}\n"
                          : POST,
                     both ? "base" : "post", joints[k]);
            movie_check_stable(text);
        }
}

// A scene whose last line is wrong: the sentence names it, and the nearest word.
static void test_wrong(void **state) {
    static const struct {
        const char *joint, *control, *words;
    } cases[] = {
        {"kind: weld, damping: 1", "", "s.yaml:8: damping: a weld leaves nothing free"},
        {"kind: ball, angle: 1", "", "angle: only a hinge has an angle"},
        {"kind: hinge, axis: [0, 1, 0], stiffness: -1", "", "s.yaml:8: stiffness: expected"},
        {"kind: hinge, axis: [0, 1, 0], damping: nan", "", "s.yaml:8: damping: expected"},
        {"kind: hinge, axis: [0, 1, 0], angle: 181", "", "s.yaml:8: angle: expected"},
        {"kind: hinge, axis: [0, 1, 0], stifness: 1", "", "did you mean \"stiffness\"?"},
        {"kind: hinge, axis: [0, 1, 0]", "{joint: pim, torque: 1}",
         "s.yaml:9: unknown hinge or slider \"pim\"; did you mean \"pin\"?"},
        {"kind: ball", "{joint: pin, torque: 1}",
         "s.yaml:9: joint: the scene has no \"joints\" that are hinges or sliders"},
        {"kind: hinge, axis: [0, 1, 0]", "{torque: 1}", "s.yaml:9: expected an \"object\" or a \"joint\""},
        {"kind: hinge, axis: [0, 1, 0]", "{joint: pin, object: rod, torque: 1}",
         "expected an \"object\" or a \"joint\""},
        {"kind: hinge, axis: [0, 1, 0]", "{object: rod, torque: 1}", "are for a \"joint\""},
        {"kind: hinge, axis: [0, 1, 0]", "{joint: pin, force: [0, 0, 1]}", "s.yaml:9: force: expected"},
        {"kind: hinge, axis: [0, 1, 0]", "{joint: pin}", "expected \"torque\", \"angle\" or \"speed\""},
        {"kind: hinge, axis: [0, 1, 0]", "{joint: pin, torque: nan}", "s.yaml:9: torque: expected"},
        {"kind: hinge, axis: [0, 1, 0]", "{joint: pin, torque: 1, from: 2, to: 2}", "to: expected a frame after 2"},
        {"kind: hinge, axis: [0, 1, 0], damping: 1", "{joint: pin, angle: 5}", "angle: joint pin has no \"stiffness\""},
        {"kind: hinge, axis: [0, 1, 0]", "{joint: pin, speed: 5}", "speed: joint pin has no \"damping\""},
        {"kind: hinge, axis: [0, 1, 0], stiffness: 1", "{joint: pin, speed: 2e4}", "by more than 180 degrees"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        joint_refused("frames: 3\n" HEAD "objects:\n" POST ROD(
                          "position: [0, 0, 1]") "joints: {pin: {between: [post, rod], at: [0, 0, 1], k_e: 1e3, ",
                      cases[i].joint, cases[i].control, cases[i].words);
}

// What controls of one joint whose times overlap add up to, frame by frame.
static void test_torques(void **state) {
    static const double target[] = {5, 45, 40, 10, 10, 20}, speed[] = {2000, 2000, 0, 0, 0, 0}, // degrees, and a second
        torque[] = {0, 0, 0, 0, 0.5, 0.5};
    SimScene scene;
    Error err;
    const char text[] = "frames: 6\n" HEAD "objects:\n" POST ROD("position: [0, 0, 1]")
        PIN("stiffness: 4, damping: 0.1") "controls:\n  - {joint: pin, angle: 30, from: 1, to: 3}\n  - {joint: pin, "
                                          "speed: 2000, to: 2}\n"
                                          "  - {joint: pin, angle: -10, from: 2, to: 5}\n  - {joint: pin, torque: 0.5, "
                                          "from: 4}\n";
    (void)state;
    assert_status_ok(scene_parse(text, strlen(text), "s.yaml", ".", &scene, &err), err);
    for (size_t f = 0; f < 6; f++)
        assert_close(scene.values.of[SIM_TORQUE][f], (4 * target[f] + 0.1 * speed[f]) * M_PI / 180 + torque[f], 1e-12,
                     0);
    scene_free(&scene);
}

// A little change of a hinge's axis changes the places of its points a little, at the axes of space too.
static void test_axis(void **state) {
    (void)state;
    for (int k = 0; k < 9; k++) {
        SimScene scene[2];
        Error err;
        for (int n = 0; n < 2; n++) {
            double axis[3] = {0};
            char text[1024];
            axis[k / 3] = 1, axis[k % 3] += n ? 1e-6 : 0;
            snprintf(text, sizeof text,
                     "frames: 3\n" HEAD
                     "objects:\n" POST ROD("position: [0, 0, 1]") "joints: {pin: {between: [post, rod], kind: hinge, "
                                                                  "axis: [%g, %g, %g], at: [0, 0, 1], k_e: 1}}\n",
                     axis[0], axis[1], axis[2]);
            assert_status_ok(scene_parse(text, strlen(text), "s.yaml", ".", &scene[n], &err), err);
        }
        for (size_t i = 0; i < 3 * scene[0].model.particles; i++)
            assert_close(scene[1].values.of[SIM_POSITION][i], scene[0].values.of[SIM_POSITION][i], 1e-6, 0);
        for (int n = 0; n < 2; n++) scene_free(&scene[n]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_pendulum),    cmocka_unit_test(test_static),
                                       cmocka_unit_test(test_servo),       cmocka_unit_test(test_speed),
                                       cmocka_unit_test(test_axis),        cmocka_unit_test(test_torques),
                                       cmocka_unit_test(test_kept),        cmocka_unit_test(test_gradients),
                                       cmocka_unit_test(test_stable_step), cmocka_unit_test(test_wrong)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
