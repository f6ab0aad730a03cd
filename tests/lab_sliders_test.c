// SPDX-License-Identifier: Apache-2.0
// Sliders of scene files and their motors: closed forms, what is kept, gradients, the stable bound, and what is
// refused.
#include "lab/record.h"
#include "tests/lab_hinge.h"

#define MASS 2.0
#define CAR(more) "  car: {box: {size: [0.2, 0.1, 0.1], cells: [1, 1, 1]}, mass: 2, rigid: yes, " more "}\n"
#define AT_RAIL CAR("position: [0, 0, 1]")
static const double axis[3] = {1. / 3, 2. / 3, 2. / 3};
static const double k_e = 1e5;

// A car on a rail through its middle along the axis, or along z with gravity.
static void play(Movie *m, int frames, const char *car, const char *rail, const char *more) {
    char text[2048];
    snprintf(text, sizeof text,
             "frames: %d\ngravity: [0, 0, 0]\n" HEAD "objects:\n" POST
             "%sjoints: {rail: {between: [post, car], kind: slider, axis: [1, 2, 2], at: [0, 0, 1], k_e: 1e5, %s}}\n%s",
             frames, car, rail, more);
    movie_play(m, text);
}

// How far the car's middle has come along the axis, and how far its corners are from where that takes them.
static double place_of(const Movie *m, size_t frame, double *off) {
    const double *x = m->position + 3 * m->scene.objects[1].particle, *now = x + frame * m->row;
    double along = 0, most = 0;
    for (size_t i = 0; i < 24; i++) along += (now[i] - x[i]) * axis[i % 3] / 8;
    for (size_t i = 0; i < 24; i++) most = fmax(most, fabs(now[i] - x[i] - along * axis[i % 3]));
    if (off) *off = most;
    return along;
}

static double speed_of(const Movie *m, size_t frame) {
    return (place_of(m, frame + 1, NULL) - place_of(m, frame - 1, NULL)) * 100;
}

#define DRIVE(more) "controls: [{joint: rail, " more "}]\n"

// A mass on a spring, about any position of rest, and nothing moves across.
static void test_spring(void **state) {
    static const struct { double rest, speed; } cases[] = {{0, 1}, {0.3, 0}, {-0.2, 2}, {0, 30}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const double stiffness = 300, rate = sqrt(stiffness / MASS), v = cases[i].speed, rest = cases[i].rest;
        char car[256], rail[128];
        double most = 0, off;
        Movie m;
        snprintf(car, sizeof car, CAR("position: [0, 0, 1], velocity: [%.17g, %.17g, %.17g]"), v * axis[0], v * axis[1],
                 v * axis[2]);
        snprintf(rail, sizeof rail, "stiffness: %g, position: %g", stiffness, rest);
        play(&m, 300, car, rail, "");
        for (size_t f = 1; f < m.frames; f++) {
            const double t = (double)f / 200, place = place_of(&m, f, &off);
            most = fmax(most, fabs(place));
            assert_close(place, rest - rest * cos(rate * t) + v / rate * sin(rate * t),
                         1e-3 * (fabs(v) / rate + fabs(rest)), 0);
            assert_close(off, 0, 1e-9, 0);
        }
        print_message("up to %.3g m\n", most);
        movie_end(&m);
    }
}

// A load across the rail, and one that turns the car, give way by F/k_e and T/(k_e radius^2), wherever the car is.
static void test_firm(void **state) {
    const double radius = 0.05;
    (void)state;
    for (int c = 0; c < 3; c++) {
        char text[1024];
        Movie m;
        double off = 0;
        snprintf(text, sizeof text,
                 "frames: 400\ngravity: [%d, %d, %d]\n" HEAD "objects:\n" POST AT_RAIL
                 "joints: {rail: {between: [post, car], kind: slider, axis: [0, 0, 1], at: [0.03, 0, 1], k_e: 1e5, "
                 "k_d: 300, "
                 "radius: %g, stiffness: 100, damping: 30, position: 0.4}}\n",
                 10 * (c == 0), 10 * (c == 1), 10 * (c == 2), radius);
        movie_play(&m, text);
        const double *x = m.position + 3 * m.scene.objects[1].particle, *now = x + 400 * m.row;
        double moved[3] = {0}, turned[3];
        for (size_t i = 0; i < 24; i++) moved[i % 3] += (now[i] - x[i]) / 8;
        // The turn by which the corners' arms differ, of a box of half sides .1, .05, .05.
        for (int a = 0; a < 3; a++) turned[a] = 0;
        for (size_t i = 0; i < 8; i++) {
            double arm[3], by[3], across[3];
            for (size_t a = 0; a < 3; a++)
                arm[a] = x[3 * i + a] - (a == 2), by[a] = now[3 * i + a] - x[3 * i + a] - moved[a];
            vector_cross(arm, by, across);
            for (int a = 0; a < 3; a++) turned[a] += across[a] / (8 * (a == 0 ? 0.005 : 0.0125));
        }
        const double force = 10 * MASS, turn = radius * radius * k_e, lever = 0.03;
        // The force acts in the middle, .03 m beside the rail: it turns about z where it is along y, about y where
        // along z.
        assert_close(turned[2], c == 1 ? -force * lever / turn : 0, 1e-5, 0.01);
        assert_close(moved[2], c == 2 ? 0.4 + force / 100 : 0.4, 1e-3, 0);
        off = c == 0 ? force / k_e : 0;
        assert_close(moved[0], off, 1e-5, 0.01);
        assert_close(moved[1], c == 1 ? force / k_e + lever * lever * force / turn : 0, 1e-5, 0.01);
        movie_end(&m);
    }
}

// Where a motor brings the car to rest: a force or a target against the spring, or against a limit, whose spring is
// k_e.
static void test_static(void **state) {
    static const struct {
        const char *rail, *control;
        double place;
    } cases[] = {{"stiffness: 400, damping: 60", "force: 20", 0.05},
                 {"stiffness: 400, damping: 60, position: -0.1", "position: 0.3", 0.2},
                 {"stiffness: 400, damping: 60, position: 0.1", "position: 0.2, force: -40", 0.2},
                 {"stiffness: 400, damping: 60, position: 5", "position: 1", 6},
                 {"damping: 50, limits: [-0.3, 0.1]", "force: 50", 0.1 + 50 / 1e5},
                 {"damping: 50, limits: [-0.1, 0.3]", "force: -50", -0.1 - 50 / 1e5},
                 {"damping: 50, limits: [0, 0]", "force: 50", 50 / 1e5},
                 {"stiffness: 400, damping: 60, limits: [-1, 0.1]", "position: 0.35", 0.1 + 100 / (1e5 + 400)}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char rail[256], control[128];
        Movie m;
        snprintf(rail, sizeof rail, "k_d: 200, %s", cases[i].rail);
        snprintf(control, sizeof control, DRIVE("%s"), cases[i].control);
        play(&m, 600, AT_RAIL, rail, control);
        assert_close(place_of(&m, 600, NULL), cases[i].place, 1e-7, 1e-5);
        movie_end(&m);
    }
}

// A servo holds a weight: stiffness times its sag is that.
static void test_servo(void **state) {
    char text[1024];
    Movie m;
    (void)state;
    snprintf(text, sizeof text,
             "frames: 600\n" HEAD "objects:\n" POST AT_RAIL
             "joints: {rail: {between: [post, car], kind: slider, axis: [0, 0, 5], at: [0, 0, 1], k_e: 1e5, stiffness: "
             "800, damping: 80}}\n" DRIVE("position: 0.3"));
    movie_play(&m, text);
    const double *x = m.position + 3 * m.scene.objects[1].particle;
    assert_close(x[600 * m.row + 2] - x[2], 0.3 - MASS * 9.81 / 800, 0, 1e-5);
    movie_end(&m);
}

// Without stiffness damping brings a motor to its speed, on and on; with it, the place of rest moves and then stays.
static void test_speed(void **state) {
    Movie m;
    (void)state;
    play(&m, 400, AT_RAIL, "damping: 40", DRIVE("speed: 2"));
    for (size_t f = 1; f < m.frames; f++) {
        const double rate = 40 / MASS, when = (double)f / 200;
        assert_close(place_of(&m, f, NULL), 2 * (when - (1 - exp(-rate * when)) / rate), 1e-3, 2e-3);
    }
    movie_end(&m);
    play(&m, 600, AT_RAIL, "stiffness: 2000, damping: 100",
         "controls: [{joint: rail, speed: 0.5, from: 20, to: 220}]\n");
    assert_close(place_of(&m, 180, NULL), 0.4, 0, 2e-3); // it keeps up
    assert_close(place_of(&m, 600, NULL), 0.5, 0, 1e-5);
    movie_end(&m);
}

// Half a swing of the spring, half of one with the limit's too; more k_d takes more of the speed, and pulls nothing
// back.
static void test_bounce(void **state) {
    static const double k_d[] = {0, 50, 400, 12000};
    const double slow = sqrt(300 / MASS), fast = sqrt((300 + k_e) / MASS);
    double before = 1.001;
    Movie m;
    (void)state;
    play(&m, 300, CAR("position: [0, 0, 1], velocity: [-0.5, -1, -1]"), "stiffness: 300, limits: [-1, 0]", "");
    for (size_t f = 1; f < m.frames; f++) {
        const double t = fmod((double)f / 200, M_PI / slow + M_PI / fast), in = t - M_PI / slow;
        assert_close(place_of(&m, f, NULL), in < 0 ? -1.5 / slow * sin(slow * t) : 1.5 / fast * sin(fast * in), 3e-3,
                     0);
    }
    movie_end(&m);
    for (int k = 0; k < 4; k++) {
        char rail[128];
        double most = 0;
        snprintf(rail, sizeof rail, "k_d: %g, limits: [-1, 0.1]", k_d[k]);
        play(&m, 100, CAR("position: [0, 0, 1], velocity: [0.33333333333, 0.66666666667, 0.66666666667]"), rail, "");
        for (size_t f = 1; f < m.frames; f++) most = fmax(most, place_of(&m, f, NULL));
        const double back = -speed_of(&m, 95);
        print_message("k_d %g: back at %.3g m/s, %.3g m beyond\n", k_d[k], back, most - 0.1);
        assert_true(back < before && back > -1e-3 && most > 0.1 && most < 0.1 + 1.01 * sqrt(MASS / k_e));
        if (k == 0) assert_close(back, 1, 0.01, 0);
        if (k == 3) assert_true(back < 0.1);
        before = back;
        movie_end(&m);
    }
}

// A free car comes to rest after m v^2/(2 friction) metres. Below its friction it creeps at force/k_f.
static void test_friction(void **state) {
    static const struct {
        const char *rail, *control;
        double place; // after 2 s
    } cases[] = {{"friction: 4", "force: 3", 2 * 3 / 4e3},
                 {"friction: 4, k_f: 500", "force: 3", 2 * 3 / 500.},
                 {"friction: 4", "force: 5", (5 - 4) / MASS * 2 * 2 / 2}};
    Movie m;
    (void)state;
    play(&m, 200, CAR("position: [0, 0, 1], velocity: [0.33333333333, 0.66666666667, 0.66666666667]"), "friction: 4",
         "");
    for (size_t f = 1; f < m.frames; f++) {
        const double moving = fmin((double)f / 200, MASS / 4);
        assert_close(place_of(&m, f, NULL), moving - 4 / MASS * moving * moving / 2, 5e-4, 0);
    }
    assert_close(place_of(&m, 200, NULL), MASS / (2 * 4), 1e-4, 0);
    movie_end(&m);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char control[64];
        snprintf(control, sizeof control, DRIVE("%s"), cases[i].control);
        play(&m, 400, AT_RAIL, cases[i].rail, control);
        assert_close(place_of(&m, 400, NULL), cases[i].place, 1e-5, 1e-2);
        movie_end(&m);
    }
}

#define FREE_RAIL                                                                                                      \
    "joints: {rail: {between: [base, rod], kind: slider, axis: [1, 2, 2], at: [0, 0, 1], radius: 0.1, k_e: 1e5, "

// Two objects in free flight that turn, with all that acts on the second acting back on the first; without damping and
// friction the energy stays, too.
static void test_kept(void **state) {
    double before[6], after[6], energy = 0, most = 0;
    (void)state;
    for (int k = 0; k < 2; k++) {
        char text[2048];
        Movie m;
        snprintf(text, sizeof text,
                 "frames: 200\ngravity: [0, 0, 0]\nfps: 200\nsubsteps: %d\nprecision: f64\nobjects:\n" FREE ROD(
                     "position: [0.05, 0.02, 1.01], velocity: [0.1, 0.5, 0.4], spin: [0, 1, 1]") "%s",
                 k ? 40 : 400,
                 k ? FREE_RAIL "k_d: 30, stiffness: 50, damping: 1, limits: [-0.1, 0.05], friction: 0.3}}\n"
                               "controls: [{joint: rail, force: 9, position: -0.1, from: 20, to: 120}]\n"
                   : FREE_RAIL "stiffness: 50, position: 0.1, limits: [-0.2, 0.06]}}\n");
        movie_play(&m, text);
        momenta(&m, 0, before);
        momenta(&m, 200, after);
        for (int c = 0; c < 6; c++) assert_close(after[c], before[c], 1e-9, 0);
        for (size_t f = 0; f < m.frames && !k; f++) {
            if (f == 0) energy = movie_energy(&m, f);
            most = fmax(most, fabs(movie_energy(&m, f) - energy));
        }
        if (!k) print_message("%g J at the start, off by %g of it\n", energy, most / energy);
        if (!k) assert_true(most < 5e-3 * energy);
        movie_end(&m);
    }
}

// One limit is passed, and friction holds one slider and not the other.
#define CHAIN                                                                                                          \
    "frames: 8\nfps: 30\nsubsteps: 200\nobjects:\n" POST CAR(                                                          \
        "position: [0, 0.05, 1.02], velocity: [0.3, 0, 0.1]") "  arm: {box: {size: [0.1, 0.1, 0.2], cells: [1, 1, "    \
                                                              "1]}, mass: 1, rigid: yes, position: [0.05, 0.05, "      \
                                                              "1.12], "                                                \
                                                              "spin: [0, 1, 0.2]}\n"                                   \
                                                              "joints:\n"                                              \
                                                              "  rail: {between: [post, car], kind: slider, axis: "    \
                                                              "[1, 0.2, 0.1], at: [0, 0, 1], k_e: 3e4, k_d: 20, "      \
                                                              "radius: "                                               \
                                                              "0.06, stiffness: 200, damping: 1, position: 0.03, "     \
                                                              "limits: [-0.01, 0.02], friction: 1, k_f: 20}\n"         \
                                                              "  jack: {between: [car, arm], kind: slider, axis: [0, " \
                                                              "0.3, 1], at: [0.05, 0.05, 1.05], k_e: 2e4, k_d: 10, "   \
                                                              "limits: [-0.01, 0.2], friction: 4, k_f: 100}\n"         \
                                                              "controls:\n  - {joint: rail, position: 0.05, from: 1, " \
                                                              "to: 4}\n  - {joint: rail, speed: 0.3}\n"                \
                                                              "  - {joint: jack, force: 12, from: 2}\n"

static void test_gradients(void **state) {
    static const char *const names[] = {"joints.rail.stiffness", "joints.rail.damping",  "joints.rail.position",
                                        "joints.rail.limits.1",  "joints.rail.friction", "joints.rail.k_f",
                                        "joints.rail.k_e",       "joints.rail.k_d",      "joints.rail.radius",
                                        "joints.rail.axis.y",    "joints.rail.at.x",     "controls.0.position",
                                        "controls.1.speed",      "controls.2.force"};
    (void)state;
    SimScene scene = movie_parse(CHAIN);
    movie_check_acting(&scene, SIM_SLIDE_KE);
    scene_free(&scene);
    movie_check_names(CHAIN, names, sizeof names / sizeof *names);
}

static void test_isas(void **state) {
    (void)state;
    movie_check_isas(CHAIN);
}

// Quiet a little below the bound, and not above: held across, by a spring along, in a limit, and by friction.
static void test_stable_step(void **state) {
    static const char *const joints[] = {"k_e: 1e3",
                                         "k_e: 1e3, k_d: 100",
                                         "k_e: 1e3, stiffness: 1e5",
                                         "k_e: 1e3, damping: 300",
                                         "k_e: 1e3, limits: [0, 0]",
                                         "k_e: 1e3, friction: 1e9, k_f: 300"};
    (void)state;
    for (size_t k = 0; k < sizeof joints / sizeof *joints; k++)
        for (int both = 0; both < (k < 2 ? 1 : 2); both++) { // what slides on lengthens a lever
            char text[2048];
            snprintf(
                text, sizeof text,
                "%s" ROD("position: [0.27, 0, 1]") "joints: {rail: {between: [%s, rod], kind: slider, axis: [0, 1, "
                                                   "0.2], at: [0, 0, 1], %s}}\nvalues: {rod: {velocity: [[0.001, "
                                                   "0.002, 0.001]]}}\n",
                both ? "  base: {box: {size: [0.5, 0.04, 0.02], cells: [1, 1, 1]}, mass: 2, rigid: yes, "
                       "position: [-0.27, 0, 1]}\n"
                     : POST,
                both ? "base" : "post", joints[k]);
            movie_check_stable(text);
        }
}

// A light free object bears a heavier one, which a spring takes as far away as its limits let it: the bound is that of
// the longer lever, on either side.
static void test_stable_far(void **state) {
    static const char *const ways[] = {"position: 0.5, limits: [-0.1, 0.5]", "position: -0.5, limits: [-0.5, 0.1]"};
    (void)state;
    for (size_t k = 0; k < 2; k++) {
        char text[1024];
        snprintf(
            text, sizeof text,
            "  base: {box: {size: [0.1, 0.1, 0.1], cells: [1, 1, 1]}, mass: 0.2, rigid: yes, position: [0, 0, 1]}\n"
            "%sjoints: {rail: {between: [base, car], kind: slider, axis: [0, 1, 0], at: [0, 0, 1.05], k_e: 1e4, "
            "k_d: 3, radius: 0.05, stiffness: 20, damping: 3, %s}}\n"
            "values: {car: {velocity: [[0.001, 0.002, 0.001]]}}\n",
            CAR("position: [0, 0, 1.1]"), ways[k]);
        const double speed = movie_speed_at(text, 0.97);
        print_message("%g m/s\n", speed);
        assert_true(speed < 0.05);
    }
}

// What controls of one joint whose times overlap add up to, frame by frame; the rows of several joints.
static void test_thrusts(void **state) {
    static const double target[] = {0.5, 3.5, 3, 1, 1, 2}, speed[] = {200, 200, 0, 0, 0, 0},
                        force[] = {0, 0, 0, 0, 7, 7};
    (void)state;
    SimScene scene = movie_parse("frames: 6\n" HEAD "objects:\n" POST AT_RAIL ROD(
        "position: [0, 0, 2]") "joints:\n  pin: {between: [car, rod], kind: hinge, axis: [0, 0, 1], at: [0, 0, 2], "
                               "k_e: 1e3}\n"
                               "  idle: {between: [post, rod], kind: slider, axis: [0, 0, 1], at: [0, 0, 1], k_e: "
                               "1e3}\n"
                               "  rail: {between: [post, car], kind: slider, axis: [1, 2, 2], at: [0, 0, 1], k_e: 1e3, "
                               "stiffness: 4, damping: "
                               "0.1}\n"
                               "controls:\n  - {joint: rail, position: 2, from: 1, to: 3}\n  - {joint: rail, speed: "
                               "200, to: 2}\n"
                               "  - {joint: rail, position: -1, from: 2, to: 5}\n  - {joint: rail, force: 7, from: "
                               "4}\n  - {joint: pin, torque: "
                               "3}\n");
    assert_int_equal(scene.sliders, 2);
    assert_int_equal(scene.model.slides, 14);
    assert_string_equal(scene.slider[1].name, "rail");
    for (size_t f = 0; f < 6; f++) {
        assert_close(scene.values.of[SIM_THRUST][14 * f + scene.slider[1].row],
                     4 * target[f] + 0.1 * speed[f] + force[f], 1e-12, 0);
        assert_close(scene.values.of[SIM_THRUST][14 * f + scene.slider[0].row], 0, 0, 0);
        assert_close(scene.values.of[SIM_TORQUE][f], 3, 1e-15, 0);
    }
    scene_free(&scene);
}

// The run tells which slider was how far beyond a limit.
static void test_beyond(void **state) {
    SimScene scene = movie_parse("frames: 100\ngravity: [0, 0, 0]\n" HEAD "objects:\n" POST AT_RAIL
                                 "joints: {rail: {between: [post, car], kind: slider, axis: [0, 0, 1], at: [0, 0, 1], "
                                 "k_e: 1e4, k_d: 200, limits: [-0.02, 0.1]}}\n" DRIVE("force: -30"));
    RolloutFile file = {0};
    RecordWorst worst = {0};
    Error err;
    (void)state;
    assert_status_ok(record_run(&scene, &(SimOptions){.threads = 1}, &file, &worst, &err), err);
    assert_ptr_equal(worst.slider, scene.slider);
    assert_null(worst.turning);
    assert_true(worst.beyond_m > 30 / 1e4 && worst.beyond_m < 0.01);
    assert_int_equal(file.surface.springs, 0);
    rollout_file_free(&file);
    scene_free(&scene);
}

static void test_wrong(void **state) {
    static const struct {
        const char *joint, *control, *words;
    } cases[] = {
        {"kind: slide, axis: [0, 1, 0]", "", "s.yaml:8: kind: expected"},
        {"kind: slider", "", "s.yaml:8: j: hinges, sliders and ball joints with limits have an axis"},
        {"kind: slider, axis: [0, 0, 0]", "", "s.yaml:8: axis: expected a vector of non-zero length"},
        {"kind: slider, axis: [0, nan, 0]", "", "s.yaml:8: axis: expected 3 finite numbers"},
        {"kind: weld, stiffness: 1", "", "s.yaml:8: stiffness: a weld leaves nothing free"},
        {"kind: slider, axis: [0, 1, 0], angle: 1", "", "s.yaml:8: angle: only a hinge has an angle"},
        {"kind: hinge, axis: [0, 1, 0], position: 1", "", "s.yaml:8: position: only a slider has a position"},
        {"kind: slider, axis: [0, 1, 0], position: nan", "", "s.yaml:8: position: expected"},
        {"kind: slider, axis: [0, 1, 0], stiffness: -1", "", "s.yaml:8: stiffness: expected"},
        {"kind: slider, axis: [0, 1, 0], limits: [0.1, -0.1]", "", "s.yaml:8: limits: expected [low, high], found 0.1"},
        {"kind: slider, axis: [0, 1, 0], limits: [0.1, 0.2]", "",
         "s.yaml:8: limits: positions are from the pose at the start, which 0.1 to 0.2 m leave out"},
        {"kind: slider, axis: [0, 1, 0], limits: [nan, 1]", "", "s.yaml:8: limits: expected 2 finite numbers"},
        {"kind: slider, axis: [0, 1, 0], friction: -1", "", "s.yaml:8: friction: expected"},
        {"kind: slider, axis: [0, 1, 0], k_f: 1", "", "s.yaml:8: k_f: the joint has no \"friction\""},
        {"kind: slider, axis: [0, 1, 0], postion: 1", "", "did you mean \"position\"?"},
        {"kind: slider, axis: [0, 1, 0]", "{joint: i, force: 1}", "s.yaml:9: unknown hinge or slider \"i\""},
        {"kind: slider, axis: [0, 1, 0]", "{joint: j}",
         "s.yaml:9: j is a slider: expected \"force\", \"position\" or \"speed\""},
        {"kind: slider, axis: [0, 1, 0]", "{joint: j, torque: 1}", "s.yaml:9: j is a slider: expected \"force\""},
        {"kind: slider, axis: [0, 1, 0]", "{joint: j, force: [0, 0, 1]}", "s.yaml:9: force: expected"},
        {"kind: slider, axis: [0, 1, 0]", "{joint: j, force: nan}", "s.yaml:9: force: expected a finite number, found"},
        {"kind: slider, axis: [0, 1, 0]", "{joint: j, force: 1e13}",
         "s.yaml:9: force: expected a finite number from -1e+12 to 1e+12, found 1e13"},
        {"kind: slider, axis: [0, 1, 0]", "{joint: j, position: 1}", "position: joint j has no \"stiffness\""},
        {"kind: slider, axis: [0, 1, 0]", "{joint: j, speed: 1}", "speed: joint j has no \"damping\""},
        {"kind: slider, axis: [0, 1, 0]", "{object: car, position: 1}", "are for a \"joint\""},
        {"kind: hinge, axis: [0, 1, 0]", "{joint: j, force: 1}", "s.yaml:9: j is a hinge: expected \"torque\""},
        {"kind: hinge, axis: [0, 1, 0], stiffness: 1", "{joint: j, position: 1}", "j is a hinge: expected \"torque\""}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        joint_refused("frames: 3\n" HEAD "objects:\n" POST AT_RAIL
                      "joints: {j: {between: [post, car], at: [0, 0, 1], k_e: 1e3, ",
                      cases[i].joint, cases[i].control, cases[i].words);
    movie_refused("frames: 3\n" HEAD "objects:\n" POST
                  "  rag: {cloth: {size: [1, 1], cells: [2, 2]}, density: 1, springs: {k_e: 100}}\n"
                  "joints: {j: {between: [post, rag], at: [0, 0, 1], k_e: 1e3, kind: slider, axis: [1, 0, 0]}}\n",
                  "s.yaml:8: between: rag is no rigid solid, so only a ball joint holds it");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spring),      cmocka_unit_test(test_firm),       cmocka_unit_test(test_static),
        cmocka_unit_test(test_servo),       cmocka_unit_test(test_speed),      cmocka_unit_test(test_bounce),
        cmocka_unit_test(test_friction),    cmocka_unit_test(test_kept),       cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_isas),        cmocka_unit_test(test_thrusts),    cmocka_unit_test(test_beyond),
        cmocka_unit_test(test_stable_step), cmocka_unit_test(test_stable_far), cmocka_unit_test(test_wrong)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
