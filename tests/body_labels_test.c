// SPDX-License-Identifier: Apache-2.0
// model/body_labels.h: particles at the rims of bodies.
#include "model/body_labels.h"

#include "tests/test.h"

#include <math.h>
#include <string.h>

enum { ROOM = 4000 };
static const double EXTENT = 2, RADIUS = 0.1, GAP = 0.03;

typedef struct Fixture {
    Device *device;
    Tape tape;
    size_t count;
    real x[3 * ROOM], colour[3 * ROOM];
    real paint[3]; // colour of what is added
    int32_t body[ROOM];
} Fixture;

static size_t add(Fixture *f, double x, double y, double z, int32_t body) {
    const double place[3] = {x, y, z};
    for (size_t c = 0; c < 3; c++) f->x[3 * f->count + c] = (real)place[c];
    for (size_t c = 0; c < 3; c++) f->colour[3 * f->count + c] = f->paint[c];
    f->body[f->count] = body;
    return f->count++;
}

// Points GAP apart on a sphere about (x, 0, z), without its underside.
static void add_sphere(Fixture *f, double x, double z, int32_t body) {
    for (double tilt = 0; tilt < 2; tilt += GAP / RADIUS)
        for (double turn = 0; turn < 2 * M_PI; turn += GAP / RADIUS / fmax(0.1, sin(tilt)))
            add(f, x + RADIUS * sin(tilt) * cos(turn), RADIUS * sin(tilt) * sin(turn), z + RADIUS * cos(tilt), body);
}

static void begin_with(Fixture *f, int threads) {
    Error err;
    *f = (Fixture){0};
    assert_status_ok(device_open("cpu", threads, &f->device, &err), err);
    tape_init(&f->tape, f->device);
}

static void begin(Fixture *f) { begin_with(f, 1); }

static void settle(Fixture *f) {
    Error err;
    body_labels_settle(&f->tape, EXTENT, 1, &(LabelledParticles){f->count, f->x, f->colour, f->body});
    assert_status_ok(device_status(f->device, &err), err);
}

static void end(Fixture *f) {
    tape_free(&f->tape);
    device_close(f->device);
}

// Two balls touch. The particles of one that are nearest to the other were taken for its own. Returns where the second
// one begins.
static size_t add_balls(Fixture *f) {
    size_t wrong = 0;
    add_sphere(f, 0, 0, 0);
    size_t first = f->count;
    add_sphere(f, 2.05 * RADIUS, 0, 1);
    for (size_t i = 0; i < first; i++)
        if (f->x[3 * i] > 0.09) f->body[i] = 1, wrong++;
    assert_in_range(wrong, 3, 20);
    return first;
}

static void test_touching_balls(void **state) {
    (void)state;
    static Fixture f;
    begin(&f);
    size_t first = add_balls(&f), other = 0, left = 0;
    settle(&f);
    for (size_t i = 0; i < f.count; i++) {
        left += f.body[i] == BODY_DISPUTED;
        other += f.body[i] != BODY_DISPUTED && f.body[i] != (i >= first);
    }
    assert_int_equal(other, 0);
    assert_in_range(left, 0, 4);
    end(&f);
}

// A particle in the middle between two bodies in one plane, `red` and blue or both blue. Returns its body.
static int32_t between(real red) {
    static Fixture f;
    begin(&f);
    for (int side = -1; side <= 1; side += 2) {
        f.paint[0] = side < 0 ? red : 0, f.paint[2] = side < 0 ? 1 - red : 1;
        for (int i = 0; i < 8; i++)
            for (int j = -4; j <= 4; j++) add(&f, side * GAP * (1 + i), GAP * j, 0, side < 0 ? 3 : 0);
    }
    size_t middle = add(&f, 0, 0, 0, 3);
    settle(&f);
    for (size_t i = 0; i < middle; i++) assert_int_equal(f.body[i], f.x[3 * i] > 0 ? 0 : 3);
    end(&f);
    return f.body[middle];
}

// Neither of two things is more likely. Pieces of one thing share it.
static void test_disputed(void **state) {
    (void)state;
    assert_int_equal(between(1), BODY_DISPUTED);
    assert_int_not_equal(between(0.02f), BODY_DISPUTED);
}

// A floor with errors of up to `noise`, on it half of a ball, of which one particle was taken for floor. That particle
// stands `height` above the floor. Returns the particle.
static size_t add_stray(Fixture *f, double noise, double height) {
    add_sphere(f, 0, 0, 0);
    size_t ball = 0;
    for (size_t i = 0; i < f->count; i++) // above the floor
        if (f->x[3 * i + 2] > 0.02) memmove(f->x + 3 * ball++, f->x + 3 * i, 3 * sizeof *f->x);
    f->count = ball;
    size_t stray = add(f, sqrt(RADIUS * RADIUS - height * height), 0, height, -1);
    for (int i = -12; i <= 12; i++)
        for (int j = -12; j <= 12; j++)
            if (hypot(GAP * i, GAP * j) > RADIUS) add(f, GAP * i, GAP * j, noise * ((7 * i + 5 * j) % 3), -1);
    return stray;
}

// Returns the body of that particle; the floor stays.
static int32_t stray_on_floor(double noise, double height) {
    static Fixture f;
    begin(&f);
    size_t stray = add_stray(&f, noise, height);
    settle(&f);
    for (size_t i = stray + 1; i < f.count; i++) assert_int_equal(f.body[i], -1);
    end(&f);
    return f.body[stray];
}

static void test_floor(void **state) {
    (void)state;
    assert_int_equal(stray_on_floor(0, 0.004), 0);
    assert_int_equal(stray_on_floor(0, 0.0005), -1);    // too low
    assert_int_equal(stray_on_floor(0, 0.008), -1);     // too high to have been taken for floor
    assert_int_equal(stray_on_floor(0.002, 0.003), -1); // the floor is as high elsewhere
}

static void test_nothing_moves(void **state) {
    (void)state;
    static Fixture f;
    begin(&f);
    for (int i = 0; i < 20; i++) add(&f, GAP * i, 0, 0, -1);
    settle(&f);
    for (int i = 0; i < 20; i++) assert_int_equal(f.body[i], -1);
    end(&f);
}

// Scenes in one place do not see each other: each settles as it does alone, with any number of threads.
static void test_scenes_together(void **state) {
    (void)state;
    enum { SCENES = 4 };
    static Fixture f[SCENES];
    LabelledParticles together[SCENES];
    Error err;
    for (int s = 0; s < SCENES; s++) begin_with(&f[s], s == 0 ? 3 : 1);
    add_stray(&f[0], 0, 0.004);
    for (int i = 0; i < 20; i++) add(&f[1], GAP * i, 0, 0, -1); // nothing moves
    add_balls(&f[2]);
    size_t stray = add_stray(&f[3], 0, 0.004);
    for (size_t i = 0; i < stray; i++) f[3].body[i] = 7;
    for (int s = 0; s < SCENES; s++) {
        int32_t *body = tape_context(&f[0].tape, ROOM * sizeof *body);
        memcpy(body, f[s].body, sizeof f[s].body);
        together[s] = (LabelledParticles){f[s].count, f[s].x, f[s].colour, body};
        settle(&f[s]);
        if (s != 1) assert_memory_not_equal(f[s].body, body, sizeof f[s].body);
    }
    body_labels_settle(&f[0].tape, EXTENT, SCENES, together);
    assert_status_ok(device_status(f[0].device, &err), err);
    for (int s = 0; s < SCENES; s++) assert_memory_equal(together[s].body, f[s].body, sizeof f[s].body);
    assert_int_equal(f[3].body[stray], 7);
    for (int s = SCENES - 1; s >= 0; s--) end(&f[s]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_touching_balls), cmocka_unit_test(test_disputed),        cmocka_unit_test(test_floor),
        cmocka_unit_test(test_nothing_moves),  cmocka_unit_test(test_scenes_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
