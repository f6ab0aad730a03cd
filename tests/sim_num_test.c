// SPDX-License-Identifier: Apache-2.0
// Functions of numbers and of vectors of them that no library gives the simulator.
#define SIM_LANES 8
#include "sim/num.h"

#include "tests/test.h"

// All angles, and numbers of all sizes: close to those of the C library in all lanes, and 0 of zeros.
static void test_atan2(void **state) {
    double worst = 0;
    (void)state;
    for (int n = 0; n < 100000; n++) {
        const double size = pow(10, n % 37 - 18);
        Num y, x;
        for (int l = 0; l < SIM_LANES; l++) {
            const double angle = M_PI * ((n * SIM_LANES + l) / 400000.0 - 1) + (n % 3 ? 0 : 1e-6 * n);
            y[l] = (real)(size * sin(angle)), x[l] = (real)(size * cos(angle));
        }
        const Num out = num_atan2(y, x);
        for (int l = 0; l < SIM_LANES; l++) {
            const double right = atan2((double)y[l], (double)x[l]);
            worst = fmax(worst, fabs((double)out[l] - right) / fmax(fabs(right), 1e-30));
        }
    }
    printf("the worst angle is off by %.3g of itself\n", worst);
    assert_true(worst < 3e-7);
    assert_true(num_atan2(num_all(0), num_all(0))[0] == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_atan2)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
