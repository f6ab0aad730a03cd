// SPDX-License-Identifier: Apache-2.0
// Every case of gnn's ops: gradients against central differences in double precision.
#include "bench/case_tables.h"
#include "tests/f64/cases_check.h"

static void gradients_match_finite_differences(void **state) {
    (void)state;
    Device *device = cases_open_device();
    assert_int_equal(cases_check_tables(device, gnn_case_tables, gnn_case_table_count), 0);
    device_close(device);
}

static void planted_error_is_caught(void **state) {
    (void)state;
    cases_check_planted_error();
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(gradients_match_finite_differences),
                                       cmocka_unit_test(planted_error_is_caught)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
