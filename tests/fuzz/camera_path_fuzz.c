// SPDX-License-Identifier: Apache-2.0
// Any bytes as a file of cameras: refused with an error, or cameras that a path can be made of.
#include "tests/fuzz/fuzz.h"

#include "base/camera.h"
#include "infer/camera_path.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    PathCamera *cameras, between[7];
    int count;
    Error err = {0};
    Status status = camera_path_parse((const char *)data, size, "fuzz", &cameras, &count, &err);
    if (status != STATUS_OK) {
        if (!err.text[0] || cameras) abort(); // an error without a word, or memory left
        return 0;
    }
    camera_path_between(cameras, count, 7, between);
    free(cameras);
    return 0;
}
