// SPDX-License-Identifier: Apache-2.0
// Joints of scene files: pendulums, welds and chains by closed forms, what is kept, gradients, and what is refused.
#include "base/vector.h"
#include "lab/record.h"
#include "tests/lab_movie.h"

#define POST                                                                                                           \
    "  post: {box: {size: [0.1, 0.1, 0.1], cells: [1, 1, 1]}, density: 1000, rigid: yes, fixed: all, position: [0, "   \
    "0, 1]}\n"
#define ROD(name, x)                                                                                                   \
    "  " name ": {box: {size: [0.5, 0.04, 0.02], cells: [1, 1, 1]}, density: 500, rigid: yes, position: [" x           \
    ", 0, 1]}\n"

static void place_of(const Movie *m, size_t frame, size_t object, size_t particle, double out[3]) {
    memcpy(out, m->position + frame * m->row + 3 * (m->scene.objects[object].particle + particle), 3 * sizeof *out);
}

// A rod that hangs from a hinge by its end, let go at 4 degrees: the period of a physical pendulum. Masses stay those
// of the rod, whose joint lies beside it.
static void test_pendulum(void **state) {
    const double a = 0.5, h = 0.02, d = 0.27, g = 9.81, angle = 4 * M_PI / 180;
    char text[1024];
    Movie m;
    double before = 0, when[3], place[3], mass = 0;
    size_t crossings = 0;
    (void)state;
    snprintf(text, sizeof text,
             "frames: 360\nfps: 120\nsubsteps: 40\nprecision: f64\nobjects:\n" POST
             "  rod: {box: {size: [0.5, 0.04, 0.02], cells: [1, 1, 1]}, density: 500, rigid: yes, position: [%.9f, 0, "
             "%.9f], rotation: {axis: [0, 1, 0], angle: 86}}\n"
             "joints: {hip: {between: [post, rod], kind: hinge, axis: [0, 3, 0], at: [0, 0, 0.9], k_e: 3e5}}\n",
             d * sin(angle), 0.9 - d * cos(angle));
    movie_play(&m, text);
    const SceneObject *rod = m.scene.objects + 1;
    for (size_t i = rod->particle; i < rod->particle + rod->particles; i++) mass += m.scene.values.of[SIM_MASS][i];
    assert_close(mass, 500 * 0.5 * 0.04 * 0.02, 0, 1e-12);
    for (size_t f = 0; f < m.frames && crossings < 3; f++) {
        double middle = 0;
        for (size_t i = 0; i < 8; i++) {
            place_of(&m, f, 1, i, place);
            middle += place[0] / 8;
        }
        if (f && (middle < 0) != (before < 0)) when[crossings++] = ((double)f - 1 + before / (before - middle)) / 120;
        before = middle;
    }
    assert_int_equal(crossings, 3);
    const double inertia = (a * a + h * h) / 12 + d * d, period = 2 * M_PI * sqrt(inertia / (g * d));
    assert_close(when[2] - when[0], period * (1 + angle * angle / 16), 0, 5e-4);
    movie_end(&m);
}

// What hangs from a joint of any kind sinks by its weight over k_e.
static void test_sag(void **state) {
    static const char *const kinds[] = {"ball", "hinge, axis: [1, 0, 0]", "weld"};
    (void)state;
    for (int k = 0; k < 3; k++) {
        char text[1024];
        Movie m;
        double at[2][3];
        snprintf(text, sizeof text,
                 "frames: 60\nfps: 30\nsubsteps: 200\nprecision: f64\nobjects:\n" POST
                 "  box: {box: {size: [0.1, 0.1, 0.1], cells: [1, 1, 1]}, mass: 2, rigid: yes, position: [0, 0, 0.8]}\n"
                 "joints: {j: {between: [box, post], kind: %s, at: [0, 0, 0.9], radius: 0.05, k_e: 2e4, k_d: 200}}\n",
                 kinds[k]);
        movie_play(&m, text);
        for (size_t f = 0; f < 2; f++) place_of(&m, f * (m.frames - 1), 1, 0, at[f]);
        assert_close(at[0][2] - at[1][2], 2 * 9.81 / 2e4, 0, 2e-3);
        movie_end(&m);
    }
}

// Without gravity, of a bar that turns about an axis askew: the hinge's axis stays where it is, and so does the energy.
static void test_hinge(void **state) {
    Movie m;
    double place[3], far[2][3];
    (void)state;
    movie_play(
        &m,
        "frames: 40\nfps: 60\nsubsteps: 600\nprecision: f64\nobjects:\n" POST ROD(
            "bar",
            "0.32") "joints: {pin: {between: [bar, post], kind: hinge, axis: [1, 2, 2], at: [0, 0, 1], radius: 0.1, "
                    "k_e: "
                    "1e6, k_d: 0}}\nvalues: {bar: {velocity: [[0, 0, 0]]}}\ncontrols: [{object: bar, force: [0, 2, 0], "
                    "to: 20}]\ngravity: [0, 0, 0]\n");
    assert_int_equal(m.scene.objects[0].hidden, 10); // the post holds the bar's two points, and has an arm
    assert_int_equal(m.scene.objects[1].hidden, 3);
    assert_int_equal(m.scene.joint_springs, 8);
    assert_int_equal(m.scene.model.hinges, 1);
    for (size_t f = 0; f < m.frames; f++)
        for (size_t k = 0; k < 2; k++) {
            place_of(&m, f, 1, 8 + k, place);
            for (int c = 0; c < 3; c++) {
                const double axis[3] = {1. / 3, 2. / 3, 2. / 3}, at = (c == 2) + (k ? -0.1 : 0.1) * axis[c];
                assert_close(place[c], at, 2e-4, 0);
            }
        }
    place_of(&m, 20, 1, 0, far[0]);
    place_of(&m, 40, 1, 0, far[1]);
    vector_between(*far, 0, 1, place);
    assert_true(vector_dot(place, place) > 0.01); // it turns
    assert_close(movie_energy(&m, 40), movie_energy(&m, 21), 0, 2e-3);
    movie_end(&m);
}

// Two halves of a box that are welded move as the whole box.
static void test_weld(void **state) {
#define FREE "frames: 30\nfps: 60\nsubsteps: 800\nprecision: f64\ngravity: [0, 0, -9.81]\nobjects:\n"
    static const char *const motion = "velocity: [%g, %g, %g], spin: [1, 2, 1.5]}\n";
    Movie half, whole;
    double place[2][3];
    char text[2048], one[128], two[128];
    (void)state;
    snprintf(one, sizeof one, motion, 1., 0 - 1.5 * 0.1, 2 * 0.1); // V + w x r at r = (-.1, 0, 0)
    snprintf(two, sizeof two, motion, 1., 0 + 1.5 * 0.1, -2 * 0.1);
    snprintf(text, sizeof text,
             FREE "  a: {box: {size: [0.2, 0.1, 0.06], cells: [1, 1, 1]}, density: 500, rigid: yes, position: [-0.1, "
                  "0, 0], %s  b: {box: {size: [0.2, 0.1, 0.06], cells: [1, 1, 1]}, density: 500, rigid: yes, position: "
                  "[0.1, 0, 0], %sjoints: {glue: {between: [a, b], kind: weld, at: [0, 0, 0], radius: 0.08, k_e: 2e5, "
                  "k_d: 30}}\n",
             one, two);
    movie_play(&half, text);
    movie_play(&whole, FREE "  a: {box: {size: [0.4, 0.1, 0.06], cells: [2, 1, 1]}, density: 500, rigid: yes, "
                            "velocity: [1, 0, 0], spin: [1, 2, 1.5]}\n");
    for (size_t f = 0; f < half.frames; f++)
        for (size_t i = 0; i < 8; i++)
            for (size_t o = 0; o < 2; o++) {
                double least = INFINITY;
                place_of(&half, f, o, i, place[0]);
                for (size_t k = 0; k < 12; k++) {
                    double d[3];
                    place_of(&whole, f, 0, k, place[1]);
                    vector_between(*place, 0, 1, d);
                    least = fmin(least, sqrt(vector_dot(d, d)));
                }
                assert_true(least < 1e-3);
            }
    movie_end(&half);
    movie_end(&whole);
}

#define GROUND "contacts: {g: {k_e: 2e3, k_d: 4, k_f: 9, mu: 0.3, fade: 0.01}}\nplanes: [{}]\n"
#define CHAIN(contact)                                                                                                 \
    "frames: 4\nfps: 30\nsubsteps: 200\n" contact "objects:\n"                                                         \
    "  post: {box: {size: [0.1, 0.1, 0.1], cells: [1, 1, 1]}, density: 1000, rigid: yes, fixed: all, position: [0, "   \
    "0, "                                                                                                              \
    "0.05]}\n"                                                                                                         \
    "  upper: {box: {size: [0.3, 0.04, 0.04], cells: [2, 1, 1]}, density: 300, rigid: yes, position: [0.13, 0, 0.1], " \
    "spin: [0, 2, 1]}\n"                                                                                               \
    "  lower: {box: {size: [0.2, 0.05, 0.04], cells: [1, 1, 1]}, density: 300, rigid: yes, position: [0.4, 0, 0.03], " \
    "velocity: [0, 0, -0.1]}\n"                                                                                        \
    "  soft: {box: {size: [0.1, 0.1, 0.1], cells: [1, 1, 1]}, density: 300, position: [0.6, 0, 0.0473], velocity: "    \
    "[0.3, 0, 0], solid: {young: 2e4, poisson: 0.3, k_d: 2}}\n"                                                        \
    "joints:\n"                                                                                                        \
    "  hip: {between: [post, upper], kind: hinge, axis: [0, 1, 0], at: [0, 0, 0.1], k_e: 2e4, k_d: 20}\n"              \
    "  knee: {between: [upper, lower], at: [0.29, 0, 0.06], k_e: 1e4, k_d: 10}\n"                                      \
    "  foot: {between: [lower, soft], at: [0.55, 0.05, 0], radius: 0.03, k_e: 500, k_d: 1}\n"

static void test_gradients(void **state) {
    (void)state;
    movie_check_gradients(CHAIN(""));
}

// Points of joints are neither drawn nor touch; joined objects pass through each other; numbers of joints can be
// fitted.
static void test_record(void **state) {
    static const char *const names[] = {"joints.hip.k_e", "joints.knee.at.x", "joints.hip.axis.x", "upper.density"};
    SimScene scene = movie_parse(CHAIN(GROUND));
    RolloutFile file = {0};
    RecordWorst worst = {0};
    Error err;
    double gap[64];
    Sim *sim;
    (void)state;
    assert_int_equal(scene.model.springs, 8 + 4 + 4);
    assert_int_equal(scene.joint_springs, 16);
    assert_status_ok(record_run(&scene, &(SimOptions){.threads = 1}, &file, &worst, &err), err);
    assert_int_equal(file.surface.springs, 0);
    for (size_t o = 0; o < 4; o++) {
        const SceneObject *object = scene.objects + o;
        for (size_t i = 0; i < object->particles; i++) {
            const bool joint = i + object->hidden >= object->particles;
            const size_t at = object->particle + i;
            assert_true((file.sets[0].radius[at] == 0) == joint);
            for (size_t k = 0; k <= file.steps && joint; k++)
                assert_false(file.surface.touching[k * scene.model.particles + at]);
        }
    }
    rollout_file_free(&file);
    assert_true(scene.model.particles <= 64);
    assert_status_ok(sim_open(&scene.model, &(SimOptions){.precision = SIM_F64}, &sim, &err), err);
    assert_status_ok(sim_set(sim, &scene.values, &err), err);
    assert_status_ok(sim_touching(sim, scene.values.of[SIM_POSITION], gap, &err), err);
    for (size_t i = 0; i < scene.model.particles; i++) assert_true(isinf(gap[i])); // the rods are inside of each other
    sim_close(sim);
    scene_free(&scene);
    movie_check_names(CHAIN(GROUND), names, sizeof names / sizeof *names);
}

// The bound knows joints: quiet a little below it, and not above; at what is fixed, and between two that move.
static void test_stable_step(void **state) {
    static const char *const scenes[] = {
        POST ROD("bar",
                 "0.32") "joints: {pin: {between: [post, bar], kind: hinge, axis: [0, 1, 0], at: [0, 0, 1], k_e: "
                         "1e5}}\nvalues: {bar: {velocity: [[0.001, 0.002, 0.001]]}}\n",
        ROD("bar", "0.26") ROD("other", "-0.26") "joints: {pin: {between: [bar, other], at: [0, 0, 1], k_e: 1e5}}\n"
                                                 "values: {bar: {velocity: [[0.001, 0.002, 0.001]]}}\n"};
    (void)state;
    for (int k = 0; k < 2; k++) {
        movie_check_stable(scenes[k]);
    }
}

// With too large a step the failure names a particle, in f32 too, where points without mass overflow on the way.
static void test_explosion(void **state) {
    (void)state;
    for (int substeps = 20; substeps < 48; substeps++) {
        char text[1024];
        Error err;
        Sim *sim;
        snprintf(text, sizeof text,
                 "frames: 30\nfps: 30\nsubsteps: %d\nobjects:\n"
                 "  post: {box: {size: [0.05, 0.05, 0.05], cells: [1, 1, 1]}, density: 500, rigid: yes, fixed: all}\n"
                 "  a: {box: {size: [0.09, 0.03, 0.03], cells: [1, 1, 1]}, density: 500, rigid: yes, position: [0.05, "
                 "0, 0]}\n"
                 "  b: {box: {size: [0.09, 0.03, 0.03], cells: [1, 1, 1]}, density: 500, rigid: yes, position: [0.15, "
                 "0, 0]}\n"
                 "joints:\n  p: {between: [post, a], at: [0, 0, 0], k_e: 2e4, k_d: 5}\n"
                 "  q: {between: [a, b], at: [0.1, 0, 0], k_e: 2e4, k_d: 5}\n",
                 substeps);
        SimScene scene = movie_parse(text);
        const SimRun run = scene_run(&scene);
        assert_status_ok(sim_open(&scene.model, &(SimOptions){.threads = 1}, &sim, &err), err);
        assert_status_ok(sim_set(sim, &scene.values, &err), err);
        assert_status_error(sim_rollout(sim, &run, &err), STATUS_FAILED, err, "is not finite");
        sim_close(sim);
        scene_free(&scene);
    }
}

static void test_wrong(void **state) {
    static const struct {
        const char *joint, *words;
    } cases[] = {
        {"{between: [a, b], at: [0, 0, 0]}", "k_e"},
        {"{between: [a, c], at: [0, 0, 0], k_e: 1}", "s.yaml:12: unknown object \"c\""},
        {"{between: [a, a], at: [0, 0, 0], k_e: 1}", "s.yaml:12: between: expected two objects, found one twice"},
        {"{between: a, at: [0, 0, 0], k_e: 1}", "s.yaml:12: between: expected the names of two objects"},
        {"{between: [a, [b]], at: [0, 0, 0], k_e: 1}", "s.yaml:12: between: expected the names of two objects"},
        {"{between: [f, g], at: [0, 0, 0], k_e: 1}", "s.yaml:12: between: both objects are fixed"},
        {"{between: [s, t], at: [0, 0, 0], k_e: 1}", "s.yaml:12: between: one of the two must be a rigid solid"},
        {"{between: [p, s], at: [0, 0, 0], k_e: 1}", "s.yaml:12: between: one of the two must be a rigid solid"},
        {"{between: [a, s], kind: weld, at: [0, 0, 0], k_e: 1}", "s is no rigid solid, so only a ball joint holds it"},
        {"{between: [a, b], kind: hinge, at: [0, 0, 0], k_e: 1}", "s.yaml:12: j: hinges, sliders and ball joints with"},
        {"{between: [a, b], axis: [1, 0, 0], at: [0, 0, 0], k_e: 1}",
         "s.yaml:12: j: hinges, sliders and ball joints with"},
        {"{between: [a, b], kind: hinge, axis: [0, 0, 0], at: [0, 0, 0], k_e: 1}", "axis: expected a vector"},
        {"{between: [a, b], kind: slide, at: [0, 0, 0], k_e: 1}", "kind: expected"},
        {"{between: [a, b], at: [0, 0, 0], k_e: 1, radius: 0}", "radius: expected"},
        {"{between: [a, b], at: [0, 0, 0], k_e: 1, radius: 101}",
         "radius: expected at most 100 times the larger object"},
        {"[1]", "s.yaml:12: "},
        {"{between: [a, b], at: [0, 0, 0], k_e: 1}, a.b: {between: [a, b], at: [0, 0, 0], k_e: 1}",
         "s.yaml:12: a.b: a name has no dot"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[2048];
#define BOX "{box: {size: [1, 1, 1], cells: [1, 1, 1]}, density: 1, "
#define SOFT BOX "solid: {young: 1e3, poisson: 0.3}}\n"
        snprintf(text, sizeof text,
                 "frames: 1\nfps: 30\nsubsteps: 10\nobjects:\n  a: " BOX "rigid: yes}\n  b: " BOX
                 "rigid: yes}\n  f: " BOX "rigid: yes, fixed: all}\n  g: " BOX "rigid: yes, fixed: all}\n  s: " SOFT
                 "  t: " SOFT
                 "  p: {points: {at: [[0, 0, 0], [1, 0, 0], [0, 1, 0]]}, mass: 6, rigid: yes}\njoints: {j: %s}\n",
                 cases[i].joint);
        movie_refused(text, cases[i].words);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pendulum),    cmocka_unit_test(test_sag),       cmocka_unit_test(test_hinge),
        cmocka_unit_test(test_weld),        cmocka_unit_test(test_gradients), cmocka_unit_test(test_record),
        cmocka_unit_test(test_stable_step), cmocka_unit_test(test_explosion), cmocka_unit_test(test_wrong)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
