// SPDX-License-Identifier: Apache-2.0
// Limits and friction of hinges: closed forms, what is kept, gradients, the stable bound, and what is refused.
#include "tests/lab_hinge.h"

#define AT_PIN ROD("position: [0, 0, 1]")
static const double stiff = 1e5 * INERTIA / 2; // N m/rad beyond limits: k_e inertia / mass
static const double degree = M_PI / 180;

static void play(Movie *m, int frames, const char *rod, const char *pin, const char *more) {
    char text[2048];
    snprintf(text, sizeof text, "frames: %d\ngravity: [0, 0, 0]\n" HEAD "objects:\n" POST "%s%s%s}}\n%s", frames, rod,
             "joints: {pin: {between: [post, rod], kind: hinge, axis: [0, 2, 0], at: [0, 0, 1], k_e: 1e5, ", pin, more);
    movie_play(m, text);
}

// A torque or a servo that pushes against a limit comes to rest where the limit's spring bears it.
static void test_sag(void **state) {
    static const struct {
        const char *pin, *control;
        double limit, torque; // torque at the limit
        double stiffness;     // that gives way to it
    } cases[] = {
        {"limits: [-30, 60], damping: 1", "torque: 5", 60, 5, 0},
        {"limits: [-30, 60], damping: 1", "torque: -5", -30, -5, 0},
        {"limits: [-10, 250], damping: 1", "torque: 3", 250, 3, 0},
        {"limits: [-340, 0], damping: 1", "torque: -3", -340, -3, 0},
        {"limits: [0, 0], damping: 1", "torque: 3", 0, 3, 0},
        {"limits: [-30, 60], stiffness: 40, damping: 3", "angle: 100", 60, 40 * 40 * M_PI / 180, 40},
        {"limits: [-30, 60], stiffness: 40, damping: 3, angle: -100", "torque: 1", -30, 1 - 70 * 40 * M_PI / 180, 40}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char pin[256], control[128];
        Movie m;
        snprintf(pin, sizeof pin, "k_d: 20, %s", cases[i].pin);
        snprintf(control, sizeof control, ACT("%s"), cases[i].control);
        play(&m, 800, AT_PIN, pin, control);
        assert_close(last_angle(&m), cases[i].limit * degree + cases[i].torque / (stiff + cases[i].stiffness), 0, 1e-5);
        movie_end(&m);
    }
}

// A torsional pendulum whose limit is at its rest: half a swing of its own, half of one with the limit's spring.
static void test_bounce(void **state) {
    static const double spins[] = {-1, -6, -20};
    (void)state;
    for (size_t i = 0; i < sizeof spins / sizeof *spins; i++) {
        const double stiffness = 3, slow = sqrt(stiffness / INERTIA), fast = sqrt((stiffness + stiff) / INERTIA);
        char rod[256];
        double now = 0, energy = 0, most[2] = {0};
        Movie m;
        snprintf(rod, sizeof rod, ROD("position: [0, 0, 1], spin: [0, %g, 0]"), spins[i]);
        play(&m, 300, rod, "stiffness: 3, limits: [-180, 0]", "");
        for (size_t f = 1; f < m.frames; f++) {
            const double t = fmod((double)f / 200, M_PI / slow + M_PI / fast), in = t - M_PI / slow;
            now = turned(&m, f, now);
            assert_close(now, in < 0 ? spins[i] / slow * sin(slow * t) : -spins[i] / fast * sin(fast * in),
                         5e-3 * fabs(spins[i]), 0);
        }
        for (size_t f = 0; f < m.frames; f++) { // half a step apart, place and speed leave rate dt/2 of it
            const double e = movie_energy(&m, f);
            const bool beyond = turned(&m, f, 0) > 0;
            if (f == 0) energy = e;
            most[beyond] = fmax(most[beyond], e / energy - 1);
        }
        print_message("energy grows by at most %.2g of itself, %.2g in the limit\n", most[0], most[1]);
        assert_true(most[0] < slow * m.scene.model.dt && most[1] < fast * m.scene.model.dt);
        movie_end(&m);
    }
}

// More k_d takes more of the speed at a limit, and much of it all; nothing is pulled back.
static void test_dead(void **state) {
    static const double k_d[] = {0, 30, 200, 6000};
    double before = 2.01;
    (void)state;
    for (int k = 0; k < 4; k++) {
        char pin[128];
        double now = 0, most = 0, speed;
        Movie m;
        snprintf(pin, sizeof pin, "k_d: %g, limits: [-180, 20]", k_d[k]);
        play(&m, 100,
             "  rod: {box: {size: [0.5, 0.3, 0.3], cells: [1, 1, 1]}, mass: 2, rigid: yes, position: [0, 0, 1], spin: "
             "[0, 2, 0]}\n",
             pin, "");
        for (size_t f = 1; f < m.frames; f++) now = turned(&m, f, now), most = fmax(most, now);
        speed = 200 * (turned(&m, 95, now) - now) / 5;
        print_message("k_d %g: back at %.3g rad/s, %.3g rad beyond\n", k_d[k], speed, most - 20 * degree);
        assert_true(speed < before && speed > -1e-3);
        assert_true(most > 20 * degree && most < 20 * degree + 2 / sqrt(1e5 / 2) * 1.01);
        if (k == 0) assert_close(speed, 2, 0.02, 0);
        if (k == 3) assert_true(speed < 0.2);
        before = speed;
        movie_end(&m);
    }
}

// A rod that turns freely comes to rest after I w^2/(2 friction) radians.
static void test_comes_to_rest(void **state) {
    Movie m;
    double now = 0;
    (void)state;
    play(&m, 200, ROD("position: [0, 0, 1], spin: [0, 6, 0]"), "friction: 0.5", "");
    for (size_t f = 1; f < m.frames; f++) {
        const double t = (double)f / 200, end = 6 * INERTIA / 0.5, moving = fmin(t, end);
        now = turned(&m, f, now);
        assert_close(now, 6 * moving - 0.5 / INERTIA * moving * moving / 2, 5e-3, 0);
    }
    assert_close(now, INERTIA * 36 / (2 * 0.5), 1e-3, 0);
    movie_end(&m);
}

// A torsional pendulum loses 4 friction amplitude in a cycle: each swing ends 2 friction/stiffness nearer.
static void test_loss(void **state) {
    const double stiffness = 30, friction = 0.8, rate = sqrt(stiffness / INERTIA), start = 20 / rate;
    Movie m;
    double now = 0, most = 0, first = 0;
    int swing = 0;
    (void)state;
    play(&m, 300, ROD("position: [0, 0, 1], spin: [0, 20, 0]"), "stiffness: 30, friction: 0.8", "");
    // From the middle at full speed: A^2 + 2 A friction/stiffness = start^2.
    first = sqrt(start * start + friction * friction / (stiffness * stiffness)) - friction / stiffness;
    for (size_t f = 1; f < m.frames && swing < 6; f++) {
        const double before = now;
        now = turned(&m, f, now);
        if (now * before < 0) {
            const double amplitude = first - 2 * swing * friction / stiffness;
            print_message("swing %d: %.5f, %.5f\n", swing, most, amplitude);
            assert_close(most, amplitude, 5e-3, 0); // frames miss the turning point
            most = 0, swing++;
        }
        most = fmax(most, fabs(now));
    }
    assert_int_equal(swing, 6);
    movie_end(&m);
}

// Below its friction a rod creeps at torque/k_f; above, what is left over turns it.
static void test_creep(void **state) {
    static const struct {
        const char *pin;
        double rate; // rad/s
    } cases[] = {{"friction: 1, k_f: 200", 0.5 / 200}, {"friction: 1", 0.5 * M_PI / 180}};
    Movie m;
    (void)state;
    for (int k = 0; k < 2; k++) {
        play(&m, 400, AT_PIN, cases[k].pin, ACT("torque: 0.5"));
        assert_close(last_angle(&m), 2 * cases[k].rate, 5e-3, 0);
        movie_end(&m);
    }
    play(&m, 100, AT_PIN, "friction: 1", ACT("torque: 1.5"));
    assert_close(last_angle(&m), 0.5 / INERTIA * 0.5 * 0.5 / 2, 5e-3, 0);
    movie_end(&m);
}

// Both act on the two objects of a hinge in opposite ways.
static void test_kept(void **state) {
    double before[6], after[6];
    Movie m;
    (void)state;
    movie_play(&m, "frames: 200\ngravity: [0, 0, 0]\n" HEAD
                   "objects:\n" FREE ROD("position: [0.25, 0.02, 1.01], velocity: [0.1, 0.2, 0], spin: [0, 3, 1]")
                       FREE_PIN "limits: [-10, 15], friction: 0.05, k_d: 30}}\n" ACT("torque: 3, from: 20, to: 120"));
    momenta(&m, 0, before);
    momenta(&m, 200, after);
    for (int c = 0; c < 6; c++) assert_close(after[c], before[c], 1e-9, 0);
    movie_end(&m);
}

// One limit is passed, and a hinge slides and turns back.
#define CHAIN                                                                                                          \
    "frames: 8\nfps: 30\nsubsteps: 200\nobjects:\n" POST ROD(                                                          \
        "position: [0.27, 0, 1], spin: [0, 2, 1]") "  hand: {box: {size: [0.1, 0.04, 0.03], cells: [1, 1, 1]}, mass: " \
                                                   "0.5, rigid: yes, position: [0.58, 0, 1]}\n"                        \
                                                   "joints:\n  hip: {between: [post, rod], kind: hinge, axis: [0, 1, " \
                                                   "0], at: [0, 0, 1], k_e: 3e4, k_d: 20, "                            \
                                                   "radius: 0.06, limits: [-20, 15], friction: 0.3, k_f: 5}\n"         \
                                                   "  knee: {between: [hand, rod], kind: hinge, axis: [0, 1, 1], at: " \
                                                   "[0.53, 0, 1], k_e: 2e4, k_d: 10, "                                 \
                                                   "limits: [-5, 190], friction: 0.02}\n"

static void test_gradients(void **state) {
    static const char *const names[] = {"joints.hip.limits.0", "joints.hip.limits.1", "joints.hip.friction",
                                        "joints.hip.k_f",      "joints.hip.radius",   "joints.hip.k_e"};
    Gradcheck out;
    Error err;
    (void)state;
    movie_check_gradients(CHAIN);
    SimScene scene = movie_parse(CHAIN);
    assert_status_ok(gradcheck_run(&scene, &(SimOptions){.threads = 1}, &out, &err), err);
    for (size_t i = 0; i < out.rows; i++)
        if (sim_value_is_stop(out.row[i].value)) assert_true(out.row[i].adjoint != 0);
    scene_free(&scene);
    movie_check_names(CHAIN, names, sizeof names / sizeof *names);
}

static void positions_of(const SimScene *scene, int threads, double *out) {
    SimRun run = scene_run(scene);
    SimArrays arrays = {3 * scene->model.scenes * scene->model.particles, out, NULL};
    Sim *sim;
    Error err;
    run.keep = sim_keep_arrays, run.context = &arrays;
    assert_status_ok(
        sim_open(&scene->model, &(SimOptions){.precision = scene->precision, .threads = threads}, &sim, &err), err);
    assert_status_ok(sim_set(sim, &scene->values, &err), err);
    assert_status_ok(sim_rollout(sim, &run, &err), err);
    sim_close(sim);
}

// Scenes of a batch have limits and friction of their own; neither others nor threads change their bits.
static void test_batch(void **state) {
    enum { B = 3 };
    (void)state;
    for (int precision = SIM_F32; precision <= SIM_F64; precision++) {
        SimScene one = movie_parse(CHAIN), all = movie_parse(CHAIN);
        Error err;
        const size_t row = 3 * one.model.particles, frames = (size_t)one.frames + 1;
        double *alone = malloc(frames * row * sizeof *alone), *batch = malloc(2 * B * frames * row * sizeof *batch);
        assert_true(alone && batch);
        one.precision = all.precision = (SimPrecision)precision;
        assert_status_ok(scene_repeat(&all, B, &err), err);
        all.values.of[SIM_HINGE_HIGH][all.model.hinges] = 0.01;
        all.values.of[SIM_HINGE_FRICTION][2 * all.model.hinges] *= 2;
        positions_of(&one, 1, alone);
        for (int k = 0; k < 2; k++) positions_of(&all, 1 + k, batch + (size_t)k * B * frames * row);
        assert_memory_equal(batch, batch + B * frames * row, B * frames * row * sizeof *batch);
        for (size_t f = 0; f < frames; f++)
            assert_memory_equal(batch + f * B * row, alone + f * row, row * sizeof *batch);
        for (size_t b = 1; b < B; b++)
            assert_memory_not_equal(batch + ((frames - 1) * B + b) * row, alone + (frames - 1) * row,
                                    row * sizeof *batch);
        free(alone);
        free(batch);
        scene_free(&one);
        scene_free(&all);
    }
}

// Quiet a little below the bound, and not above: in a limit from both sides, and held by friction.
static void test_stable_step(void **state) {
    static const char *const joints[] = {"k_e: 1e3, radius: 0.3, limits: [0, 0]", "k_e: 1e3, friction: 1e9, k_f: 3e2"};
    (void)state;
    for (int k = 0; k < 2; k++) {
        char text[2048];
        snprintf(text, sizeof text,
                 POST ROD("position: [0.27, 0.05, 1.05]") "joints: {pin: {between: [post, rod], kind: hinge, axis: "
                                                          "[1, 0.1, 0.2], at: [0, 0, 1], %s}}\nvalues: {rod: "
                                                          "{velocity: [[0.001, 0.002, 0.001]]}}\n",
                 joints[k]);
        movie_check_stable(text);
    }
}

static void test_wrong(void **state) {
    static const struct {
        const char *joint, *words;
    } cases[] = {
        {"kind: weld, friction: 1", "s.yaml:8: friction: a weld leaves nothing free"},
        {"kind: hinge, axis: [0, 1, 0], limits: [10, -10]", "s.yaml:8: limits: expected [low, high], found 10 above"},
        {"kind: hinge, axis: [0, 1, 0], limits: [10, 20]", "s.yaml:8: limits: angles are from the pose at the start"},
        {"kind: hinge, axis: [0, 1, 0], limits: [-20, -10]", "which -20 to -10 degrees leave out"},
        {"kind: hinge, axis: [0, 1, 0], limits: [-200, 200]", "limits: expected at most 340 degrees between them"},
        {"kind: hinge, axis: [0, 1, 0], limits: [nan, 1]", "s.yaml:8: limits: expected 2 finite numbers"},
        {"kind: hinge, axis: [0, 1, 0], limits: 30", "s.yaml:8: limits: expected a list of 2 finite numbers"},
        {"kind: hinge, axis: [0, 1, 0], limits: [-341, 0]", "s.yaml:8: limits: expected"},
        {"kind: hinge, axis: [0, 1, 0], limit: [0, 1]", "did you mean \"limits\"?"},
        {"kind: hinge, axis: [0, 1, 0], friction: -1", "s.yaml:8: friction: expected"},
        {"kind: hinge, axis: [0, 1, 0], friction: nan", "s.yaml:8: friction: expected"},
        {"kind: hinge, axis: [0, 1, 0], k_f: 1", "s.yaml:8: k_f: the joint has no \"friction\""}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        joint_refused("frames: 3\n" HEAD "objects:\n" POST AT_PIN
                      "joints: {pin: {between: [post, rod], at: [0, 0, 1], k_e: 1e3, ",
                      cases[i].joint, "", cases[i].words);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sag),           cmocka_unit_test(test_bounce),    cmocka_unit_test(test_dead),
        cmocka_unit_test(test_comes_to_rest), cmocka_unit_test(test_loss),      cmocka_unit_test(test_creep),
        cmocka_unit_test(test_kept),          cmocka_unit_test(test_gradients), cmocka_unit_test(test_batch),
        cmocka_unit_test(test_stable_step),   cmocka_unit_test(test_wrong)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
