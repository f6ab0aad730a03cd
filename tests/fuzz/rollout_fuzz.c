// SPDX-License-Identifier: Apache-2.0
// Bytes that begin like HDF5 are the file itself. Others say which object of a good file is removed or replaced, and by
// what type, shape, value or kind of object: hostile contents in sound HDF5, which flipped bits rarely reach.
//   five bytes a change: object, what, kind and rank, dimensions, value
#include "tests/fuzz/fuzz.h"

#include "datasets/h5_write.h"
#include "infer/rollout_file.h"

#include <math.h>
#include <string.h>

typedef struct Item {
    const char *path;
    H5Kind kind;
    int rank;
    size_t dims[4];
} Item;

static const Item items[] = {
    {"now/positions", H5_F32, 2, {4, 3}},
    {"now/features", H5_F32, 2, {4, 2}},
    {"now/colour", H5_U8, 2, {4, 3}},
    {"now/radius", H5_F32, 1, {4}},
    {"now/moving", H5_U8, 1, {4}},
    {"now/labels", H5_U16, 1, {4}},
    {"now/cloud_positions", H5_F32, 2, {5, 3}},
    {"now/cloud_colour", H5_U8, 2, {5, 3}},
    {"past/positions", H5_F32, 2, {3, 3}},
    {"past/features", H5_F32, 2, {3, 2}},
    {"rollout/positions", H5_F32, 3, {2, 4, 3}},
    {"rollout/features", H5_F32, 3, {2, 4, 2}},
    {"time", H5_F64, 1, {3}},
    {"cameras/intrinsics", H5_F64, 3, {1, 3, 3}},
    {"cameras/world_from_camera", H5_F64, 4, {1, 1, 4, 4}},
    {"cameras/size", H5_I32, 1, {2}},
    {"cameras/heldout", H5_U8, 1, {1}},
    {"background", H5_F32, 1, {3}},
    {"bounds", H5_F64, 2, {2, 3}},
    {"edit_history", H5_U8, 1, {5}},
    {"label_names", H5_U8, 1, {5}},
    {"now", 0, 0, {0}},
    {"past", 0, 0, {0}},
    {"rollout", 0, 0, {0}},
    {"cameras", 0, 0, {0}},
};
static const char *const attributes[] = {"format",      "format_version", "checkpoint", "checkpoint_hash", "episode",
                                         "first_frame", "frame_stride",   "time_step",  "created"};
enum { ITEMS = sizeof items / sizeof *items, ATTRIBUTES = sizeof attributes / sizeof *attributes, VALUES = 4096 };

// A sound value for element i of an item; `odd` replaces it in hostile files.
static double sound_value(const char *path, size_t i) {
    if (strstr(path, "world_from_camera")) return i % 16 % 5 == 0;
    if (strstr(path, "intrinsics")) return i % 9 % 4 == 0 ? 10 : 0;
    if (strstr(path, "size")) return 8;
    if (strstr(path, "moving") || strstr(path, "heldout")) return (double)(i % 2);
    return (double)(1 + i);
}

static double odd_value(uint8_t which) {
    const double values[] = {0, -1, NAN, INFINITY, 1e30, 255, 65535, 2147483647, 1e-30, 0.5};
    return values[which % (sizeof values / sizeof *values)];
}

static void write_values(hid_t file, const Item *item, H5Kind kind, int rank, const hsize_t *dims, int odd) {
    static const H5Kind kinds[] = {H5_U8, H5_U16, H5_I32, H5_I64, H5_F32, H5_F64};
    double values[VALUES];
    hid_t space = H5Screate_simple(rank, dims, NULL), plist = H5Pcreate(H5P_DATASET_CREATE);
    bool known = false;
    hsize_t count = 1;
    for (int i = 0; i < rank; i++) count *= dims[i];
    for (size_t i = 0; i < 6; i++) known |= kinds[i] == kind;
    for (size_t i = 0; i < VALUES && i < count; i++)
        values[i] = odd >= 0 && i % 3 == 0 ? odd_value((uint8_t)odd) : sound_value(item->path, i);
    hsize_t chunk[H5_RANK_MAX];
    for (int i = 0; i < rank; i++) chunk[i] = dims[i] < 4 ? dims[i] : 4;
    if (count > VALUES) H5Pset_chunk(plist, rank, chunk); // declared, never filled
    hid_t array = H5Dcreate2(file, item->path, h5_kind_memory_type(known ? kind : H5_F32), space, H5P_DEFAULT, plist,
                             H5P_DEFAULT);
    if (array >= 0 && count <= VALUES) H5Dwrite(array, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    if (array >= 0) H5Dclose(array);
    H5Pclose(plist);
    H5Sclose(space);
}

static void write_sound(hid_t file) {
    const uint32_t version[2] = {ROLLOUT_MAJOR, ROLLOUT_MINOR};
    const int32_t one = 1;
    h5_write_text(file, "format", "vpd-rollout");
    h5_write_u32s(file, "format_version", version, 2);
    h5_write_text(file, "episode", "000001");
    h5_write_i32s(file, "first_frame", &one, 1);
    h5_write_i32s(file, "frame_stride", &one, 1);
    h5_write_double(file, "time_step", 0.125);
    for (int i = 0; i < ITEMS; i++)
        if (items[i].kind == 0) h5_close_id(h5_create_group(file, items[i].path));
    for (int i = 0; i < ITEMS; i++) {
        hsize_t dims[4];
        for (int k = 0; k < items[i].rank; k++) dims[k] = items[i].dims[k];
        if (items[i].kind) write_values(file, items + i, items[i].kind, items[i].rank, dims, -1);
    }
}

static void change_attribute(hid_t file, const uint8_t *b) {
    const char *name = attributes[b[0] % ATTRIBUTES];
    char text[256];
    uint32_t numbers[4] = {b[3], b[4], b[2], b[4]};
    memset(text, 'a' + b[4] % 26, sizeof text);
    text[b[3]] = 0;
    if (b[3] > 1 && b[4] % 5 == 0) text[1] = '\n';
    if (H5Aexists(file, name) > 0) H5Adelete(file, name);
    if (b[2] % 4 == 1) h5_write_text(file, name, text);
    if (b[2] % 4 == 2) h5_write_u32s(file, name, numbers, 1 + b[4] % 4);
    if (b[2] % 4 == 3) h5_write_double(file, name, odd_value(b[4]));
}

static void change_item(hid_t file, const uint8_t *b) {
    static const H5Kind kinds[] = {H5_U8, H5_U16, H5_I32, H5_I64, H5_F32, H5_F64};
    const Item *item = items + b[0] % ITEMS;
    hsize_t dims[4];
    int rank = item->rank;
    H5Kind kind = item->kind ? item->kind : H5_F32;
    for (int i = 0; i < 4; i++) dims[i] = i < rank ? item->dims[i] : 2;
    if (H5Lexists(file, item->path, H5P_DEFAULT) > 0) H5Ldelete(file, item->path, H5P_DEFAULT);
    switch (b[1] % 8) {
    case 0: return;
    case 1: H5Lcreate_soft("/time", file, item->path, H5P_DEFAULT, H5P_DEFAULT); return;
    case 2: h5_close_id(h5_create_group(file, item->path)); return;
    case 3: kind = kinds[b[2] % 6]; break;
    case 4: rank = 1 + b[2] % 4; break;
    case 5: dims[b[2] % 4] = b[3]; break;
    case 6: dims[b[2] % 4] = (hsize_t)1 << b[3] % 40; break;
    default: break; // another value alone
    }
    write_values(file, item, kind, rank ? rank : 1, dims, b[4]);
}

static void *hostile_file(const uint8_t *data, size_t size, size_t *bytes) {
    void *image = NULL;
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fapl_core(access, 1 << 16, 0);
    H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
    hid_t file = H5Fcreate("fuzz", H5F_ACC_TRUNC, H5P_DEFAULT, access);
    write_sound(file);
    for (size_t at = 0; at + 5 <= size && at < 50; at += 5) {
        if (data[at + 1] >= 192) change_attribute(file, data + at);
        else change_item(file, data + at);
    }
    H5Fflush(file, H5F_SCOPE_GLOBAL);
    *bytes = (size_t)H5Fget_file_image(file, NULL, 0);
    image = malloc(*bytes);
    if (!image || H5Fget_file_image(file, image, *bytes) < 0) abort();
    H5Fclose(file);
    H5Pclose(access);
    return image;
}

// HDF5 1.10 loses a block when it gives up on a damaged file.
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) { return "leak:libhdf5"; }

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    RolloutFile rollout;
    Error err = {0};
    bool raw = size > 4 && memcmp(data, "\x89HDF", 4) == 0;
    size_t bytes = size;
    void *image = NULL;
    h5_lock();
    if (!raw) image = hostile_file(data, size, &bytes);
    h5_unlock();
    Status status = rollout_file_read_memory(raw ? (const void *)data : image, bytes, "fuzz", &rollout, &err);
    if (status == STATUS_OK) rollout_file_free(&rollout);
    else if (!err.text[0] || size < 5) abort(); // an error without a word, or a good file refused
    free(image);
    return 0;
}
