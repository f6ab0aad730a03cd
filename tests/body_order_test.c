// SPDX-License-Identifier: Apache-2.0
// A step of particles that belong to bodies: of particles in any order, all surfaces are seen; with a network as
// training begins, bodies go on as they moved.
#include "model/body_step.h"
#include "tests/test.h"

enum { FLOOR = 6000, FAR = 1000, BODY = 100, ALL = FLOOR + FAR + 2 * BODY };

typedef struct Made {
    Device *device;
    Parameters parameters;
    BodyNetwork network;
    Tape tape;
    BodyStep step;
    SceneBodies bodies;
} Made;

static void open_network(Made *m) {
    Error err;
    *m = (Made){0};
    assert_status_ok(device_open("cpu", 1, &m->device, &err), err);
    parameters_init(&m->parameters, m->device);
    body_network_create(&m->parameters, 8, 1, &m->network);
    assert_status_ok(parameters_allocate(&m->parameters, 3, &err), err);
    tape_init(&m->tape, m->device);
}

static void close_network(Made *m) {
    free(m->bodies.body), free(m->bodies.before), free(m->bodies.now);
    body_step_free(&m->step);
    tape_free(&m->tape);
    parameters_free(&m->parameters);
    device_close(m->device);
}

// Row after row: a floor, then one 10 m away, then bodies 0 and 2 above them, of which 2 moves by 1 cm along y.
static void fill(Made *m) {
    m->bodies = (SceneBodies){.count = ALL,
                              .scale = 1,
                              .body = malloc(ALL * sizeof(int32_t)),
                              .before = malloc(3 * ALL * sizeof(real)),
                              .now = malloc(3 * ALL * sizeof(real))};
    for (size_t i = 0; i < ALL; i++) {
        bool body = i >= FLOOR + FAR, second = i >= FLOOR + FAR + BODY;
        real *x = m->bodies.now + 3 * i, far = (i >= FLOOR && !body) || second ? 10 : 0;
        x[0] = 0.01f * (real)(i % 10) + far, x[1] = 0.01f * (real)(i / 10 % 10), x[2] = body ? 0.2f : 0;
        memcpy(m->bodies.before + 3 * i, x, 3 * sizeof *x);
        if (second) m->bodies.before[3 * i + 1] -= 0.01f;
        m->bodies.body[i] = !body ? -1 : second ? 2 : 0;
    }
}

static void test_order(void **state) {
    (void)state;
    Made m;
    BodyScales scales = body_scales(1);
    size_t far = 0;
    open_network(&m);
    fill(&m);
    body_step(&m.tape, &m.network, &scales, &m.step, 1, &(SceneBodies *){&m.bodies});
    assert_false(m.device->failed);
    for (size_t i = 0; i < m.step.set.patches; i++) far += m.step.set.patch[i].position[0] > 5;
    assert_int_equal(m.step.set.patches, BODY_PATCHES);
    assert_in_range(far, BODY_PATCHES / 7 - 5, BODY_PATCHES / 7 + 5); // its share of the particles
    assert_int_equal(m.step.set.bodies, 2);
    for (size_t i = 0; i < ALL; i++)
        for (size_t c = 0; c < 3; c++)
            assert_close(m.bodies.now[3 * i + c] - m.bodies.before[3 * i + c],
                         c == 1 && m.bodies.body[i] == 2 ? 0.01 : 0, 1e-6, 0); // rounding at 10 m
    close_network(&m);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_order)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
