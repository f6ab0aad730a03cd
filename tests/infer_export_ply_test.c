// SPDX-License-Identifier: Apache-2.0
// Rollouts exported as PLY: the numbers that went in come back, with faces and springs.
#include "tests/infer_export.h"

static void ply(void **state) {
    (void)state;
    Error err = {0};
    for (int all = 0; all < 2; all++) {
        RolloutFile r = make_rollout(STEPS, all);
        char out[32], name[64];
        snprintf(out, sizeof out, "deep/ply%d", all);
        assert_status_ok(export_ply(&r, place(out), &err), err);
        for (size_t step = 0; step <= STEPS; step++) {
            size_t length, row = all ? 21 : 12;
            snprintf(name, sizeof name, "%s/step_%04zu.ply", out, step);
            char *text = read_all(place(name), &length), *body = strstr(text, "end_header\n");
            assert_non_null(body);
            assert_memory_equal(text, "ply\nformat binary_little_endian 1.0\n", 36);
            assert_non_null(strstr(text, "element vertex 5\nproperty float x\nproperty float y\nproperty float z\n"));
            assert_int_equal(strstr(text,
                                    "property uchar red\nproperty uchar green\nproperty uchar blue\nproperty ushort "
                                    "label\nproperty float radius\nend_header") != NULL,
                             all);
            body += strlen("end_header\n");
            assert_int_equal(length - (size_t)(body - text), N * row);
            for (size_t i = 0; i < N; i++) {
                const char *at = body + i * row;
                assert_memory_equal(at, rollout_positions(&r, step) + 3 * i, 12);
                if (!all) continue;
                assert_memory_equal(at + 12, r.sets[0].colour + 3 * i, 3);
                assert_int_equal(number(at + 15, 2), 300 * i);
                assert_memory_equal(at + 17, r.sets[0].radius + i, 4);
            }
            free(text);
        }
        rollout_file_free(&r);
    }
    RolloutFile r = make_rollout(0, true);
    assert_status_error(export_ply(&r, "/proc/nothing", &err), STATUS_BAD_INPUT, err, "/proc/nothing");
    rollout_file_free(&r);
}

static void ply_surface(void **state) {
    (void)state;
    Error err = {0};
    size_t length;
    RolloutFile r = make_simulated(STEPS);
    assert_status_ok(export_ply(&r, place("surface"), &err), err);
    char *text = read_all(place("surface/step_0002.ply"), &length), *body = strstr(text, "end_header\n");
    assert_non_null(strstr(text, "property float radius\nelement face 1\nproperty list uchar int vertex_indices\n"
                                 "element edge 2\nproperty int vertex1\nproperty int vertex2\nend_header\n"));
    body += strlen("end_header\n") + (size_t)N * 21;
    assert_int_equal(length - (size_t)(body - text), 13 + 16);
    assert_memory_equal(body, ((uint8_t[]){3, 0, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0}), 13);
    assert_memory_equal(body + 13, r.surface.spring, 16);
    free(text);
    rollout_file_free(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ply),
        cmocka_unit_test(ply_surface),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
