// SPDX-License-Identifier: Apache-2.0
// Ball joints of scene files that resist turning: closed forms, what is kept, gradients, the stable bound, and what is
// refused.
#include "lab/record.h"
#include "tests/lab_hinge.h"

#define SIDE 0.2
#define MASS 2.0
#define CUBE(more) "  cube: {box: {size: [0.2, 0.2, 0.2], cells: [1, 1, 1]}, mass: 2, rigid: yes, " more "}\n"
static const double inertia = MASS * SIDE * SIDE / 6, k_e = 1e5; // about any axis
static const double axis[3] = {1. / 3, 2. / 3, 2. / 3}, across[3] = {2. / 3, 1. / 3, -2. / 3};

// A cube on a ball joint in its middle, which turns about n, without gravity.
static void play(Movie *m, int frames, const double n[3], double speed, const char *joint) {
    char text[2048];
    snprintf(text, sizeof text,
             "frames: %d\ngravity: [0, 0, 0]\n" HEAD "objects:\n" POST CUBE(
                 "position: [0, 0, 1], spin: [%.17g, %.17g, %.17g]") "joints: {neck: {between: [post, cube], at: [0, "
                                                                     "0, 1], k_e: 1e5, %s}}\n",
             frames, speed * n[0], speed * n[1], speed * n[2], joint);
    movie_play(m, text);
}

// The second object's rotation about its middle since frame 0, which is less than half a turn; a cube's, whose corners
// have the same second moments along all axes.
static void rotation_of(const Movie *m, size_t frame, double out[3]) {
    const double *x = m->position + 3 * m->scene.objects[1].particle, *now = x + frame * m->row;
    double middle[2][3] = {{0}}, sum[3] = {0}, along = 0, square = 0;
    for (size_t i = 0; i < 24; i++) middle[0][i % 3] += x[i] / 8, middle[1][i % 3] += now[i] / 8;
    for (size_t i = 0; i < 8; i++) {
        double a[3], b[3], turn[3];
        for (size_t c = 0; c < 3; c++) a[c] = x[3 * i + c] - middle[0][c], b[c] = now[3 * i + c] - middle[1][c];
        vector_cross(a, b, turn);
        for (int c = 0; c < 3; c++) sum[c] += turn[c];
        along += vector_dot(a, b), square += vector_dot(a, a);
    }
    const double sine = sqrt(vector_dot(sum, sum)) / 2, cosine = (along - square / 3) / 2;
    for (int c = 0; c < 3; c++) out[c] = sine > 0 ? sum[c] / (2 * sine) * atan2(sine, cosine) : 0;
}

// About n, and nowhere else.
static double angle_about(const Movie *m, size_t frame, const double n[3]) {
    double turn[3];
    rotation_of(m, frame, turn);
    const double along = vector_dot(turn, n);
    for (int c = 0; c < 3; c++) assert_close(turn[c], along * n[c], 1e-6, 0);
    return along;
}

// An oscillation about any axis, up to most of half a turn; damping makes it that of a damped one.
static void test_spring(void **state) {
    static const double ways[][3] = {{0, 0, 1}, {1. / 3, 2. / 3, 2. / 3}, {-0.6, 0, 0.8}};
    const double stiffness = 3, rate = sqrt(stiffness / inertia);
    (void)state;
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 2; k++) {
            const double speed = (i == 2 ? 2.9 : 0.3) * rate, damping = k ? 0.05 : 0, lag = damping / (2 * inertia),
                         ring = sqrt(rate * rate - lag * lag);
            char joint[128];
            Movie m;
            snprintf(joint, sizeof joint, "stiffness: %g, damping: %g", stiffness, damping);
            play(&m, 200, ways[i], speed, joint);
            for (size_t f = 1; f < m.frames; f++) {
                const double t = (double)f / 200;
                assert_close(angle_about(&m, f, ways[i]), speed / ring * exp(-lag * t) * sin(ring * t),
                             3e-3 * speed / rate, 0);
            }
            movie_end(&m);
        }
}

// To and fro between two sides of the cone; about its axis nothing holds it.
static void test_cone(void **state) {
    const double speed = 2, high = 40 * M_PI / 180, fast = sqrt(k_e / MASS), half = 2 * high / speed + M_PI / fast;
    const char *joint = "axis: [2, 4, 4], limits: [0, 40]";
    Movie m;
    (void)state;
    play(&m, 400, across, speed, joint);
    for (size_t f = 1; f < m.frames; f++) {
        const double t = (double)f / 200 + high / speed, in = fmod(t, half), way = speed * in - high,
                     place = way < high ? way : high + speed / fast * sin(fast * (in - 2 * high / speed));
        assert_close(angle_about(&m, f, across), fmod(t, 2 * half) < half ? place : -place, 3e-3, 0);
    }
    movie_end(&m);
    play(&m, 300, axis, speed, joint);
    for (size_t f = 1; f < m.frames; f++) assert_close(angle_about(&m, f, axis), speed * (double)f / 200, 1e-6, 0);
    movie_end(&m);
}

// A limit bears a weight: the torque goes so far beyond it. k_d takes the speed, and pulls nothing back.
static void test_bear(void **state) {
    static const double limits[] = {30, 0, 100};
    (void)state;
    for (int k = 0; k < 3; k++) {
        char text[1024];
        Movie m;
        snprintf(text, sizeof text,
                 "frames: 600\ngravity: [0, 0, %g]\n" HEAD
                 "objects:\n" POST ROD("position: [0.25, 0, 1]") "joints: {neck: {between: [post, rod], at: [0, 0, 1], "
                                                                 "axis: [3, 0, 0], limits: [0, %g], k_e: 1e5, k_d: "
                                                                 "300, damping: 0.6}}\n",
                 k == 2 ? 9.81 : -9.81, limits[k]);
        movie_play(&m, text);
        // Straight up or down where the limit is not reached.
        const double high = fmin(limits[k], 90) * M_PI / 180,
                     least = (0.5 * 0.5 + 0.02 * 0.02) / 12 + 0.25 * 0.25, // about y, over the mass
            beyond = k == 2 ? 0 : MASS * 9.81 * 0.25 * cos(high) / (k_e * least);
        assert_close(m.scene.values.of[SIM_SOCKET_STOP_KE][0], k_e * least, 0, 1e-9);
        assert_close(fabs(turned(&m, 600, 0)), high + beyond, k == 2 ? 2e-2 : 1e-6, 2e-3);
        movie_end(&m);
    }
}

// A spinning cube comes to rest after inertia speed^2/(2 friction) radians, about any axis; a weight that friction
// bears creeps.
static void test_friction(void **state) {
    const double speed = 3, friction = 0.02, slows = friction / inertia;
    const double *const ways[] = {axis, across};
    char text[1024];
    Movie m;
    (void)state;
    for (int k = 0; k < 2; k++) {
        play(&m, 500, ways[k], speed, "friction: 0.02");
        for (size_t f = 1; f < m.frames; f++) {
            const double t = fmin((double)f / 200, speed / slows);
            assert_close(angle_about(&m, f, ways[k]), speed * t - slows * t * t / 2, 1e-3, 0);
        }
        movie_end(&m);
    }
    snprintf(text, sizeof text,
             "frames: 400\n" HEAD
             "objects:\n" POST CUBE("position: [0.05, 0, 1]") "joints: {neck: {between: [post, cube], at: [0, 0, 1], "
                                                              "k_e: 1e5, k_d: 300, friction: 2}}\n");
    movie_play(&m, text);
    const double still[3] = {0, 1, 0};
    assert_close(angle_about(&m, 400, still), MASS * 9.81 * 0.05 / (2 * 180 / M_PI) * 2, 0, 1e-2);
    movie_end(&m);
}

#define FREE_BALL "joints: {neck: {between: [base, rod], at: [0, 0, 1], k_e: 1e5, "

// Of two objects in free flight, momentum and angular momentum with all that resists turning; without damping and
// friction the energy, too.
static void test_kept(void **state) {
    double before[6], after[6], energy = 0, most = 0, swing = 0;
    (void)state;
    for (int k = 0; k < 2; k++) {
        char text[2048];
        Movie m;
        snprintf(text, sizeof text,
                 "frames: 300\ngravity: [0, 0, 0]\nfps: 200\nsubsteps: %d\nprecision: f64\nobjects:\n" FREE ROD(
                     "position: [0.25, 0, 1], velocity: [0.1, 0.5, 0.4], spin: [2, -5, 4]") "%s",
                 k ? 40 : 400,
                 k ? FREE_BALL "k_d: 30, axis: [1, 2, 0], stiffness: 0.2, damping: 0.01, limits: [0, 25], friction: "
                               "0.05, k_f: 0.3}}\n"
                   : FREE_BALL "axis: [1, 2, 0], stiffness: 0.2, limits: [0, 25]}}\n");
        movie_play(&m, text);
        momenta(&m, 0, before);
        momenta(&m, 300, after);
        for (int c = 0; c < 6; c++) assert_close(after[c], before[c], 1e-9, 0);
        for (size_t f = 0; f < m.frames && !k; f++) {
            if (f == 0) energy = movie_energy(&m, f);
            most = fmax(most, fabs(movie_energy(&m, f) - energy));
            swing = fmax(swing, movie_swing(m.position + f * m.row, m.scene.model.socket));
        }
        if (!k) print_message("%g J at the start, off by %g of it; %g degrees\n", energy, most / energy, swing * 57.3);
        if (!k) assert_true(most < 5e-3 * energy && swing > 25 * M_PI / 180);
        movie_end(&m);
    }
}

// One limit is passed, and friction holds one ball and not the other.
#define CHAIN                                                                                                          \
    "frames: 8\nfps: 30\nsubsteps: 200\nobjects:\n" POST ROD(                                                          \
        "position: [0.25, 0.01, 1.02], spin: [3, 0.3, 2]") "  arm: {box: {size: [0.1, 0.1, 0.2], cells: [1, 1, 1]}, "  \
                                                           "mass: 1, rigid: yes, position: [0.5, 0, 0.9], spin: "      \
                                                           "[0, 0.1, 0.02]}\n"                                         \
                                                           "joints:\n"                                                 \
                                                           "  neck: {between: [post, rod], at: [0, 0, 1], axis: [1, "  \
                                                           "0.2, 0.1], k_e: 3e4, k_d: 20, radius: 0.06, "              \
                                                           "stiffness: 2, damping: 0.05, limits: [0, 5], friction: "   \
                                                           "0.05, k_f: 1}\n"                                           \
                                                           "  wrist: {between: [rod, arm], at: [0.5, 0.01, 1], axis: " \
                                                           "[0, 0.3, 1], k_e: 2e4, k_d: 10, limits: [0, 40], "         \
                                                           "friction: 5, k_f: 1}\n"

static void test_gradients(void **state) {
    static const char *const names[] = {"joints.neck.stiffness", "joints.neck.damping", "joints.neck.limits.1",
                                        "joints.neck.friction",  "joints.neck.k_f",     "joints.neck.k_e",
                                        "joints.neck.k_d",       "joints.neck.radius",  "joints.neck.axis.y",
                                        "joints.neck.at.x"};
    (void)state;
    SimScene scene = movie_parse(CHAIN);
    assert_int_equal(scene.balls, 2);
    assert_string_equal(scene.ball[1].name, "wrist");
    movie_check_acting(&scene, SIM_SOCKET_KE);
    scene_free(&scene);
    movie_check_names(CHAIN, names, sizeof names / sizeof *names);
}

// Gradients at the start's own pose, where neither the axis of the angle nor that of the swing is known, with limits of
// 0 and without.
static void test_aligned(void **state) {
    static const char *const joints[] = {"stiffness: 2", "axis: [1, 0, 0], limits: [0, 0]", "friction: 1, k_f: 0.05"};
    (void)state;
    for (size_t k = 0; k < sizeof joints / sizeof *joints; k++) {
        char text[1024];
        snprintf(text, sizeof text,
                 "frames: 2\nfps: 1000\nsubsteps: 3\nprecision: f64\nobjects:\n" POST ROD(
                     "position: [0.25, 0, 1]") "joints: {neck: {between: [post, rod], at: [0, 0, 1], k_e: 3e4, %s}}\n",
                 joints[k]);
        movie_check_gradients(text);
    }
}

static void test_isas(void **state) {
    (void)state;
    movie_check_isas(CHAIN);
}

// Quiet a little below the bound, and not above: by stiffness, damping and friction about the thin axis of a rod, in a
// limit across it.
static void test_stable_step(void **state) {
    static const char *const joints[] = {"stiffness: 1e3", "damping: 3", "friction: 1e9, k_f: 3",
                                         "axis: [1, 0, 0], limits: [0, 0]"};
    (void)state;
    for (size_t k = 0; k < sizeof joints / sizeof *joints; k++)
        for (int both = 0; both < (k < 3 ? 2 : 1); both++) { // the springs move other than the limit
            char text[2048];
            snprintf(text, sizeof text,
                     "%s" ROD("position: [0.27, 0, 1]") "joints: {neck: {between: [%s, rod], at: [0, 0, 1], k_e: %s, "
                                                        "%s}}\nvalues: {rod: {velocity: [[0.001, 0.002, 0.001]]}}\n",
                     both ? "  base: {box: {size: [0.5, 0.04, 0.02], cells: [1, 1, 1]}, mass: 2, rigid: yes, "
                            "position: [-0.27, 0, 1]}\n"
                          : POST,
                     both ? "base" : "post", k == 3 ? "1e4" : "10", joints[k]);
            movie_check_stable(text);
        }
}

// The run tells which joint was how far beyond a limit. A control cannot drive a ball.
static void test_beyond(void **state) {
    SimScene scene =
        movie_parse("frames: 100\n" HEAD
                    "objects:\n" POST ROD("position: [0.25, 0, 1]") "joints: {neck: {between: [post, rod], at: [0, 0, "
                                                                    "1], axis: [1, 0, 0], k_e: 1e4, k_d: "
                                                                    "200, limits: [0, 10]}}\n");
    RolloutFile file = {0};
    RecordWorst worst = {0};
    Error err;
    (void)state;
    assert_status_ok(record_run(&scene, &(SimOptions){.threads = 1}, &file, &worst, &err), err);
    assert_ptr_equal(worst.turning, scene.ball);
    assert_null(worst.slider);
    assert_true(worst.beyond > 0.1 && worst.beyond < 3);
    rollout_file_free(&file);
    scene_free(&scene);
}

static void test_wrong(void **state) {
    static const struct {
        const char *joint, *control, *words;
    } cases[] = {
        {"limits: [0, 30]", "", "s.yaml:8: j: hinges, sliders and ball joints with limits have an axis"},
        {"axis: [0, 1, 0], stiffness: 1", "", "s.yaml:8: j: hinges, sliders and ball joints with limits have an axis"},
        {"axis: [0, 0, 0], limits: [0, 30]", "", "s.yaml:8: axis: expected a vector of non-zero length"},
        {"axis: [0, 1, 0], limits: [-1, 30]", "", "s.yaml:8: limits: a ball joint swings by 0 degrees or more"},
        {"axis: [0, 1, 0], limits: [10, 30]", "", "s.yaml:8: limits: angles are from the pose at the start"},
        {"axis: [0, 1, 0], limits: [0, -1]", "", "s.yaml:8: limits: expected [low, high], found 0 above -1"},
        {"axis: [0, 1, 0], limits: [0, 171]", "", "s.yaml:8: limits: expected at most 170 degrees of a ball joint"},
        {"axis: [0, 1, 0], limits: [0, nan]", "", "s.yaml:8: limits: expected 2 finite numbers"},
        {"axis: [0, 1, 0], limits: 30", "", "s.yaml:8: limits: expected a list of 2 finite numbers"},
        {"friction: -1", "", "s.yaml:8: friction: expected"},
        {"k_f: 1", "", "s.yaml:8: k_f: the joint has no \"friction\""},
        {"stiffness: nan", "", "s.yaml:8: stiffness: expected"},
        {"angle: 1", "", "s.yaml:8: angle: only a hinge has an angle"},
        {"position: 1", "", "s.yaml:8: position: only a slider has a position"},
        {"stiffness: 1", "{joint: j, torque: 1}", "joint: the scene has no \"joints\" that are hinges or sliders"}};
    static const char *const keys[] = {"stiffness: 1", "damping: 1", "friction: 1", "axis: [0, 0, 1], limits: [0, 1]"};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        joint_refused("frames: 3\n" HEAD "objects:\n" POST ROD(
                          "position: [0.25, 0, 1]") "joints: {j: {between: [post, rod], at: [0, 0, 1], k_e: 1e3, ",
                      cases[i].joint, cases[i].control, cases[i].words);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        joint_refused("frames: 3\n" HEAD "objects:\n" POST
                      "  rag: {cloth: {size: [1, 1], cells: [2, 2]}, density: 1, springs: {k_e: 100}}\n"
                      "joints: {j: {between: [post, rag], at: [0, 0, 1], k_e: 1e3, ",
                      keys[i], "", "only joints between two rigid solids have it");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spring),      cmocka_unit_test(test_cone), cmocka_unit_test(test_bear),
        cmocka_unit_test(test_friction),    cmocka_unit_test(test_kept), cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_aligned),     cmocka_unit_test(test_isas), cmocka_unit_test(test_beyond),
        cmocka_unit_test(test_stable_step), cmocka_unit_test(test_wrong)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
