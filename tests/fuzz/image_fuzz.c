// SPDX-License-Identifier: Apache-2.0
// Any bytes at all as a picture: a picture of the promised size, or one sentence.
#include "base/check.h"
#include "base/image.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Image image;
    Error err = {0};
    if (image_decode(data, size, "fuzz", &image, &err)) {
        CHECK(err.text[0] && !strchr(err.text, '\n') && !image.pixels);
        return 0;
    }
    size_t bytes = (size_t)image.H * (size_t)image.W * (size_t)image.channels * (size_t)image.type, sum = 0;
    for (size_t i = 0; i < bytes; i++) sum += ((const uint8_t *)image.pixels)[i]; // all of it must be there
    CHECK(sum <= 255 * bytes && image.H > 0 && image.W > 0);
    image_free(&image);
    return 0;
}
