// SPDX-License-Identifier: Apache-2.0
// What each edit does to rigid bodies: to which of them particles belong, and where these were one time step before.
#include "tests/edit_scene.h"

#include <math.h>

// Flags tell the same as bodies.
static void assert_flags(const RolloutFile *file) {
    for (size_t i = 0; i < file->sets[0].N; i++) assert_int_equal(file->sets[0].moving[i], file->sets[0].body[i] >= 0);
}

static size_t bodies_with(const RolloutFile *file, int32_t number) {
    size_t count = 0;
    for (size_t i = 0; i < file->sets[0].N; i++) count += file->sets[0].body[i] == number;
    return count;
}

// Particles of one body, from `first` on, with this mean place and velocity in metres per time step.
static void assert_body(const RolloutFile *file, size_t first, size_t count, int32_t number, const double place[3],
                        const double velocity[3]) {
    const RolloutSet *now = &file->sets[0];
    double middle[3] = {0};
    for (size_t i = first; i < first + count; i++) {
        assert_int_equal(now->body[i], number);
        for (size_t c = 0; c < 3; c++) {
            middle[c] += (double)now->positions[3 * i + c] / (double)count;
            assert_close((double)now->positions[3 * i + c] - (double)now->before[3 * i + c], velocity[c], 1e-5, 0);
        }
    }
    for (int c = 0; c < 3; c++) assert_close(middle[c], place[c], 1e-5, 0);
}

static const double red_place[3] = {-0.425, 0.075, 0.275}, blue_place[3] = {0.475, 0.075, 0.275},
                    velocity[3] = {0.1, 0, 0};

static void test_remove(void **state) {
    (void)state;
    RolloutFile file = edit_scene();
    RUN(&file, "remove: {label: red}");
    assert_int_equal(file.sets[0].N, FLOOR + BLOCK);
    assert_body(&file, FLOOR, BLOCK, BLUE, blue_place, velocity);
    RUN(&file, "remove: {floor: true}"); // nothing is left to meet
    assert_int_equal(file.sets[0].N, BLOCK);
    assert_body(&file, 0, BLOCK, BLUE, blue_place, velocity);
    rollout_file_free(&file);
    file = edit_scene();
    RUN(&file, "keep: {moving: true}");
    assert_int_equal(file.sets[0].N, 2 * BLOCK);
    assert_body(&file, 0, BLOCK, RED, red_place, velocity);
    assert_flags(&file);
    RUN(&file, "keep: {body: 5}");
    assert_int_equal(file.sets[0].N, BLOCK);
    assert_body(&file, 0, BLOCK, BLUE, blue_place, velocity);
    rollout_file_free(&file);
}

// Velocities turn and grow with what has them.
static void test_places(void **state) {
    const double x = red_place[0], y = red_place[1], z = red_place[2];
    (void)state;
    RolloutFile file = edit_scene();
    RUN(&file, "move: {label: red, by: [0, 0.5, 1]}");
    assert_body(&file, FLOOR, BLOCK, RED, (double[]){x, y + 0.5, z + 1}, velocity);
    RUN(&file, "rotate: {label: red, axis: [0, 0, 1], angle: 90}");
    assert_body(&file, FLOOR, BLOCK, RED, (double[]){x, y + 0.5, z + 1}, (double[]){0, 0.1, 0});
    RUN(&file, "scale: {label: red, factor: 2}");
    assert_body(&file, FLOOR, BLOCK, RED, (double[]){x, y + 0.5, z + 1}, (double[]){0, 0.2, 0});
    assert_close(file.sets[0].positions[3 * FLOOR], x + 0.15, 1e-5, 0); // the corner, turned and twice as far
    assert_close(file.sets[0].radius[FLOOR], 0.12, 1e-6, 0);
    assert_close(file.sets[0].radius[0], 0.06, 1e-6, 0);
    assert_body(&file, FLOOR + BLOCK, BLOCK, BLUE, blue_place, velocity);
    RUN(&file, "rotate: {label: blue, axis: [0, 0, 2], angle: -90, about: [0, 0, 0]}");
    assert_body(&file, FLOOR + BLOCK, BLOCK, BLUE, (double[]){y, -blue_place[0], z}, (double[]){0, -0.1, 0});
    assert_flags(&file);
    rollout_file_free(&file);
}

// A part of a body that is put elsewhere is a body of its own; one that is removed is not.
static void test_parts(void **state) {
    const double z = red_place[2];
    (void)state;
    RolloutFile file = edit_scene();
    RUN(&file, "move: {label: red, height: {above: 0.28}, by: [0, 1, 0]}",
        "remove: {label: blue, height: {above: 0.28}}");
    assert_body(&file, FLOOR, BLOCK / 2, RED, (double[]){-0.425, 0.075, z - 0.05}, velocity);
    assert_body(&file, FLOOR + BLOCK / 2, BLOCK / 2, BLUE + 1, (double[]){-0.425, 1.075, z + 0.05}, velocity);
    assert_body(&file, FLOOR + BLOCK, BLOCK / 2, BLUE, (double[]){0.475, 0.075, z - 0.05}, velocity);
    RUN(&file, "throw: {label: red, velocity: [0, 0, 2], plane: {point: [0, 0.5, 0], normal: [0, 1, 0]}}");
    assert_body(&file, FLOOR + BLOCK / 2, BLOCK / 2, BLUE + 1, (double[]){-0.425, 1.075, z + 0.05},
                (double[]){0.1, 0, 0.1});
    rollout_file_free(&file);
}

static void test_copy(void **state) {
    const double x = red_place[0], y = red_place[1], z = red_place[2];
    (void)state;
    RolloutFile file = edit_scene();
    RUN(&file, "copy: {label: [red, blue], by: [0, 0, 1], count: 2}",
        "copy: {box: {min: [-1, -1, -1], max: [-0.85, -0.85, 1]}, by: [0, 0, -1]}");
    assert_body(&file, FLOOR, BLOCK, RED, red_place, velocity);
    assert_body(&file, ALL, BLOCK, 6, (double[]){x, y, z + 1}, velocity);
    assert_body(&file, ALL + BLOCK, BLOCK, 7, (double[]){blue_place[0], y, z + 1}, velocity);
    assert_body(&file, ALL + 2 * BLOCK, BLOCK, 8, (double[]){x, y, z + 2}, velocity);
    assert_body(&file, ALL + 3 * BLOCK, BLOCK, 9, (double[]){blue_place[0], y, z + 2}, velocity);
    assert_int_equal(file.sets[0].N, ALL + 4 * BLOCK + 4); // four particles of the floor, which stand still
    assert_body(&file, ALL + 4 * BLOCK, 4, -1, (double[]){-0.95, -0.95, -1}, (double[3]){0});
    assert_flags(&file);
    rollout_file_free(&file);
}

// The velocity is added; with `replace` it is the only one, and gravity bends the way.
static void test_throw(void **state) {
    (void)state;
    RolloutFile file = edit_scene();
    RUN(&file, "throw: {label: red, velocity: [0, 2, 4]}");
    assert_body(&file, FLOOR, BLOCK, RED, red_place, (double[]){0.1, 0.1, 0.2});
    RUN(&file, "throw: {label: red, velocity: [0, 2, 0], gravity: [0, 0, -8], replace: true}");
    assert_body(&file, FLOOR, BLOCK, RED, red_place, (double[]){0, 0.1, 0.5 * 8 * 0.05 * 0.05});
    assert_body(&file, FLOOR + BLOCK, BLOCK, BLUE, blue_place, velocity);
    assert_flags(&file);
    rollout_file_free(&file);
}

static void rest(RolloutFile *file, size_t first, size_t count) {
    for (size_t i = first; i < first + count; i++) {
        file->sets[0].body[i] = -1;
        file->sets[0].moving[i] = 0;
    }
    memcpy(file->sets[0].before + 3 * first, file->sets[0].positions + 3 * first, 12 * count);
}

// What stood still becomes a body per label, also with a velocity of 0 that replaces another.
static void test_throw_from_rest(void **state) {
    (void)state;
    RolloutFile file = edit_scene();
    rest(&file, FLOOR, 2 * BLOCK);
    RUN(&file, "throw: {label: [red, blue], velocity: [0, 0, 0]}"); // no motion is added to none
    assert_int_equal(bodies_with(&file, -1), ALL);
    RUN(&file, "throw: {label: [red, blue], velocity: [0, 0, 0], replace: true}",
        "throw: {label: blue, velocity: [0, 0, 2]}");
    assert_body(&file, FLOOR, BLOCK, 0, red_place, (double[3]){0});
    assert_body(&file, FLOOR + BLOCK, BLOCK, 1, blue_place, (double[]){0, 0, 0.1});
    assert_int_equal(bodies_with(&file, -1), FLOOR);
    assert_flags(&file);
    rollout_file_free(&file);

    file = edit_scene(); // without labels, one for all
    rest(&file, FLOOR, 2 * BLOCK);
    edit_scene_drop_labels(&file);
    RUN(&file, "throw: {height: {above: 0.1}, velocity: [0, 0, 2]}");
    assert_int_equal(bodies_with(&file, 0), 2 * BLOCK);
    rollout_file_free(&file);
}

// Some of a turning block's particles were not seen to move: they go with the others.
static void test_throw_a_body_with_still_particles(void **state) {
    const double angle = 0.2, c = cos(angle), s = sin(angle);
    (void)state;
    RolloutFile file = edit_scene();
    float *before = file.sets[0].before, turned[3 * BLOCK];
    for (size_t i = FLOOR; i < FLOOR + BLOCK; i++) {
        const float *p = file.sets[0].positions + 3 * i;
        double x = p[0] - red_place[0], y = p[1] - red_place[1];
        before[3 * i] = (float)(c * x - s * y + red_place[0]),
                   before[3 * i + 1] = (float)(s * x + c * y + red_place[1]);
    }
    memcpy(turned, before + 3 * FLOOR, sizeof turned);
    rest(&file, FLOOR, 10);
    file.sets[0].labels[ALL - 1] = 1; // a particle of the other block with the wrong label
    RUN(&file, "throw: {label: red, velocity: [0, 0, 2]}");
    for (size_t i = 0; i < BLOCK; i++) {
        assert_int_equal(file.sets[0].body[FLOOR + i], RED);
        for (size_t k = 0; k < 3; k++)
            assert_close(before[3 * (FLOOR + i) + k], turned[3 * i + k] - (k == 2 ? 0.1f : 0), 1e-5, 0);
    }
    assert_int_equal(bodies_with(&file, BLUE), BLOCK - 1);
    assert_int_equal(bodies_with(&file, BLUE + 1), 1);
    assert_flags(&file);
    rollout_file_free(&file);
}

// What stood still joins the body with most particles, also where no body has more than half of them, whatever their
// order; of two with equally many that with the least number.
static void test_throw_joins_the_largest_body(void **state) {
    static const size_t counts[][3] = {{62, 32, 34}, {34, 62, 32}, {32, 34, 62}, {43, 43, 42}};
    static const int32_t numbers[] = {2, 6, 4}, largest[] = {2, 6, 4, 2};
    (void)state;
    for (size_t k = 0; k < 4; k++) {
        RolloutFile file = edit_scene();
        for (size_t b = 0, i = FLOOR; b < 3; b++)
            for (size_t n = 0; n < counts[k][b]; n++) file.sets[0].body[i++] = numbers[b];
        edit_scene_drop_labels(&file);
        RUN(&file, "throw: {all: true, velocity: [0, 0, 1]}");
        for (size_t i = 0; i < FLOOR; i++) assert_int_equal(file.sets[0].body[i], largest[k]);
        assert_flags(&file);
        rollout_file_free(&file);
    }
}

static void test_compose(void **state) {
    char folder[64], path[96], edit[256];
    Error err;
    EditReport report;
    (void)state;
    RolloutFile file = edit_scene();
    test_make_folder(folder);
    snprintf(path, sizeof path, "%s/other.h5", folder);
    assert_status_ok(rollout_file_write(&file, path, &err), err);
    snprintf(edit, sizeof edit, "compose: {file: %s, by: [0, 1, 0]}", path);
    RUN(&file, edit);
    assert_int_equal(file.sets[0].N, 2 * ALL);
    assert_body(&file, FLOOR, BLOCK, RED, red_place, velocity);
    assert_int_equal(bodies_with(&file, -1), 2 * FLOOR);
    assert_body(&file, ALL + FLOOR, BLOCK, BLUE + 1 + RED, (double[]){-0.425, 1.075, 0.275}, velocity);
    assert_body(&file, ALL + FLOOR + BLOCK, BLOCK, BLUE + 1 + BLUE, (double[]){0.475, 1.075, 0.275}, velocity);
    assert_flags(&file);
    free(file.sets[0].before), free(file.sets[0].body);
    file.sets[0].before = NULL, file.sets[0].body = NULL;
    assert_status_error(edit_scene_apply(&file, EDITS(edit), 0, &report, &err), STATUS_BAD_INPUT, err,
                        "expected bodies in both files or in none, found them in one");
    rollout_file_free(&file);
    test_remove_folder(folder);
}

// Labels and looks are of no account to bodies.
static void test_looks(void **state) {
    (void)state;
    RolloutFile file = edit_scene();
    RUN(&file, "recolour: {label: red, like: {label: blue}}", "cluster: {}", "label: {moving: true, as: both}");
    assert_body(&file, FLOOR, BLOCK, RED, red_place, velocity);
    assert_body(&file, FLOOR + BLOCK, BLOCK, BLUE, blue_place, velocity);
    assert_int_equal(edit_scene_labelled(&file.sets[0], 3), 2 * BLOCK);
    rollout_file_free(&file);
}

// A later step becomes the present; velocities are those of the rollout.
static void test_step(void **state) {
    Error err;
    EditReport report;
    (void)state;
    for (size_t step = 1; step <= 2; step++) {
        RolloutFile file = edit_scene();
        edit_scene_steps(&file);
        for (size_t i = FLOOR; i < ALL; i++) file.positions[3 * i + 1] += 0.5f; // step 1 alone
        assert_status_ok(edit_scene_apply(&file, EDITS("remove: {label: blue}"), step, &report, &err), err);
        assert_true(file.steps == 0 && !file.positions && file.set_count == 1);
        assert_body(&file, FLOOR, BLOCK, RED, (double[]){-0.425 + 0.1 * (double)step, step == 1 ? 0.575 : 0.075, 0.275},
                    (double[]){0.1, step == 1 ? 0.5 : -0.5, 0});
        rollout_file_free(&file);
    }
}

static void test_wrong(void **state) {
    Error err;
    EditReport report;
    (void)state;
    RolloutFile file = edit_scene();
    assert_status_error(
        edit_scene_apply(&file, EDITS("throw: {label: 1, velocity: [0, 0, 1], gravity: [0, 0, -9]}"), 0, &report, &err),
        STATUS_BAD_INPUT, err, "gravity is allowed only with `replace: true`");
    file.time_step = 0;
    assert_status_error(edit_scene_apply(&file, EDITS("throw: {label: 1, velocity: [0, 0, 1]}"), 0, &report, &err),
                        STATUS_BAD_INPUT, err, "a velocity needs a time step, found 0 s");
    file.sets[0].body[FLOOR] = ROLLOUT_BODIES_MAX - 2; // one number is free
    RUN(&file, "copy: {label: blue, by: [0, 0, 1]}");
    assert_status_error(edit_scene_apply(&file, EDITS("copy: {label: blue, by: [0, 0, 1]}"), 0, &report, &err),
                        STATUS_BAD_INPUT, err,
                        "cannot add 1 more bodies to 16777216: expected at most 16777216 in all");
    rollout_file_free(&file);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_remove),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_copy),
        cmocka_unit_test(test_throw),
        cmocka_unit_test(test_throw_from_rest),
        cmocka_unit_test(test_compose),
        cmocka_unit_test(test_looks),
        cmocka_unit_test(test_step),
        cmocka_unit_test(test_wrong),
        cmocka_unit_test(test_throw_a_body_with_still_particles),
        cmocka_unit_test(test_throw_joins_the_largest_body),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
