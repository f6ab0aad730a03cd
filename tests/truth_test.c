// SPDX-License-Identifier: Apache-2.0
// Particles moved as recorded: those of an object follow its poses, others stand still, and steps end with the frames.
#include "infer/truth.h"
#include "tests/edit_scene.h"

#include <math.h>

enum { FRAMES = 4, OBJECTS = 2 };

// Object 0 (label 1) turns by 90 degrees about z around its centre (1, 0, 0) between frames 1 and 2, and goes up by
// 1 m a frame; object 1 stands still.
static EpisodeInfo recorded(double position[FRAMES * OBJECTS * 3], double turn[FRAMES * OBJECTS * 4]) {
    for (int f = 0; f < FRAMES; f++)
        for (int k = 0; k < OBJECTS; k++) {
            double *p = position + 3 * (f * OBJECTS + k), *q = turn + 4 * (f * OBJECTS + k);
            p[0] = 1, p[1] = 0, p[2] = k == 0 ? f : 0;
            q[0] = k == 0 && f >= 2 ? sqrt(0.5) : 1, q[1] = q[2] = 0, q[3] = k == 0 && f >= 2 ? sqrt(0.5) : 0;
        }
    return (EpisodeInfo){
        .name = "7", .F = FRAMES, .O = OBJECTS, .object_position = position, .object_quaternion = turn};
}

static void test_moves(void **state) {
    (void)state;
    double position[FRAMES * OBJECTS * 3], turn[FRAMES * OBJECTS * 4];
    EpisodeInfo info = recorded(position, turn);
    RolloutFile file = edit_scene(), truth;
    Error err;
    edit_scene_steps(&file);
    file.first_frame = 1;
    assert_status_ok(truth_of_rollout(&file, &info, &truth, &err), err);
    assert_int_equal(truth.steps, 2);
    for (size_t s = 1; s <= 2; s++)
        for (size_t i = 0; i < ALL; i++) {
            const float *x = file.sets[0].positions + 3 * i, *y = truth.positions + 3 * ((s - 1) * ALL + i);
            bool red = file.sets[0].labels[i] == 1;
            const float wanted[3] = {red ? 1 - x[1] : x[0], red ? x[0] - 1 : x[1], x[2] + (red ? (float)s : 0)};
            for (int c = 0; c < 3; c++)
                assert_close((double)y[c], (double)wanted[c], 1e-6, 0); // float positions of 1 m
        }
    assert_memory_equal(truth.sets[0].positions, file.sets[0].positions, ALL * 12);
    rollout_file_free(&truth);
    file.first_frame = 2; // one frame is left
    assert_status_ok(truth_of_rollout(&file, &info, &truth, &err), err);
    assert_int_equal(truth.steps, 1);
    rollout_file_free(&truth);
    rollout_file_free(&file);
}

static void test_refuses(void **state) {
    (void)state;
    double position[FRAMES * OBJECTS * 3], turn[FRAMES * OBJECTS * 4];
    EpisodeInfo info = recorded(position, turn);
    RolloutFile file = edit_scene(), truth;
    Error err;
    file.first_frame = FRAMES;
    assert_status_error(truth_of_rollout(&file, &info, &truth, &err), STATUS_BAD_INPUT, err, "before step 0");
    file.first_frame = 0;
    info.object_position = NULL;
    assert_status_error(truth_of_rollout(&file, &info, &truth, &err), STATUS_BAD_INPUT, err, "no poses of objects");
    info.object_position = position;
    assert_status_ok(rollout_file_note(&file, "remove: {body: 3}", &err), err);
    assert_status_error(truth_of_rollout(&file, &info, &truth, &err), STATUS_BAD_INPUT, err, "edited");
    free(file.edit_history);
    file.edit_history = NULL;
    edit_scene_drop_labels(&file);
    assert_status_error(truth_of_rollout(&file, &info, &truth, &err), STATUS_BAD_INPUT, err, "no labels");
    rollout_file_free(&file);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_moves), cmocka_unit_test(test_refuses)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
