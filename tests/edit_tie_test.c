// SPDX-License-Identifier: Apache-2.0
// Points of past sets and clouds belong to the present particle that a plain search over all of them finds, entry by
// entry: also points that are particles, that were met before, that coincide, and whose differences vanish when they
// are squared. And the table of answers gives what was put in, or nothing.
#include "edit/answers.h"
#include "edit/scene.h"
#include "tests/test.h"

#include <math.h>

enum { N = 400, P = 700 };

static uint32_t state_of_random = 1;
static uint32_t next_random(void) { return state_of_random = state_of_random * 1664525u + 1013904223u; }

static void point_at_random(float *x, uint8_t *colour, uint8_t *moving, size_t i) {
    for (size_t c = 0; c < 3; c++) {
        x[3 * i + c] = (float)(next_random() >> 8) / (1 << 24);
        colour[3 * i + c] = (uint8_t)(next_random() >> 29);
    }
    moving[i] = next_random() >> 31;
}

static void copy_point(RolloutSet *set, size_t from, float *x, uint8_t *colour, uint8_t *moving, size_t i) {
    memcpy(x + 3 * i, set->positions + 3 * from, 12);
    memcpy(colour + 3 * i, set->colour + 3 * from, 3);
    moving[i] = set->moving[from];
}

// Particles of which some coincide, some differ by less than a square can hold; points that are some of them.
static RolloutSet set_at_random(RolloutSet *now, size_t count, size_t cloud) {
    RolloutSet set = {.N = count, .P = cloud};
    set.positions = malloc(12 * count), set.colour = malloc(3 * count), set.moving = malloc(count);
    set.cloud_positions = malloc(12 * cloud), set.cloud_colour = malloc(3 * cloud), set.cloud_moving = malloc(cloud);
    for (size_t i = 0; i < count; i++) {
        if (now && i % 3 == 0) copy_point(now, next_random() % N, set.positions, set.colour, set.moving, i);
        else point_at_random(set.positions, set.colour, set.moving, i);
        if (!now && i % 10 == 9) copy_point(&set, i - 5, set.positions, set.colour, set.moving, i);
        if (!now && i % 20 == 18) {
            copy_point(&set, i - 1, set.positions, set.colour, set.moving, i);
            set.positions[3 * i] = 1e-30f, set.positions[3 * (i - 1)] = 2e-30f;
        }
    }
    for (size_t i = 0; i < cloud; i++) {
        if (i % 2)
            copy_point(i % 4 == 1 || !now ? &set : now, next_random() % (count < N ? count : N), set.cloud_positions,
                       set.cloud_colour, set.cloud_moving, i);
        else point_at_random(set.cloud_positions, set.cloud_colour, set.cloud_moving, i);
    }
    return set;
}

// The arithmetic of edit/tie.c and nn/knn.h, over all particles.
static uint32_t plain_search(const RolloutSet *now, const float *x, const uint8_t *colour, uint8_t moving,
                             float reach) {
    uint32_t best = 0;
    float least = INFINITY, scale = (float)(2 * (double)reach / 255), step = (float)(4 * (double)reach);
    for (size_t i = 0; i < N; i++) {
        float sum = 0;
        for (size_t c = 0; c < 3; c++) sum += (now->positions[3 * i + c] - x[c]) * (now->positions[3 * i + c] - x[c]);
        for (size_t c = 0; c < 3; c++) {
            float d = (float)now->colour[3 * i + c] * scale - (float)colour[c] * scale;
            sum += d * d;
        }
        float d = (float)now->moving[i] * step - (float)moving * step;
        sum += d * d;
        if (sum < least) least = sum, best = (uint32_t)i;
    }
    return best;
}

static void as_a_plain_search(void **state) {
    (void)state;
    for (int threads = 1; threads <= 2; threads++) {
        RolloutFile file = {.set_count = 2};
        EditScene scene;
        Device *device = NULL;
        Error err = {0};
        file.sets[0] = set_at_random(NULL, N, P);
        file.sets[1] = set_at_random(&file.sets[0], N - 50, P);
        RolloutSet *now = file.sets, *past = file.sets + 1;
        now->radius = malloc(4 * N);
        for (size_t i = 0; i < N; i++) now->radius[i] = 0.0625f;
        assert_status_ok(device_open("cpu", threads, &device, &err), err);
        assert_status_ok(scene_open(&scene, &file, 1, device, NULL, &err), err);
        for (int k = 0; k < 2; k++)
            for (size_t i = 0; i < P; i++)
                assert_int_equal(scene.cloud_owner[k][i], plain_search(now, file.sets[k].cloud_positions + 3 * i,
                                                                       file.sets[k].cloud_colour + 3 * i,
                                                                       file.sets[k].cloud_moving[i], 0.0625f));
        for (size_t i = 0; i < past->N; i++)
            assert_int_equal(scene.owner[1][i], plain_search(now, past->positions + 3 * i, past->colour + 3 * i,
                                                             past->moving[i], 0.0625f));
        scene_close(&scene);
        device_close(device);
        rollout_file_free(&file);
    }
}

static void table_of_answers(void **state) {
    (void)state;
    Answers answers;
    size_t known = 0;
    assert_true(answers_open(&answers, 100));
    for (uint32_t i = 0; i < 5000; i++) { // far more than there is room for
        real x[ANSWER_DIMS] = {(real)i, 0, (real)(i % 7)};
        answers_add(&answers, answers_place(&answers, x), x, i);
        answers_add(&answers, answers_place(&answers, x), x, i + 1); // the first one stays
    }
    assert_true(answers.count > 100 && answers.count <= answers.mask);
    for (uint32_t i = 0; i < 5000; i++) {
        real x[ANSWER_DIMS] = {(real)i, 0, (real)(i % 7)}, other[ANSWER_DIMS] = {(real)i, 1, (real)(i % 7)};
        uint32_t owner = answers_find(&answers, answers_place(&answers, x), x);
        assert_true(owner == i || owner == ANSWER_NONE);
        known += owner == i;
        assert_int_equal(answers_find(&answers, answers_place(&answers, other), other), ANSWER_NONE);
    }
    assert_int_equal(known, answers.count);
    answers_close(&answers);
    answers_close(&answers);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_a_plain_search), cmocka_unit_test(table_of_answers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
