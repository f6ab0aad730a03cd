// SPDX-License-Identifier: Apache-2.0
// A rollout: any bytes at all, or changes to a good file (hostile_h5.h).
#include "tests/fuzz/hostile_h5.h"

#include "base/check.h"
#include "datasets/h5_write.h"
#include "files/rollout_file.h"

#include <string.h>

static const HostileItem items[] = {
    {"now", 0, 0, {0}},
    {"past", 0, 0, {0}},
    {"rollout", 0, 0, {0}},
    {"cameras", 0, 0, {0}},
    {"now/positions", H5_F32, 2, {4, 3}},
    {"now/features", H5_F32, 2, {4, 2}},
    {"now/colour", H5_U8, 2, {4, 3}},
    {"now/radius", H5_F32, 1, {4}},
    {"now/labels", H5_U16, 1, {4}},
    {"now/before", H5_F32, 2, {4, 3}},
    {"now/body", H5_I32, 1, {4}},
    {"past/positions", H5_F32, 2, {3, 3}},
    {"past/features", H5_F32, 2, {3, 2}},
    {"past/ties", H5_U32, 1, {3}},
    {"rollout/positions", H5_F32, 3, {2, 4, 3}},
    {"rollout/features", H5_F32, 3, {2, 4, 2}},
    {"surface", 0, 0, {0}},
    {"surface/triangles", H5_I32, 2, {2, 3}},
    {"surface/springs", H5_I32, 2, {3, 2}},
    {"surface/touching", H5_U8, 2, {3, 4}},
    {"drives", 0, 0, {0}},
    {"drives/body", H5_I32, 1, {2}},
    {"drives/step", H5_I32, 1, {2}},
    {"drives/motion", H5_F64, 3, {2, 4, 4}},
    {"time", H5_F64, 1, {3}},
    {"cameras/intrinsics", H5_F64, 3, {1, 3, 3}},
    {"cameras/world_from_camera", H5_F64, 4, {1, 1, 4, 4}},
    {"cameras/size", H5_I32, 1, {2}},
    {"cameras/heldout", H5_U8, 1, {1}},
    {"background", H5_F32, 1, {3}},
    {"light", H5_F64, 1, {3}},
    {"bounds", H5_F64, 2, {2, 3}},
    {"edit_history", H5_U8, 1, {5}},
    {"label_names", H5_U8, 1, {5}},
};

static double sound_value(const char *path, size_t i) {
    if (strstr(path, "world_from_camera") || strstr(path, "motion")) return i % 16 % 5 == 0;
    if (strstr(path, "intrinsics")) return i % 9 % 4 == 0 ? 10 : 0;
    if (strstr(path, "size")) return 8;
    if (strstr(path, "ties") || strstr(path, "surface")) return (double)(i % 4);
    if (strstr(path, "light")) return i == 0; // a unit vector
    if (strstr(path, "heldout")) return (double)(i % 2);
    return (double)(1 + i);
}

static void write_root(hid_t file) {
    const int32_t one = 1;
    h5_write_text(file, "format", "vpd-rollout");
    h5_write_version(file, ROLLOUT_MAJOR, ROLLOUT_MINOR);
    h5_write_text(file, "episode", "000001");
    h5_write_i32s(file, "first_frame", &one, 1);
    h5_write_i32s(file, "frame_stride", &one, 1);
    h5_write_double(file, "time_step", 0.125);
    h5_write_text(file, "ties_of", "0123456789abcdef");
}

static const HostileFile good = {items, sizeof items / sizeof *items, sound_value, write_root};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static HostileBase *base;
    if (!base) base = hostile_base_of_items(&good);
    RolloutFile rollout;
    Error err = {0};
    bool raw = hostile_is_raw(data, size);
    if (!raw) hostile_begin(base, data, size);
    Status status = rollout_file_read_memory(data, size, "fuzz", &rollout, &err);
    if (status == STATUS_OK) rollout_file_free(&rollout);
    CHECK(status == STATUS_OK || (err.text[0] && !strchr(err.text, '\n')));
    CHECK(status == STATUS_OK || raw || size >= HOSTILE_CHANGE); // a good file
    if (!raw) hostile_end();
    return 0;
}
