// SPDX-License-Identifier: Apache-2.0
// Any bytes at all as a picture: a picture of the promised size, or one sentence. Its labels and its size are read
// too, and the size is the picture's.
#include "base/check.h"
#include "base/image.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

static void read_otherwise(const uint8_t *data, size_t size, const Image *image) {
    char path[64];
    int H, W, fd = fuzz_file(data, size, path);
    Image labels;
    Error err = {0};
    if (image_read_labels(path, &labels, &err)) CHECK(err.text[0] && !strchr(err.text, '\n') && !labels.pixels);
    else CHECK(labels.H > 0 && labels.W > 0);
    image_free(&labels);
    Status status = image_read_size(path, &H, &W, &err);
    CHECK(status ? err.text[0] && !image->pixels : H > 0 && W > 0);
    CHECK(status || !image->pixels || (H == image->H && W == image->W));
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Image image;
    Error err = {0};
    if (image_decode(data, size, "fuzz", &image, &err)) {
        CHECK(err.text[0] && !strchr(err.text, '\n') && !image.pixels);
        read_otherwise(data, size, &image);
        return 0;
    }
    size_t bytes = (size_t)image.H * (size_t)image.W * (size_t)image.channels * (size_t)image.type, sum = 0;
    for (size_t i = 0; i < bytes; i++) sum += ((const uint8_t *)image.pixels)[i]; // all of it must be there
    CHECK(sum <= 255 * bytes && image.H > 0 && image.W > 0);
    read_otherwise(data, size, &image);
    image_free(&image);
    return 0;
}
