// SPDX-License-Identifier: Apache-2.0
// Bodies that are known by points, as rigid bodies of the simulator.
#include "lab/analytic.h"

#include "base/camera.h"
#include "base/vector.h"
#include "tests/test.h"

enum { SIDE = 6, POINTS = SIDE * SIDE * SIDE, FRAMES = 24, BODIES = 2 };
#define FRAME (1. / 24)

// Boxes of points with corners and sides, `velocity` and turns about z as they are seen.
typedef struct World {
    double now[BODIES][3 * POINTS], before[BODIES][3 * POINTS], middle[BODIES][3];
    AnalyticBody body[BODIES];
    AnalyticScene scene;
    double motion[FRAMES][BODIES][16];
    bool solid[BODIES];
} World;

static const SimPlane ground = {.normal = {0, 0, 1}};

static World *world(size_t bodies) {
    World *w = calloc(1, sizeof *w);
    assert_non_null(w);
    w->scene = (AnalyticScene){.bodies = bodies,
                               .planes = 1,
                               .body = w->body,
                               .plane = &ground,
                               .frame_time = FRAME,
                               .gravity = {0, 0, -9.81},
                               .contact = ANALYTIC_CONTACT};
    return w;
}

// `shift`: metres in the last frame; `turn`: the angle about z.
static void put_box(World *w, size_t b, const double middle[3], const double size[3], const double shift[3],
                    double turn) {
    for (size_t i = 0; i < POINTS; i++) {
        const size_t at[3] = {i % SIDE, i / SIDE % SIDE, i / SIDE / SIDE};
        double r[3];
        for (int c = 0; c < 3; c++) r[c] = size[c] * ((double)at[c] / (SIDE - 1) - 0.5);
        for (int c = 0; c < 3; c++) w->now[b][3 * i + (size_t)c] = middle[c] + r[c];
        const double back[3] = {cos(turn) * r[0] + sin(turn) * r[1], cos(turn) * r[1] - sin(turn) * r[0], r[2]};
        for (int c = 0; c < 3; c++) w->before[b][3 * i + (size_t)c] = middle[c] + back[c] - shift[c];
    }
    memcpy(w->middle[b], middle, sizeof w->middle[b]);
    w->body[b] = (AnalyticBody){POINTS, w->now[b], w->before[b], 0, NULL};
}

static void simulate(World *w) {
    Error err;
    Analytic *analytic = NULL;
    assert_status_ok(analytic_begin(&w->scene, w->solid, &analytic, &err), err);
    for (size_t f = 0; f < FRAMES; f++) assert_status_ok(analytic_frame(analytic, w->motion[f][0], &err), err);
    analytic_end(analytic);
}

// Where the middle of body b is after so many frames.
static void middle_at(const World *w, size_t b, size_t frames, double out[3]) {
    memcpy(out, w->middle[b], 3 * sizeof *out);
    if (frames) pose_apply(w->motion[frames - 1][b], out, out);
}

#define V(...)                                                                                                         \
    (const double[]) { __VA_ARGS__ }

// A body in the air: the velocity that is seen is that of half a frame ago.
static void test_flight(void **state) {
    World *w = world(1);
    (void)state;
    put_box(w, 0, V(1, 2, 9), V(0.2, 0.1, 0.3), V(0.05, 0, 0.1), 0.1);
    simulate(w);
    for (size_t f = 1; f <= FRAMES; f++) {
        const double T = (double)f * FRAME, up = 0.1 / FRAME - 9.81 * FRAME / 2;
        double at[3];
        middle_at(w, 0, f, at);
        assert_close(at[0], 1 + 0.05 * (double)f, 1e-9, 0);
        assert_close(at[1], 2, 1e-9, 0);
        assert_close(at[2], 9 + up * T - 9.81 * T * T / 2, 1e-9, 0);
        assert_close(w->motion[f - 1][0][4], sin(0.1 * (double)f), 1e-2, 0);
    }
    free(w);
}

// Dropped from 0.2 m it lies flat on the ground after a second; so does one that lies there from the start, or a little
// below it, and it goes nowhere.
static void test_rest(void **state) {
    static const double heights[] = {0.25, 0.05, 0.047};
    (void)state;
    for (size_t k = 0; k < 3; k++) {
        World *w = world(1);
        double at[3];
        put_box(w, 0, V(1, 2, heights[k]), V(0.2, 0.1, 0.1), V(0, 0, 0), 0);
        simulate(w);
        middle_at(w, 0, FRAMES, at);
        assert_close(at[0], 1, 1e-3, 0);
        assert_close(at[1], 2, 1e-3, 0);
        assert_close(at[2], k < 2 ? 0.05 : 0.047, 5e-4, 0);
        assert_close(w->motion[FRAMES - 1][0][10], 1, 1e-5, 0);
        free(w);
    }
}

// The hull of a disc has its corners at the rims alone, which cannot hold its inertia.
static void test_disc(void **state) {
    World *w = world(1);
    double at[3];
    (void)state;
    put_box(w, 0, V(0, 0, 0.3), V(1, 1, 1), V(0, 0, 0), 0);
    for (size_t i = 0; i < POINTS; i++) {
        const double turn = 2 * M_PI * (double)(i / 2) / (POINTS / 2);
        const double x[3] = {0.2 * cos(turn), 0.2 * sin(turn), 0.3 + 0.05 * (double)(i % 2)};
        memcpy(w->now[0] + 3 * i, x, sizeof x);
        memcpy(w->before[0] + 3 * i, x, sizeof x);
    }
    simulate(w);
    assert_true(w->solid[0]);
    middle_at(w, 0, FRAMES, at);
    assert_close(at[2], 0, 1e-3, 0); // its underside's
    assert_close(w->motion[FRAMES - 1][0][10], 1, 1e-5, 0);
    free(w);
}

// Friction stops what slides, after v^2 / (2 mu g).
static void test_sliding(void **state) {
    (void)state;
    for (int k = 1; k <= 2; k++) {
        World *w = world(1);
        double at[3];
        const double mu = 0.3 * k, mean = 1.2, v = mean - mu * 9.81 * FRAME / 2;
        w->scene.contact.mu = mu;
        put_box(w, 0, V(0, 0, 0.02), V(0.2, 0.2, 0.04), V(mean * FRAME, 0, 0), 0);
        simulate(w);
        middle_at(w, 0, FRAMES, at);
        assert_close(at[0], v * v / (2 * mu * 9.81), 0, 0.04);
        free(w);
    }
}

// Two boxes of unlike mass that collide in the air keep their momentum, and do not pass through each other.
static void test_collision(void **state) {
    World *w = world(2);
    double a[2][3], b[2][3];
    const double masses[2] = {1, 8};
    (void)state;
    w->scene.planes = 0;
    memset(w->scene.gravity, 0, sizeof w->scene.gravity);
    put_box(w, 0, V(0, 0, 0), V(0.1, 0.1, 0.1), V(0.05, 0, 0), 0);
    put_box(w, 1, V(0.4, 0.03, 0.02), V(0.2, 0.2, 0.2), V(-0.01, 0, 0), 0);
    simulate(w);
    for (size_t k = 0; k < 2; k++) {
        middle_at(w, k, FRAMES - 1, a[k]);
        middle_at(w, k, FRAMES, b[k]);
    }
    for (int c = 0; c < 3; c++) {
        const double after = masses[0] * (b[0][c] - a[0][c]) + masses[1] * (b[1][c] - a[1][c]);
        assert_close(after, c == 0 ? masses[0] * 0.05 - masses[1] * 0.01 : 0, 1e-6, 0);
    }
    assert_true(b[0][0] - a[0][0] <= b[1][0] - a[1][0]);
    free(w);
}

// One that is told how to move pushes another, and stops where it is told.
static void test_told(void **state) {
    World *w = world(2);
    double path[FRAMES][16], a[3], b[3];
    (void)state;
    for (size_t f = 0; f < FRAMES; f++)
        pose_from_rotation(V(1, 0, 0, 0, 1, 0, 0, 0, 1), V(f < 12 ? 0.02 : 0, 0, 0), path[f]);
    put_box(w, 0, V(0, 0, 0.1), V(0.1, 0.1, 0.1), V(0, 0, 0), 0);
    put_box(w, 1, V(0.15, 0, 0.05), V(0.1, 0.1, 0.1), V(0, 0, 0), 0);
    w->body[0].told = FRAMES, w->body[0].motion = path[0];
    simulate(w);
    middle_at(w, 0, FRAMES, a);
    middle_at(w, 1, FRAMES, b);
    assert_close(a[0], 0.24, 1e-9, 0);
    assert_close(a[2], 0.1, 1e-9, 0);
    assert_true(b[0] > 0.338 && b[0] < 0.37);
    assert_close(b[2], 0.05, 1e-3, 0);
    free(w);
}

// What starts inside something else goes out of it, and does not fly off.
static void test_inside(void **state) {
    World *w = world(2);
    double at[2][3];
    (void)state;
    put_box(w, 0, V(0, 0, 0.05), V(0.1, 0.1, 0.1), V(0, 0, 0), 0);
    put_box(w, 1, V(0.01, 0, 0.145), V(0.1, 0.1, 0.1), V(0, 0, 0), 0);
    simulate(w);
    for (size_t k = 0; k < 2; k++) middle_at(w, k, FRAMES, at[k]);
    assert_close(at[0][2], 0.05, 3e-3, 0);
    assert_close(at[1][2], 0.145, 3e-3, 0);
    assert_close(at[1][0], 0.01, 3e-3, 0);
    free(w);
}

// Contact that is too hard for the steps of a frame is softer; a light body on a heavy one is no trouble.
static void test_hard(void **state) {
    double at[3];
    (void)state;
    World *w = world(2);
    w->scene.contact.k_e = 1e12;
    put_box(w, 0, V(0, 0, 0.2), V(0.4, 0.4, 0.4), V(0, 0, 0), 0);
    put_box(w, 1, V(0.05, 0, 0.45), V(0.02, 0.02, 0.02), V(0, 0, 0), 0);
    simulate(w);
    middle_at(w, 1, FRAMES, at);
    assert_close(at[2], 0.41, 0.01, 0);
    middle_at(w, 0, FRAMES, at);
    assert_close(at[2], 0.2, 2e-3, 0);
    free(w);
}

// What lies inside a larger body goes with it.
static void test_part(void **state) {
    double at[3];
    (void)state;
    World *w = world(2);
    put_box(w, 0, V(0.05, 0, 1), V(0.1, 0.3, 0.1), V(0.1, 0, 0), 0);
    put_box(w, 1, V(0, 0, 1), V(0.3, 0.2, 0.2), V(0, 0.05, 0), 0);
    simulate(w);
    assert_true(w->solid[0] && w->solid[1]);
    middle_at(w, 0, 4, at);
    assert_close(at[0], 0.05, 1e-9, 0);
    assert_close(at[1], 0.2, 1e-9, 0);
    assert_memory_equal(w->motion[3][0], w->motion[3][1], sizeof w->motion[3][0]);
    free(w);
}

static void test_flat(void **state) {
    World *w = world(2);
    (void)state;
    put_box(w, 0, V(0, 0, 1), V(0.1, 0.1, 0), V(0, 0, 0), 0);
    put_box(w, 1, V(1, 0, 1), V(0.1, 0.1, 0.1), V(0, 0, 0), 0);
    simulate(w);
    assert_false(w->solid[0]);
    assert_true(w->solid[1]);
    assert_true(w->motion[FRAMES - 1][0][11] == 0 && w->motion[FRAMES - 1][1][11] < -0.5);
    w->scene.bodies = 0;
    simulate(w);
    free(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flight),  cmocka_unit_test(test_disc),      cmocka_unit_test(test_rest),
        cmocka_unit_test(test_sliding), cmocka_unit_test(test_collision), cmocka_unit_test(test_told),
        cmocka_unit_test(test_inside),  cmocka_unit_test(test_hard),      cmocka_unit_test(test_part),
        cmocka_unit_test(test_flat),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
