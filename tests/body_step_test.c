// SPDX-License-Identifier: Apache-2.0
// Steps of particles that belong to bodies.
#include "model/body_step.h"

#include "base/random.h"
#include "tests/test.h"

#include <math.h>
#include <string.h>

enum { COUNT = 30, C = 8, L = 1 };

static void assert_near(real found, double expected, double tolerance) {
    if (!(fabs((double)found - expected) <= tolerance)) fail_msg("expected %.6f, found %.6f", expected, (double)found);
}

// Bodies 0 and 3, and what stands still far below them, by turns. Body 0 moved by (0.01, 0, 0); body 3 rotated by 0.1
// about z.
static void make(int32_t *body, real *before, real *now) {
    for (size_t i = 0; i < COUNT; i++) {
        body[i] = (int32_t[]){0, 3, -1}[i % 3];
        double x[3] = {0.1 * (double)(i % 4), 0.1 * (double)(i % 5), 1 + 0.05 * (double)i}, c = cos(0.1), s = sin(0.1);
        if (body[i] == -1) x[2] -= 3;
        for (size_t k = 0; k < 3; k++) before[3 * i + k] = now[3 * i + k] = (real)x[k];
        if (body[i] == 0) now[3 * i] += 0.01f;
        if (body[i] == 3) now[3 * i] = (real)(c * x[0] - s * x[1]), now[3 * i + 1] = (real)(s * x[0] + c * x[1]);
    }
}

// What steps need, with an untrained network.
typedef struct Stage {
    Device *device;
    Parameters parameters;
    BodyNetwork network;
    Tape tape;
    BodyScales scales;
    BodyStep step;
} Stage;

static void open_stage(Stage *s, int threads) {
    Error err;
    *s = (Stage){.scales = body_scales(2.5)};
    assert_status_ok(device_open("cpu", threads, &s->device, &err), err);
    parameters_init(&s->parameters, s->device);
    body_network_create(&s->parameters, C, L, &s->network);
    assert_status_ok(parameters_allocate(&s->parameters, 1, &err), err);
    tape_init(&s->tape, s->device);
}

static void close_stage(Stage *s) {
    tape_free(&s->tape);
    body_step_free(&s->step);
    parameters_free(&s->parameters);
    device_close(s->device);
}

// The output layer starts at zero: bodies go on as they moved.
static void test_untrained_bodies_go_on(void **state) {
    (void)state;
    Error err;
    Stage stage;
    int32_t body[COUNT];
    real before[3 * COUNT], now[3 * COUNT], start[3 * COUNT];
    SceneBodies bodies = {.count = COUNT, .scale = 1, .body = body, .before = before, .now = now};
    open_stage(&stage, 1);
    make(body, before, now);
    memcpy(start, now, sizeof now);
    body_step(&stage.tape, &stage.network, &stage.scales, &stage.step, 1, &(SceneBodies *){&bodies});
    assert_status_ok(device_status(stage.device, &err), err);
    assert_memory_equal(before, start, sizeof start);
    for (size_t i = 0; i < COUNT; i++) {
        const real *was = start + 3 * i, *is = now + 3 * i;
        if (body[i] == -1) assert_memory_equal(is, was, 3 * sizeof *is);
        if (body[i] == 0) assert_near(is[0], (double)was[0] + 0.01, 1e-5), assert_near(is[1], (double)was[1], 1e-5);
        if (body[i] == 3) {
            double c = cos(0.1), s = sin(0.1); // the rotation is about the middle, whose way goes on straight
            assert_near(is[2], (double)was[2], 1e-5);
            assert_true(hypot((double)is[0] - (c * (double)was[0] - s * (double)was[1]),
                              (double)is[1] - (s * (double)was[0] + c * (double)was[1])) < 0.005);
        }
    }
    close_stage(&stage);
}

// Scenes of one step move as each does alone, one of them without bodies.
static void test_scenes_do_not_see_each_other(void **state) {
    (void)state;
    enum { SCENES = 3 };
    Error err;
    Stage stage;
    static int32_t body[SCENES][COUNT];
    static real before[2][SCENES][3 * COUNT], now[2][SCENES][3 * COUNT];
    SceneBodies bodies[2][SCENES], *together[SCENES];
    open_stage(&stage, 2);
    for (size_t i = 0; i < stage.parameters.size; i++) stage.parameters.values[i] += (real)(0.05 * sin((double)i));
    for (int way = 0; way < 2; way++)
        for (size_t s = 0; s < SCENES; s++) {
            make(body[s], before[way][s], now[way][s]);
            for (size_t i = 0; i < COUNT; i++) now[way][s][3 * i + 2] += (real)s * (real)0.002;
            for (size_t i = 0; s == 1 && i < COUNT; i++) body[s][i] = -1;
            bodies[way][s] = (SceneBodies){
                .count = COUNT, .scale = 1, .body = body[s], .before = before[way][s], .now = now[way][s]};
            together[s] = &bodies[1][s];
        }
    for (size_t s = 0; s < SCENES; s++)
        body_step(&stage.tape, &stage.network, &stage.scales, &stage.step, 1, &(SceneBodies *){&bodies[0][s]});
    body_step(&stage.tape, &stage.network, &stage.scales, &stage.step, SCENES, together);
    assert_status_ok(device_status(stage.device, &err), err);
    // With AVX2 alone, oneDNN's products of matrices with more rows round otherwise.
    for (size_t s = 0; s < SCENES; s++)
        for (size_t i = 0; i < 3 * COUNT; i++) assert_near(now[1][s][i], (double)now[0][s][i], 1e-6);
    assert_memory_not_equal(now[0][0], now[0][2], sizeof now[0][0]);
    close_stage(&stage);
}

static void test_nothing_moves(void **state) {
    (void)state;
    Device *device;
    Error err;
    Tape tape;
    int32_t body[2] = {-1, -1};
    real before[6] = {1, 2, 3, 4, 5, 6}, now[6] = {1, 2, 3, 4, 5, 6}, same[6] = {1, 2, 3, 4, 5, 6};
    BodyNetwork network = {0};
    BodyScales scales = body_scales(1);
    BodyStep step = {0};
    SceneBodies bodies = {.count = 2, .scale = 1, .body = body, .before = before, .now = now};
    assert_status_ok(device_open("cpu", 1, &device, &err), err);
    tape_init(&tape, device);
    body_step(&tape, &network, &scales, &step, 1, &(SceneBodies *){&bodies});
    assert_status_ok(device_status(device, &err), err);
    assert_memory_equal(now, same, sizeof now);
    tape_free(&tape);
    body_step_free(&step);
    device_close(device);
}

// A particle takes the body of the nearest point of the same colour, and its past position from that point's motion.
static void test_bodies_of_a_field(void **state) {
    (void)state;
    Device *device;
    Error err;
    Tape tape;
    MotionField field;
    Observation observation = {0};
    const double quarter[9] = {0, -1, 0, 1, 0, 0, 0, 0, 1}; // the scene is rotated by 90 degrees about z
    real position[9] = {0, 0.1f, 0, 0, 0.1f, 0, 0, 1, 0}, colour[9] = {1, 0, 0, 0, 0, 1, 1, 0, 0},
         moving[3] = {1, 1, 0};
    assert_status_ok(device_open("cpu", 1, &device, &err), err);
    tape_init(&tape, device);
    assert_status_ok(motion_field_create(3, &field, &err), err);
    // Point 0 is red and of body 2, point 1 blue and of body 1, point 2 stands still where the particles are.
    const real x[9] = {0.12f, 0, 0, 0.3f, 0, 0, 0.1f, 0, 0}, c[9] = {1, 0, 0, 0, 0, 1, 1, 0, 0}, body[3] = {2, 1, -1};
    memcpy(field.position, x, sizeof x);
    memcpy(field.colour, c, sizeof c);
    memcpy(field.body, body, sizeof body);
    field.motion[0] = 0.05f, field.gradient[1] = 0, field.gradient[0] = 1;
    observation.turn = quarter;
    SceneBodies bodies;
    BodiesInput input = {&observation, &field, 3, position, colour, moving};
    scene_bodies_find(&tape, 0.5, 2, 1, &input, &bodies);
    assert_int_equal(bodies.body[0], 2);
    assert_int_equal(bodies.body[1], 1);
    assert_int_equal(bodies.body[2], -1);
    // In the field's frame the particle is at x = 0.1; the motion there is 0.05 + 1 (0.1 - 0.12) = 0.03.
    assert_near(bodies.before[0], 0, 1e-6), assert_near(bodies.before[1], 0.1 - 0.03, 1e-6);
    assert_memory_equal(bodies.before + 3, position + 3, 6 * sizeof *position);
    motion_field_free(&field);
    tape_free(&tape);
    device_close(device);
}

// Mirror images of a body become particles of it, behind the others and with the motion that the field gives them. They
// are nodes as other particles are, and all of both are its hull. A body without particles gets none.
static void test_images(void **state) {
    (void)state;
    enum { SEEN = 12, IMAGES = 5 };
    Device *device;
    Error err;
    Parameters parameters;
    BodyNetwork network;
    Tape tape;
    MotionField field;
    Observation observation = {0};
    BodyScales scales = body_scales(2);
    BodyStep step = {0};
    const double quarter[9] = {0, -1, 0, 1, 0, 0, 0, 0, 1};
    real position[3 * SEEN] = {0}, colour[3 * SEEN] = {0}, moving[SEEN];
    int32_t like[2 * SEEN];
    assert_status_ok(device_open("cpu", 1, &device, &err), err);
    tape_init(&tape, device);
    parameters_init(&parameters, device);
    body_network_create(&parameters, C, L, &network);
    assert_status_ok(parameters_allocate(&parameters, 1, &err), err);
    assert_status_ok(motion_field_create(2 + IMAGES, &field, &err), err);
    field.position[0] = 0.1f, field.motion[0] = 0.02f; // body 0; the others are images, the last of body 1
    field.body[1] = -1;
    for (size_t i = 2; i < 2 + IMAGES; i++) {
        field.position[3 * i] = 0.1f + 0.01f * (real)i, field.position[3 * i + 2] = -0.1f;
        field.motion[3 * i] = 0.02f, field.mirrored[i] = 1;
        field.body[i] = i == 1 + IMAGES;
    }
    for (size_t i = 0; i < SEEN; i++) position[3 * i + 1] = 0.1f + 0.01f * (real)i, moving[i] = 1;
    observation.turn = quarter;
    SceneBodies bodies;
    BodiesInput input = {&observation, &field, SEEN, position, colour, moving};
    scene_bodies_find(&tape, 0.5, 2, 1, &input, &bodies);
    assert_int_equal(scene_bodies_add_images(&tape, &bodies, &observation, &field, like), IMAGES - 1);
    assert_int_equal(bodies.count, SEEN + IMAGES - 1);
    for (size_t k = 0; k < IMAGES - 1; k++) {
        const real *now = bodies.now + 3 * (SEEN + k), *before = bodies.before + 3 * (SEEN + k);
        assert_int_equal(bodies.body[SEEN + k], 0);
        assert_int_equal(like[k], 2 + k); // the particle above it
        assert_near(now[1], 0.12 + 0.01 * (double)k, 1e-6), assert_near(now[2], -0.1, 1e-6);
        assert_near(now[1] - before[1], 0.02, 1e-6);
    }
    body_step(&tape, &network, &scales, &step, 1, &(SceneBodies *){&bodies});
    assert_status_ok(device_status(device, &err), err);
    assert_int_equal(step.set.nodes, SEEN + IMAGES - 1);
    assert_int_equal(step.set.hulls, SEEN + IMAGES - 1);
    assert_near(bodies.now[3 * SEEN + 1] - bodies.before[3 * SEEN + 1], 0.02, 1e-5);
    motion_field_free(&field);
    body_step_free(&step);
    parameters_free(&parameters);
    tape_free(&tape);
    device_close(device);
}

// A particle whose colour is that of another body takes the body of the particles around it. One that lies alone on
// what stands still keeps its own, and those around it stand still.
static void test_strays(void **state) {
    (void)state;
    enum { EACH = 20, ALL = 2 * EACH };
    Device *device;
    Error err;
    Tape tape;
    MotionField field;
    Observation observation = {0};
    real position[3 * ALL] = {0}, colour[3 * ALL] = {0}, moving[ALL];
    assert_status_ok(device_open("cpu", 1, &device, &err), err);
    tape_init(&tape, device);
    assert_status_ok(motion_field_create(2, &field, &err), err);
    field.position[3] = 0.5f, field.colour[3] = 1, field.body[1] = 1; // a black body and a red one, which moves up
    field.motion[5] = 0.1f;
    for (size_t i = 0; i < ALL; i++) { // a moving black body, and far from it what stands still
        position[3 * i] = 0.01f * (real)(i % EACH) + (i < EACH ? 0 : 5);
        moving[i] = i < EACH;
    }
    colour[3 * 7] = 1;
    moving[EACH + 9] = 1;
    SceneBodies bodies;
    BodiesInput input = {&observation, &field, ALL, position, colour, moving};
    scene_bodies_find(&tape, 0.5, 2, 1, &input, &bodies);
    for (size_t i = 0; i < ALL; i++) assert_int_equal(bodies.body[i], i < EACH || i == EACH + 9 ? 0 : -1);
    assert_memory_equal(bodies.before, position, sizeof position);
    motion_field_free(&field);
    tape_free(&tape);
    device_close(device);
}

// A driven body moves as it is told; an untrained network moves the others as it would without.
static void test_driven(void **state) {
    (void)state;
    Error err;
    Stage stage;
    int32_t body[2][COUNT];
    real before[2][3 * COUNT], now[2][3 * COUNT], start[3 * COUNT];
    SceneDrive drive = {.body = 3, .motion = {.rotation = {0, -1, 0, 1, 0, 0, 0, 0, 1}, .to = {5, 6, 7}}};
    open_stage(&stage, 1);
    for (int way = 0; way < 2; way++) {
        make(body[way], before[way], now[way]);
        SceneBodies bodies = {.count = COUNT, .scale = 1, .body = body[way], .before = before[way], .now = now[way]};
        if (way) bodies.drives = 1, bodies.drive = &drive;
        memcpy(start, now[way], sizeof start);
        body_step(&stage.tape, &stage.network, &stage.scales, &stage.step, 1, &(SceneBodies *){&bodies});
        assert_status_ok(device_status(stage.device, &err), err);
    }
    for (size_t i = 0; i < COUNT; i++) {
        const real *was = start + 3 * i, *is = now[1] + 3 * i;
        if (body[0][i] != 3) assert_memory_equal(is, now[0] + 3 * i, 3 * sizeof *is);
        else {
            assert_near(is[0], 5 - (double)was[1], 1e-5), assert_near(is[1], 6 + (double)was[0], 1e-5);
            assert_near(is[2], 7 + (double)was[2], 1e-5);
        }
    }
    close_stage(&stage);
}

// Where lengths count four times, everything moves as in a scene four times as large, to the same bits: bodies, what is
// driven, and what stands still.
static void test_scale(void **state) {
    (void)state;
    Error err;
    Stage stage;
    RandomKey key = {.seed = 5, .purpose = RANDOM_TEST};
    int32_t body[2][COUNT];
    real before[2][3 * COUNT], now[2][3 * COUNT], went = 0;
    open_stage(&stage, 1);
    for (size_t i = 0; i < stage.parameters.size; i++)
        stage.parameters.values[i] = (real)(0.4 * (double)random_uniform(key, i) - 0.2);
    for (int large = 0; large < 2; large++) {
        const real times = large ? 4 : 1;
        SceneDrive drive = {.body = 3,
                            .motion = {.rotation = {0, -1, 0, 1, 0, 0, 0, 0, 1},
                                       .from = {0.25 * (double)times, 0, 0},
                                       .to = {0.5 * (double)times, 0, 0.125 * (double)times}}};
        make(body[large], before[large], now[large]);
        for (size_t i = 0; i < 3 * COUNT; i++) before[large][i] *= times, now[large][i] *= times;
        SceneBodies bodies = {.count = COUNT,
                              .scale = 4 / times,
                              .body = body[large],
                              .before = before[large],
                              .now = now[large],
                              .drives = 1,
                              .drive = &drive};
        for (int k = 0; k < 3; k++)
            body_step(&stage.tape, &stage.network, &stage.scales, &stage.step, 1, &(SceneBodies *){&bodies});
        assert_status_ok(device_status(stage.device, &err), err);
    }
    for (size_t i = 0; i < 3 * COUNT; i++) {
        assert_true(now[1][i] == 4 * now[0][i] && before[1][i] == 4 * before[0][i]);
        if (body[0][i / 3] == 0) went = fmaxf(went, fabsf(now[0][i] - before[0][i] - (i % 3 == 0 ? 0.01f : 0)));
    }
    assert_true(went > 1e-3f); // the network says something
    close_stage(&stage);
}

// A body that comes down on a floor of 25 points at this height, by one step. Returns where it is then.
static double land(Stage *stage, double height) {
    enum { FLOOR = 25, BODY = 10, ALL = FLOOR + BODY };
    Error err;
    int32_t body[ALL];
    real before[3 * ALL], now[3 * ALL];
    for (size_t i = 0; i < ALL; i++) {
        body[i] = i < FLOOR ? -1 : 0;
        now[3 * i] = (real)(0.05 * (double)(i % 5)), now[3 * i + 1] = (real)(0.05 * (double)(i / 5 % 5));
        now[3 * i + 2] = i < FLOOR ? (real)height : (real)(0.1 + 0.02 * (double)(i % 3));
        memcpy(before + 3 * i, now + 3 * i, 3 * sizeof *now);
        if (i >= FLOOR) before[3 * i + 2] += (real)0.05;
    }
    SceneBodies bodies = {.count = ALL, .scale = 1, .body = body, .before = before, .now = now};
    body_step(&stage->tape, &stage->network, &stage->scales, &stage->step, 1, &(SceneBodies *){&bodies});
    assert_status_ok(device_status(stage->device, &err), err);
    double lowest = INFINITY;
    for (size_t i = FLOOR; i < ALL; i++) lowest = fmin(lowest, (double)now[3 * i + 2]);
    return lowest;
}

// Steps keep the surfaces of the last one, but not where another scene follows.
static void test_other_surfaces(void **state) {
    (void)state;
    Stage stage;
    open_stage(&stage, 1);
    for (int round = 0; round < 2; round++) {
        assert_near((real)land(&stage, 0.08), 0.08, 1e-5);
        assert_near((real)land(&stage, 0.08), 0.08, 1e-5);
        assert_near((real)land(&stage, 0.07), 0.07, 1e-5);
    }
    close_stage(&stage);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_driven),
        cmocka_unit_test(test_scale),
        cmocka_unit_test(test_untrained_bodies_go_on),
        cmocka_unit_test(test_scenes_do_not_see_each_other),
        cmocka_unit_test(test_nothing_moves),
        cmocka_unit_test(test_bodies_of_a_field),
        cmocka_unit_test(test_images),
        cmocka_unit_test(test_strays),
        cmocka_unit_test(test_other_surfaces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
