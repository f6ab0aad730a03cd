// SPDX-License-Identifier: Apache-2.0
#include "tests/nn_reference.h"

int main(void) {
    const struct CMUnitTest tests[] = {NN_REFERENCE_TESTS};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
