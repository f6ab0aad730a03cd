// SPDX-License-Identifier: Apache-2.0
// The self-test finds what it is for: a wrong op, one that does not repeat, a wrong neighbour, one that fails.
#include "tests/test.h"

#include "bench/selftest.h"
#include "nn/backend.h"
#include "nn/group_norm.h"
#include "nn/knn.h"
#include "nn/linear.h"

typedef struct Seen {
    const char *part, *name; // of the only result that may fail; NULL: none
    size_t results, failed;
    char where[256];
} Seen;

static void see(void *context, const SelfTestResult *r) {
    Seen *seen = context;
    seen->results++;
    if (r->failed == 0) return;
    if (!seen->name || strcmp(seen->part, r->part) != 0 || strcmp(seen->name, r->name) != 0)
        fail_msg("%s %s: %s", r->part, r->name, r->where);
    seen->failed++;
    snprintf(seen->where, sizeof seen->where, "%s", r->where);
}

static NnBackend planted;
static const NnBackend *healthy;
static int calls;

static void wrong_bias(Device *device, const LinearArgs *args) {
    healthy->linear_backward(device, args);
    if (args->dbias && args->out) args->dbias[0] *= (real)1.001;
}

static void drifting_norm(Device *device, const GroupNormArgs *args) {
    healthy->group_norm_forward(device, args);
    args->y[0] *= 1 + (real)2e-7 * (real)(calls++ % 2);
}

static void swapped_neighbours(Device *device, const KnnIndex *index, const KnnArgs *args) {
    healthy->knn_search(device, index, args);
    if (args->queries < 1000 || args->k < 2 || args->index[1] < 0) return;
    int32_t held = args->index[0];
    args->index[0] = args->index[1], args->index[1] = held;
}

static void failing_norm(Device *device, const GroupNormArgs *args) {
    (void)args;
    device_fail(device, STATUS_FAILED, "planted failure");
}

typedef Status Part(SelfTest *test, Error *err);

// Runs one part against the same device with `planted` in place of its nn ops.
static void expect_failure(Part *part, const char *part_name, const char *name, const char *where) {
    Seen seen = {part_name, name, 0, 0, ""};
    SelfTest test = {.steps = 2, .report = see, .context = &seen};
    Error err = {0};
    assert_status_ok(device_open("cpu", 2, &test.reference, &err), err);
    assert_status_ok(device_open("cpu", 2, &test.device, &err), err);
    test.device->nn = &planted;
    assert_status_ok(part(&test, &err), err);
    assert_true(seen.results > 0);
    assert_int_equal(seen.failed, name != NULL);
    assert_int_equal(test.failed, seen.failed);
    if (!strstr(seen.where, where)) fail_msg("expected \"%s\" in \"%s\"", where, seen.where);
    test.device->nn = healthy;
    device_close(test.device);
    device_close(test.reference);
}

static int heal(void **state) {
    (void)state;
    Device *device = NULL;
    Error err = {0};
    assert_status_ok(device_open("cpu", 1, &device, &err), err);
    healthy = device->nn;
    planted = *healthy;
    device_close(device);
    return 0;
}

static void a_sound_device_passes(void **state) {
    (void)state;
    expect_failure(selftest_ops, NULL, NULL, "");
    expect_failure(selftest_neighbours, NULL, NULL, "");
    expect_failure(selftest_sim, NULL, NULL, "");
    expect_failure(selftest_raster, NULL, NULL, "");
    expect_failure(selftest_models, NULL, NULL, "");
}

static void a_wrong_gradient_is_found(void **state) {
    (void)state;
    planted.linear_backward = wrong_bias;
    expect_failure(selftest_ops, "ops", "linear", "linear");
}

static void what_does_not_repeat_is_found(void **state) {
    (void)state;
    planted.group_norm_forward = drifting_norm;
    expect_failure(selftest_ops, "again", "group_norm", "group_norm");
}

static void a_wrong_neighbour_is_found(void **state) {
    (void)state;
    planted.knn_search = swapped_neighbours;
    expect_failure(selftest_neighbours, "neighbours", "knn", "themselves");
}

static void a_failing_op_is_named(void **state) {
    (void)state;
    planted.group_norm_forward = failing_norm;
    expect_failure(selftest_ops, "ops", "group_norm", "planted failure");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_sound_device_passes, heal),
        cmocka_unit_test_setup(a_wrong_gradient_is_found, heal),
        cmocka_unit_test_setup(what_does_not_repeat_is_found, heal),
        cmocka_unit_test_setup(a_wrong_neighbour_is_found, heal),
        cmocka_unit_test_setup(a_failing_op_is_named, heal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
