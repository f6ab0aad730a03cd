// SPDX-License-Identifier: Apache-2.0
// Bodies: rigid fits, what nodes see, and that windows of a batch do not see each other.
#include "base/random.h"
#include "bodies/body_network.h"
#include "nn/backend.h"
#include "tests/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const BodyScales scales = {.reach = 0.15f, .length = 0.125f, .speed = 0.1f, .step = 0.05f};

static real uniform(size_t i) { return random_uniform((RandomKey){.seed = 5, .purpose = RANDOM_TEST}, i) - 0.5f; }

// A rotation by 0.7 about (1, 2, 2) / 3, and then a move.
static void known_motion(const real *x, real *y) {
    const double a[3] = {1 / 3.0, 2 / 3.0, 2 / 3.0}, s = sin(0.7), c = cos(0.7), move[3] = {0.3, -0.1, 2};
    double dot = 0, cross[3];
    for (int k = 0; k < 3; k++) dot += a[k] * (double)x[k];
    for (int k = 0; k < 3; k++) {
        int p = (k + 1) % 3, q = (k + 2) % 3;
        cross[k] = a[p] * (double)x[q] - a[q] * (double)x[p];
        y[k] = (real)((double)x[k] * c + cross[k] * s + a[k] * dot * (1 - c) + move[k]);
    }
}

static double determinant(const double *r) {
    return r[0] * (r[4] * r[8] - r[5] * r[7]) - r[1] * (r[3] * r[8] - r[5] * r[6]) + r[2] * (r[3] * r[7] - r[4] * r[6]);
}

static void test_fit_finds_the_motion(void **state) {
    (void)state;
    enum { COUNT = 20 };
    real from[3 * COUNT], to[3 * COUNT], there[3], wrong[3] = {0, 0, 0.01f};
    for (size_t i = 0; i < 3 * COUNT; i++) from[i] = uniform(i);
    for (size_t i = 0; i < COUNT; i++) known_motion(from + 3 * i, to + 3 * i);
    RigidMotion m = rigid_motion_fit(COUNT, from, to);
    assert_true(fabs(determinant(m.rotation) - 1) < 1e-9);
    double worst = 0, planted = 0;
    for (size_t i = 0; i < COUNT; i++) {
        rigid_motion_apply(&m, from + 3 * i, there);
        for (size_t c = 0; c < 3; c++) {
            worst = fmax(worst, fabs((double)(there[c] - to[3 * i + c])));
            planted = fmax(planted, fabs((double)(there[c] + wrong[c] - to[3 * i + c])));
        }
    }
    assert_true(worst < 1e-6); // some roundings of numbers up to 3
    assert_true(planted > 1e-3);
}

// A mirrored set has no rotation that fits: the result is one all the same. Few points leave rotations free.
static void test_fit_is_a_rotation(void **state) {
    (void)state;
    enum { COUNT = 8 };
    real from[3 * COUNT], to[3 * COUNT];
    for (size_t i = 0; i < 3 * COUNT; i++) from[i] = uniform(i), to[i] = i % 3 ? from[i] : -from[i];
    for (size_t count = 1; count <= COUNT; count++) {
        RigidMotion m = rigid_motion_fit(count, from, to);
        assert_true(fabs(determinant(m.rotation) - 1) < 1e-9);
    }
    memset(from, 0, sizeof from);
    RigidMotion m = rigid_motion_fit(COUNT, from, from);
    assert_true(fabs(determinant(m.rotation) - 1) < 1e-9);
}

// ---- inputs

// A body of the 8 corners of a cube of 4 cm, which moved by `v` to stand around `centre`.
static void add_cube(BodySet *set, const double *centre, const double *v) {
    size_t row;
    Error err;
    assert_status_ok(body_set_add_body(set, 8, &row, &err), err);
    for (size_t i = 0; i < 8; i++)
        for (size_t c = 0; c < 3; c++) {
            set->now[3 * (row + i) + c] = (real)(centre[c] + (i >> c & 1 ? 0.02 : -0.02));
            set->before[3 * (row + i) + c] = set->now[3 * (row + i) + c] - (real)v[c];
        }
}

static void add_window(BodySet *set) {
    Error err;
    assert_status_ok(body_set_add_window(set, &err), err);
}

static void add_floor(BodySet *set, real radius) {
    Error err;
    assert_status_ok(body_set_add_patch(set, (SurfacePatch){.normal = {0, 0, 1}, .radius = radius}, &err), err);
}

static void assert_near(real found, double expected, double tolerance) {
    if (!(fabs((double)found - expected) <= tolerance)) fail_msg("expected %.6f, found %.6f", expected, (double)found);
}

static void test_features(void **state) {
    (void)state;
    BodySet set = {0};
    BodyInputs in = {0};
    Error err;
    add_window(&set);
    add_floor(&set, INFINITY);
    add_cube(&set, (double[]){1, 2, 0.1}, (double[]){0.03, 0, -0.05});
    assert_status_ok(body_inputs_make(&set, &scales, 2, &in, &err), err);
    for (size_t i = 0; i < 8; i++) {
        const real *f = in.feature + BODY_FEATURES * i;
        double height = i >> 2 & 1 ? 0.12 : 0.08;
        for (size_t c = 0; c < 3; c++) assert_near(f[c], (i >> c & 1 ? 0.02 : -0.02) / 0.125, 1e-5);
        assert_near(f[3], 0.3, 1e-5), assert_near(f[5], -0.5, 1e-5);
        for (size_t c = 6; c < 9; c++) assert_near(f[c], 0, 1e-5); // it does not rotate
        assert_near(f[9], 0.3, 1e-5), assert_near(f[11], -0.5, 1e-5);
        assert_near(f[12], 0, 0), assert_near(f[14], 1, 0);
        assert_near(f[15], height / 0.125, 1e-5), assert_near(f[16], -0.5, 1e-5),
            assert_near(f[17], 0.08 / 0.125, 1e-5);
        assert_near(in.carried[3 * i], 0.03, 1e-6), assert_near(in.carried[3 * i + 2], -0.05, 1e-6);
        assert_int_equal(in.hears[i], 0);
    }
    body_inputs_free(&in);
    body_set_free(&set);
}

// The nodes of a driven body are seen with the velocity that they will have, by its own body and by others.
static void test_drives_are_seen(void **state) {
    (void)state;
    static const RigidMotion up = {.rotation = {1, 0, 0, 0, 1, 0, 0, 0, 1}, .to = {0, 0, 0.04}};
    BodySet set = {0};
    BodyInputs in = {0};
    Error err;
    add_window(&set);
    add_floor(&set, INFINITY);
    for (int b = 0; b < 2; b++) add_cube(&set, (double[]){1, 2 + 0.1 * b, 0.1}, (double[]){0.03, 0, -0.05});
    set.given[1] = &up;
    assert_status_ok(body_inputs_make(&set, &scales, 2, &in, &err), err);
    for (size_t i = 0; i < 16; i++) {
        const real *f = in.feature + BODY_FEATURES * i;
        const double x = i < 8 ? 0.3 : 0, z = i < 8 ? -0.5 : 0.4; // in units of velocities
        assert_near(f[21], i >= 8, 0);
        assert_near(f[3], x, 1e-5), assert_near(f[5], z, 1e-5);
        for (size_t c = 6; c < 9; c++) assert_near(f[c], 0, 1e-5);
        assert_near(f[9], x, 1e-5), assert_near(f[11], z, 1e-5);
        assert_near(f[16], z, 1e-5);
        assert_near(in.carried[3 * i], 0.03, 1e-6), assert_near(in.carried[3 * i + 2], -0.05, 1e-6);
    }
    assert_int_equal(in.pairs, 2 * 16);
    for (size_t pair = 0; pair < in.pairs; pair++) {
        const real *g = in.geometry + BODY_GEOMETRY * pair;
        const double way = in.hearer[pair] < 8 ? 1 : -1;
        assert_near(g[3], -0.3 * way, 1e-5), assert_near(g[5], 0.9 * way, 1e-5);
    }
    body_inputs_free(&in);
    body_set_free(&set);
}

// A surface out of reach, and one beside its edge, are not seen.
static void test_surfaces_end(void **state) {
    (void)state;
    static const struct {
        double x, z;
        real radius;
        bool seen;
    } cases[] = {{0, 0.12, INFINITY, true}, {0, 0.2, INFINITY, false}, {0.1, 0.1, 0.2f, true}, {0.3, 0.1, 0.2f, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        BodySet set = {0};
        BodyInputs in = {0};
        Error err;
        add_window(&set);
        add_floor(&set, cases[i].radius);
        add_cube(&set, (double[]){cases[i].x, 0, cases[i].z}, (double[]){0, 0, -0.01});
        assert_status_ok(body_inputs_make(&set, &scales, 2, &in, &err), err);
        assert_near(in.feature[14], cases[i].seen, 0);
        if (!cases[i].seen) assert_near(in.feature[15], 0.15 / 0.125, 1e-6), assert_near(in.feature[16], 0, 0);
        body_inputs_free(&in);
        body_set_free(&set);
    }
}

// Two cubes whose faces are 3 cm apart, and the same in a window of its own.
static void make_pairs(BodySet *set, size_t windows, size_t only) {
    for (size_t w = 0; w < windows; w++) {
        if (only < windows && w != only) continue;
        double at = 0.01 * (double)w;
        add_window(set);
        add_floor(set, INFINITY);
        add_cube(set, (double[]){at, 0, 0.05}, (double[]){0.01, 0.002 * (double)w, 0});
        add_cube(set, (double[]){at + 0.07, 0, 0.05}, (double[]){-0.01, 0, 0.01});
    }
}

static void test_contacts(void **state) {
    (void)state;
    BodySet set = {0};
    BodyInputs in = {0};
    Error err;
    make_pairs(&set, 2, 9);
    assert_status_ok(body_inputs_make(&set, &scales, 2, &in, &err), err);
    assert_int_equal(set.nodes, 32);
    assert_int_equal(in.pairs, 32 * BODY_CONTACTS);
    for (int32_t i = 0; i < 32; i++) {
        const int32_t *contact = in.heard + BODY_CONTACTS * i;
        assert_int_equal(in.hears[i], BODY_CONTACTS);
        assert_int_equal(in.hearer[BODY_CONTACTS * i], i);
        bool is_first = i / 8 % 2 == 0;
        int32_t corner = i % 8, other = i - corner + (is_first ? 8 : -8);
        // The same corner of the face that looks here: of the first cube x is low, of the second high.
        assert_int_equal(contact[0], other + (is_first ? corner & ~1 : corner | 1));
        for (size_t k = 0; k < BODY_CONTACTS; k++) assert_true(contact[k] >= other && contact[k] < other + 8);
    }
    const real *g = in.geometry + BODY_GEOMETRY * BODY_CONTACTS * 1; // node 1, at (0.02, -0.02, 0.03)
    assert_near(g[0], 0.03 / 0.125, 1e-5), assert_near(g[1], 0, 1e-5), assert_near(g[6], 0.03 / 0.125, 1e-5);
    assert_near(g[3], -0.2, 1e-4), assert_near(g[5], 0.1, 1e-4);
    body_inputs_free(&in);
    body_set_free(&set);
}

// ---- the network

typedef struct Made {
    Device *device;
    Parameters parameters;
    BodyNetwork network;
    Tape tape;
} Made;

static void open_network(Made *m, int threads) {
    Error err;
    assert_status_ok(device_open("cpu", threads, &m->device, &err), err);
    parameters_init(&m->parameters, m->device);
    body_network_create(&m->parameters, 16, 2, &m->network);
    assert_status_ok(parameters_allocate(&m->parameters, 3, &err), err);
    for (size_t i = 0; i < m->parameters.size; i++)
        m->parameters.values[i] += 0.2f * uniform(i); // the last layer is zero
    tape_init(&m->tape, m->device);
}

static void close_network(Made *m) {
    tape_free(&m->tape);
    parameters_free(&m->parameters);
    device_close(m->device);
}

// (nodes, 3) of the windows asked for; the caller frees it.
static real *run(Made *m, size_t windows, size_t only, size_t *nodes) {
    BodySet set = {0};
    BodyInputs in = {0};
    Error err;
    make_pairs(&set, windows, only);
    assert_status_ok(body_inputs_make(&set, &scales, 2, &in, &err), err);
    tape_reset(&m->tape);
    Tensor *out = body_network_run(&m->tape, &m->network, &set, &in);
    assert_int_equal(device_status(m->device, &err), STATUS_OK);
    real *host = malloc(3 * set.nodes * sizeof *host);
    m->device->nn->download(m->device, host, out->value, 3 * set.nodes * sizeof *host);
    *nodes = set.nodes;
    body_inputs_free(&in);
    body_set_free(&set);
    return host;
}

static void test_windows_are_apart(void **state) {
    (void)state;
    enum { WINDOWS = 5 };
    Made m;
    size_t all, one;
    open_network(&m, 2);
    real *together = run(&m, WINDOWS, WINDOWS, &all), most = 0, differs = 0;
    for (size_t w = 0; w < WINDOWS; w++) {
        real *alone = run(&m, WINDOWS, w, &one);
        for (size_t i = 0; i < 3 * one; i++) {
            assert_near(alone[i], (double)together[3 * one * w + i], 1e-5); // chunks of other rows add in another order
            most = real_fabs(alone[i]) > most ? real_fabs(alone[i]) : most;
            real apart = real_fabs(alone[i] - together[i]); // from the first window
            differs = apart > differs ? apart : differs;
        }
        free(alone);
    }
    assert_true(most > 0.1f && differs > 1e-3f); // the numbers say something, and windows are not alike
    free(together);
    close_network(&m);
}

// The motion is rigid, goes where the network says on the average, and the present becomes the past.
static void test_bodies_move(void **state) {
    (void)state;
    BodySet set = {0};
    BodyInputs in = {0};
    RigidMotion motion[2];
    Error err;
    make_pairs(&set, 1, 9);
    assert_status_ok(body_inputs_make(&set, &scales, 2, &in, &err), err);
    real output[3 * 16], now[3 * 16];
    for (size_t i = 0; i < 3 * 16; i++) output[i] = i % 3 == 2 ? 1 : 0;
    memcpy(now, set.now, sizeof now);
    body_motions(&set, &scales, 2, &in, output, motion);
    body_set_move(&set, 2, motion);
    assert_memory_equal(set.before, now, sizeof now);
    for (size_t i = 0; i < 8; i++) {
        assert_near(set.now[3 * i], (double)now[3 * i] + 0.01, 1e-5);
        assert_near(set.now[3 * i + 2], (double)now[3 * i + 2] + 0.05, 1e-5);
    }
    body_inputs_free(&in);
    body_set_free(&set);
}

// Whether the first cube moves that moved by `last` and is sent by `next` in units of a step.
static bool moves(double last, double next) {
    BodySet set = {0};
    BodyInputs in = {0};
    RigidMotion motion[2];
    BodyScales limited = scales;
    Error err;
    limited.still = 0.002f;
    make_pairs(&set, 1, 9);
    real output[3 * 16], now[3 * 8];
    for (size_t i = 0; i < 3 * 16; i++) set.before[i] = set.now[i] - (i % 3 == 0 ? (real)last : 0);
    assert_status_ok(body_inputs_make(&set, &limited, 2, &in, &err), err);
    for (size_t i = 0; i < 3 * 16; i++) output[i] = i % 3 == 0 ? (real)((next - last) / (double)scales.step) : 0;
    memcpy(now, set.now, sizeof now);
    body_motions(&set, &limited, 2, &in, output, motion);
    body_set_move(&set, 2, motion);
    double way = (double)set.now[0] - (double)now[0];
    body_inputs_free(&in);
    body_set_free(&set);
    assert_true(fabs(way) < 1e-6 || fabs(way - next) < 1e-6);
    return fabs(way) >= 1e-6;
}

static void test_what_hardly_moves_rests(void **state) {
    (void)state;
    assert_false(moves(0, 0.0019));
    assert_false(moves(0.0019, 0.001));
    assert_true(moves(0.0021, 0.001)); // it was faster
    assert_true(moves(0, 0.0021));     // it begins to move
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fit_finds_the_motion),
        cmocka_unit_test(test_fit_is_a_rotation),
        cmocka_unit_test(test_features),
        cmocka_unit_test(test_drives_are_seen),
        cmocka_unit_test(test_surfaces_end),
        cmocka_unit_test(test_contacts),
        cmocka_unit_test(test_windows_are_apart),
        cmocka_unit_test(test_bodies_move),
        cmocka_unit_test(test_what_hardly_moves_rests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
