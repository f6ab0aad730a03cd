// SPDX-License-Identifier: Apache-2.0
// A reader with a planted error: it believes a count in its header. The replay must find it (its CTest expects a
// crash).
#include "tests/fuzz/fuzz.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint32_t count;
    if (size < 8 || memcmp(data, "VPD", 3) != 0) return 0;
    memcpy(&count, data + 4, sizeof count);
    if (count > size - 8) abort(); // stands for the read behind the end
    return 0;
}
