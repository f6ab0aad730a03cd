// SPDX-License-Identifier: Apache-2.0
// The shadow of a box on a painted floor goes with the box.
#include "infer/shadows.h"
#include "tests/test.h"

enum { SIDE = 60, FACE = 16, D = 2, FLOOR = SIDE * SIDE, BOX = 6 * FACE * FACE, N = FLOOR + BOX };
static const double HALF = 0.15, WAY[3] = {0.3, 0.2, -1}, FROM[3] = {-0.1, 0.1, 0.4}, TO[3] = {0.2, 0, 0.3}, DARK = 0.4;

typedef struct World {
    Device *device;
    Tape tape;
    RolloutFile rollout;
    RolloutSet *set;
    int first; // axis of the world that the floor's x is: 0, or 1 if the world is turned
} World;

static double *floor_place(size_t i, double out[3]) {
    out[0] = 0.03 * (double)(i % SIDE) - 0.9, out[1] = 0.03 * (double)(i / SIDE) - 0.9, out[2] = 0;
    return out;
}

// Whether the light comes to x through a box that is `more` larger on all sides.
static bool is_shaded(const double x[3], const double centre[3], double more) {
    double from = 0, to = INFINITY;
    for (int c = 0; c < 3; c++) {
        double a = (centre[c] - HALF - more - x[c]) / -WAY[c], b = (centre[c] + HALF + more - x[c]) / -WAY[c];
        from = fmax(from, fmin(a, b)), to = fmin(to, fmax(a, b));
    }
    return from < to;
}

static double paint(const double x[3]) { return (int)(floor(5 * x[0]) + floor(5 * x[1])) & 1 ? 0.55 : 0.65; }

static void put(const World *w, float *positions, size_t i, const double x[3]) {
    for (int c = 0; c < 3; c++) positions[3 * i + (size_t)((c + w->first) % 3)] = (float)x[c];
}

static void put_box(const World *w, float *positions, const double centre[3]) {
    for (size_t i = 0; i < BOX; i++) {
        size_t face = i / (FACE * FACE), axis = face % 3;
        double x[3], a = (double)(i % FACE) / (FACE - 1), b = (double)(i / FACE % FACE) / (FACE - 1);
        x[axis] = face < 3 ? HALF : -HALF;
        x[(axis + 1) % 3] = HALF * (2 * a - 1), x[(axis + 2) % 3] = HALF * (2 * b - 1);
        for (int c = 0; c < 3; c++) x[c] += centre[c];
        put(w, positions, FLOOR + i, x);
    }
}

static void *room(size_t count, size_t size) {
    void *out = calloc(count, size);
    assert_non_null(out);
    return out;
}

// `dark`: what is left of the light in the shadow at step 0.
static void make(World *w, int first, double dark) {
    Error err = {0};
    *w = (World){.rollout = {.set_count = 1, .steps = 1}, .first = first, .set = &w->rollout.sets[0]};
    *w->set = (RolloutSet){.N = N, .D = D};
    w->set->positions = room(N, 12), w->set->features = room(N, 4 * D), w->set->colour = room(N, 3);
    w->set->body = room(N, sizeof(int32_t));
    w->rollout.positions = room(N, 12);
    for (size_t i = 0; i < FLOOR; i++) {
        double x[3], light = paint(floor_place(i, x)) * (is_shaded(x, FROM, 0) ? dark : 1);
        put(w, w->set->positions, i, x), put(w, w->rollout.positions, i, x);
        w->set->body[i] = -1;
        w->set->features[D * i] = (float)light, w->set->features[D * i + 1] = (float)(0.1 * sin(40 * x[0]));
        memset(w->set->colour + 3 * i, (int)lrint(255 * light), 3);
    }
    put_box(w, w->set->positions, FROM), put_box(w, w->rollout.positions, TO);
    assert_status_ok(device_open("cpu", 1, &w->device, &err), err);
    tape_init(&w->tape, w->device);
}

static void forget(World *w) {
    rollout_file_free(&w->rollout);
    tape_free(&w->tape);
    device_close(w->device);
}

static void go_with_bodies(void **state) {
    (void)state;
    static World w;
    for (int first = 0; first < 2; first++) {
        make(&w, first, DARK);
        ShadowLight light_of = {0};
        double along = 0, length = sqrt(0.3 * 0.3 + 0.2 * 0.2 + 1);
        const float *drawn = shadows_features(&w.tape, &w.rollout, 1, &light_of);
        assert_non_null(drawn);
        assert_true(light_of.found);
        for (int c = 0; c < 3; c++) along += light_of.way[(c + first) % 3] * WAY[c] / length;
        assert_true(along > cos(0.05)); // 3 degrees
        size_t comes = 0, goes = 0, stays = 0;
        for (size_t i = 0; i < FLOOR; i++) {
            double x[3], light = drawn[D * i], was = w.set->features[D * i];
            bool before = is_shaded(floor_place(i, x), FROM, -0.05), now = is_shaded(x, TO, -0.05),
                 not_before = !is_shaded(x, FROM, 0.08), not_now = !is_shaded(x, TO, 0.08);
            comes += not_before && now, goes += before && not_now;
            if (not_before && now) assert_close(light, was - 0.6 * (1 - DARK), 0.05, 0);
            if (before && not_now) assert_close(light, 0.6, 0.1, 0);
            if (not_before && not_now) assert_true(drawn[D * i] == w.set->features[D * i]), stays++;
            assert_close(drawn[D * i + 1], w.set->features[D * i + 1], 0.02, 0);
        }
        assert_true(comes > 20 && goes > 20 && stays > 2000);
        for (size_t k = D * FLOOR; k < D * N; k++) assert_true(drawn[k] == w.set->features[k]);
        forget(&w);
    }
}

// At step 0, without shadows or bodies, and where features are of every step, they are drawn as they are.
static void stay_as_they_are(void **state) {
    (void)state;
    static World w;
    ShadowLight light = {0};
    make(&w, 0, DARK);
    assert_ptr_equal(shadows_features(&w.tape, &w.rollout, 0, &light), w.set->features);
    w.rollout.features = room(N, 4 * D);
    assert_ptr_equal(shadows_features(&w.tape, &w.rollout, 1, &light), w.rollout.features);
    free(w.rollout.features), w.rollout.features = NULL;
    for (size_t i = FLOOR; i < N; i++) w.set->body[i] = -1;
    assert_ptr_equal(shadows_features(&w.tape, &w.rollout, 1, &light), w.set->features);
    free(w.set->body), w.set->body = NULL;
    assert_ptr_equal(shadows_features(&w.tape, &w.rollout, 1, &light), w.set->features);
    forget(&w);
    make(&w, 0, 1);
    assert_ptr_equal(shadows_features(&w.tape, &w.rollout, 1, &light), w.set->features);
    assert_false(light.found);
    memset(w.set->colour, 90, 3 * N); // nothing to tell a shadow by
    assert_ptr_equal(shadows_features(&w.tape, &w.rollout, 1, &light), w.set->features);
    assert_false(light.found);
    forget(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(go_with_bodies), cmocka_unit_test(stay_as_they_are)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
