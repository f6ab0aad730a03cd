// SPDX-License-Identifier: Apache-2.0
#include "base/version.h"

#include <stdio.h>

int main(void) {
    printf("vpd %s (%s)\n", version_number(), version_commit());
    return 0;
}
