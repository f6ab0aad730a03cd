// SPDX-License-Identifier: Apache-2.0
// Objects of scene files that meet: a ball on cloth, cloth over a box, solids on one another, and cloth on itself.
#include "lab/record.h"
#include "lab/scene.h"

#include "tests/lab_movie.h"

static const double *object_at(const Movie *m, size_t frame, size_t object) {
    return m->position + frame * m->row + 3 * m->scene.objects[object].particle;
}

static double mean(const Movie *m, size_t frame, size_t object, size_t axis) {
    const size_t count = m->scene.objects[object].particles;
    double sum = 0;
    for (size_t i = 0; i < count; i++) sum += object_at(m, frame, object)[3 * i + axis] / (double)count;
    return sum;
}

// Height of an object's highest face under or over a point; NAN beside it.
static double height(const Movie *m, size_t frame, size_t object, const double at[3]) {
    const SceneObject *o = m->scene.objects + object;
    const double *x = object_at(m, frame, object);
    double most = NAN;
    for (size_t f = o->face; f < o->face + o->faces; f++) {
        const int32_t *face = m->scene.face + 3 * f;
        double w[3], all = 0, z = 0;
        for (int j = 0; j < 3; j++) {
            const double *a = x + 3 * face[(j + 1) % 3], *b = x + 3 * face[(j + 2) % 3];
            w[j] = (a[0] - at[0]) * (b[1] - at[1]) - (a[1] - at[1]) * (b[0] - at[0]);
            all += w[j];
        }
        for (int j = 0; j < 3; j++) z += w[j] / all * x[3 * face[j] + 2];
        if (fabs(all) > 1e-12 && w[0] / all >= 0 && w[1] / all >= 0 && w[2] / all >= 0) most = fmax(most, z);
    }
    return most;
}

#define HEAD "frames: 45\nfps: 30\nsubsteps: 250\n"

// A cloth held at its border catches a ball: no particle of it falls through.
static void test_ball_on_cloth(void **state) {
    (void)state;
    enum { SIDE = 13 };
    char text[4000];
    size_t at =
        (size_t)snprintf(text, sizeof text,
                         HEAD "contacts: {c: {k_e: 400, k_d: 0.3, k_f: 0.3, mu: 0.3, fade: 0.005, margin: 0.02}}\n"
                              "objects:\n"
                              "  ball: {sphere: {radius: 0.12, cells: 2}, density: 30, position: [0.02, 0.01, 0.25],\n"
                              "    solid: {young: 1e4, poisson: 0.3, k_d: 2}}\n"
                              "  cloth: {cloth: {size: [0.6, 0.6], cells: [12, 12]}, density: 0.4,\n"
                              "    springs: {k_e: 150, k_d: 0.05}, fixed: [");
    for (int i = 0; i < SIDE * SIDE; i++)
        if (i % SIDE == 0 || i % SIDE == SIDE - 1 || i / SIDE == 0 || i / SIDE == SIDE - 1)
            at += (size_t)snprintf(text + at, sizeof text - at, "%s%d", i ? ", " : "", i);
    snprintf(text + at, sizeof text - at, "]}\n");
    Movie m;
    movie_play(&m, text);
    double lowest = 9;
    for (size_t f = 0; f < m.frames; f++)
        for (size_t i = 0; i < m.scene.objects[0].particles; i++) {
            const double *x = object_at(&m, f, 0) + 3 * i;
            assert_true(x[2] > height(&m, f, 1, x));
            lowest = fmin(lowest, x[2]);
        }
    assert_true(lowest < -0.02); // the cloth gave way
    movie_end(&m);
}

// A cloth falls over a box: it lies on it and hangs down around it, and no particle gets into the box.
static void test_cloth_over_box(void **state) {
    (void)state;
    Movie m;
    movie_play(&m,
               HEAD "contacts:\n  solid: {k_e: 200, k_d: 0.1, k_f: 0.1, mu: 0.5, fade: 0.005}\n"
                    "  cloth: {k_e: 20, k_d: 0.01, k_f: 0.01, mu: 0.5, fade: 0.005, margin: 0.01}\n"
                    "objects:\n"
                    "  box: {box: {size: [0.3, 0.3, 0.3], cells: [2, 2, 2]}, density: 300,\n"
                    "    solid: {young: 1e5, poisson: 0.3, k_d: 5}, fixed: {min: [-1, -1, -1], max: [1, 1, 1]}}\n"
                    "  cloth: {cloth: {size: [0.6, 0.6], cells: [16, 16]}, density: 0.4, position: [0.02, 0.01, 0.2],\n"
                    "    springs: {k_e: 60, k_d: 0.02}, bending: {k_e: 1e-4, k_d: 1e-6}, contact: cloth}\n");
    const size_t last = m.frames - 1;
    for (size_t f = 0; f < m.frames; f++)
        for (size_t i = 0; i < m.scene.objects[1].particles; i++) {
            const double *x = object_at(&m, f, 1) + 3 * i;
            assert_true(fabs(x[0]) > 0.146 || fabs(x[1]) > 0.146 || fabs(x[2]) > 0.146);
        }
    const double *x = object_at(&m, last, 1);
    assert_close(x[3 * (17 * 8 + 8) + 2], 0.155, 0.008, 0); // the middle, on the box or in a wrinkle
    assert_true(x[2] < 0.05 && x[3 * 16 + 2] < 0.05);       // corners hang
    movie_end(&m);
}

// Three boxes on one another, on the ground, stay a tower; each is at rest at its height.
static void test_tower(void **state) {
    (void)state;
    Movie m;
    movie_play(&m, HEAD
               "contacts: {c: {k_e: 1000, k_d: 5, k_f: 20, mu: 0.6, fade: 0.002}}\nplanes: [{}]\nobjects:\n"
               "  low: {box: {size: [0.2, 0.2, 0.1], cells: [2, 2, 1]}, density: 300, position: [0, 0, 0.05],\n"
               "    solid: {young: 2e5, poisson: 0.3, k_d: 20}}\n"
               "  middle: {box: {size: [0.13, 0.13, 0.1], cells: [1, 1, 1]}, density: 300, position: [0.01, 0, 0.15],\n"
               "    solid: {young: 2e5, poisson: 0.3, k_d: 20}, rotation: {axis: [0, 0, 1], angle: 20}}\n"
               "  high: {box: {size: [0.08, 0.08, 0.1], cells: [1, 1, 1]}, density: 300, position: [0.01, 0, 0.25],\n"
               "    solid: {young: 2e5, poisson: 0.3, k_d: 20}}\n");
    for (size_t o = 0; o < 3; o++) {
        const double low = mean(&m, m.frames - 5, o, 2), z = mean(&m, m.frames - 1, o, 2);
        assert_close(z, 0.05 + 0.1 * (double)o, 0.02, 0);
        assert_close(z, low, 5e-4, 0);
        for (size_t axis = 0; axis < 2; axis++)
            assert_close(mean(&m, m.frames - 1, o, axis), mean(&m, 0, o, axis), 5e-3, 0);
    }
    movie_end(&m);
}

// A strip of cloth is folded over its own fixed half; without a margin it falls through it.
static void test_fold(void **state) {
    (void)state;
    for (int margin = 0; margin < 2; margin++) {
        enum { WIDE = 17, ROWS = 3 };
        char text[6000], fixed[400] = "";
        size_t at = 0, used = 0;
        at += (size_t)snprintf(text, sizeof text,
                               HEAD "contacts: {c: {k_e: 30, k_d: 0.02, k_f: 0.02, mu: 0.3, fade: 0.005, margin: %g}}\n"
                                    "objects: {strip: {cloth: {size: [0.8, 0.1], cells: [16, 2]}, density: 0.4,\n"
                                    "  springs: {k_e: 60, k_d: 0.05}, fixed: [%%s]}}\n"
                                    "values: {strip: {position: [",
                               0.02 * margin);
        for (int i = 0; i < WIDE * ROWS; i++) {
            const int c = i / ROWS;
            const double x = c < 9    ? 0.05 * c
                             : c == 9 ? 0.43
                                      : 0.4 - 0.05 * (c - 10),
                         z = c < 9    ? 0
                             : c == 9 ? 0.04
                                      : 0.08;
            at +=
                (size_t)snprintf(text + at, sizeof text - at, "%s[%g, %g, %g]", i ? ", " : "", x, 0.05 * (i % ROWS), z);
            if (c < 9) used += (size_t)snprintf(fixed + used, sizeof fixed - used, "%s%d", i ? ", " : "", i);
        }
        snprintf(text + at, sizeof text - at, "]}}\n");
        char whole[8000];
        const char *gap = strstr(text, "%s");
        snprintf(whole, sizeof whole, "%.*s%s%s", (int)(gap - text), text, fixed, gap + 2);
        Movie m;
        movie_play(&m, whole);
        double lowest = 9;
        for (size_t f = 0; f < 9; f++) // over the fixed half, before it slides down from it
            for (size_t i = 0; i < ROWS; i++) lowest = fmin(lowest, object_at(&m, f, 0)[3 * (ROWS * 14 + i) + 2]);
        assert_true(margin ? lowest > 0 && lowest < 0.07 : lowest < -0.05);
        movie_end(&m);
    }
}

// A plank of one cell lies across a box of one cell, 5 mm deep: what is inside is told, though no particle is, and the
// plank rises until its weight is borne.
static void test_plank(void **state) {
    (void)state;
    Movie m;
    movie_play(&m,
               HEAD "contacts: {c: {k_e: 5e3, k_d: 40, k_f: 20, mu: 0.5, fade: 0.001}}\n"
                    "objects:\n"
                    "  box: {box: {size: [0.2, 0.2, 0.2], cells: [1, 1, 1]}, density: 500, fixed: all, rigid: yes}\n"
                    "  plank: {box: {size: [0.8, 0.1, 0.04], cells: [1, 1, 1]}, density: 500, rigid: yes,\n"
                    "    position: [0.01, 0, 0.115]}\n");
    const RecordWorst inside = record_start(&m.scene);
    assert_close(inside.deep, 0.005, 1e-9, 0);
    assert_non_null(inside.object);
    assert_close(mean(&m, m.frames - 1, 1, 2), 0.12 - 1.6 * 9.81 / (4 * 5e3), 1e-5, 0);
    assert_close(mean(&m, m.frames - 1, 1, 0), 0.01, 5e-3, 0);
    movie_end(&m);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ball_on_cloth), cmocka_unit_test(test_cloth_over_box),
                                       cmocka_unit_test(test_tower), cmocka_unit_test(test_fold),
                                       cmocka_unit_test(test_plank)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
