// SPDX-License-Identifier: Apache-2.0
// Lines through samples, whose answers are known.
#include "base/line_fit.h"
#include "tests/test.h"

static void test_line(void **state) {
    (void)state;
    LineFit fit = {0};
    assert_true(isnan(line_fit_slope(&fit)) && isnan(line_fit_correlation(&fit)));
    for (int i = 0; i < 5; i++) line_fit_add(&fit, i, 3 - 2 * i);
    assert_close(line_fit_slope_centred(&fit), -2, 1e-12, 0);
    assert_close(line_fit_correlation(&fit), -1, 1e-12, 0);
    assert_close(line_fit_slope(&fit), -1, 1e-12, 0); // (3 sum x - 2 sum xx) / sum xx = (30 - 60) / 30
    LineFit same = {0};
    for (int i = 0; i < 5; i++) line_fit_add(&same, 0.1, i);
    assert_true(isnan(line_fit_slope_centred(&same)) && isnan(line_fit_correlation(&same)));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_line)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
