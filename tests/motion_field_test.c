// SPDX-License-Identifier: Apache-2.0
// Motion fields as values: made, copied and freed.
#include "tests/test.h"

#include "motion/motion_field.h"

static void test_create(void **state) {
    (void)state;
    Error err;
    MotionField field;
    assert_status_ok(motion_field_create(5, &field, &err), err);
    assert_int_equal(field.count, 5);
    for (size_t i = 0; i < MOTION_FIELD_WIDTH * field.count; i++) assert_true(field.position[i] == 0);
    assert_ptr_equal(field.gradient, field.position + 9 * field.count);
    motion_field_free(&field);
    assert_true(field.count == 0 && !field.position && !field.gradient);
    motion_field_free(&field);
    assert_status_error(motion_field_create(SIZE_MAX / 8, &field, &err), STATUS_FAILED, err, "points");
    assert_true(field.count == 0 && !field.position);
}

static void test_copy(void **state) {
    (void)state;
    Error err;
    MotionField field, copy, none = {0};
    assert_status_ok(motion_field_create(3, &field, &err), err);
    for (size_t i = 0; i < MOTION_FIELD_WIDTH * field.count; i++) field.position[i] = (real)i;
    assert_status_ok(motion_field_copy(&field, &copy, &err), err);
    field.position[0] = field.gradient[26] = -1; // the copy has memory of its own
    for (size_t i = 0; i < MOTION_FIELD_WIDTH * copy.count; i++) assert_true(copy.position[i] == (real)i);
    assert_int_equal(copy.count, 3);
    motion_field_free(&copy);
    motion_field_free(&field);
    assert_status_ok(motion_field_copy(&none, &copy, &err), err);
    assert_int_equal(copy.count, 0);
    motion_field_free(&copy);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_create), cmocka_unit_test(test_copy)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
