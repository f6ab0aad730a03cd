// SPDX-License-Identifier: Apache-2.0
// Hostile contents in sound HDF5, which flipped bits rarely reach: a good file is written, and bytes say which object
// of it is removed or replaced, and by what type, shape, value or kind of object.
//   five bytes a change: object, what, kind and rank, dimensions, value
#ifndef VPD_TESTS_FUZZ_HOSTILE_H5_H
#define VPD_TESTS_FUZZ_HOSTILE_H5_H

#include "datasets/h5_write.h"
#include "tests/fuzz/fuzz.h"

#include <math.h>
#include <string.h>

enum { HOSTILE_VALUES = 4096, HOSTILE_CHANGE = 5, HOSTILE_CHANGES_MAX = 10 };

typedef struct HostileItem {
    const char *path;
    H5Kind kind; // 0: a group
    int rank;
    size_t dims[4];
} HostileItem;

typedef struct HostileFile {
    const HostileItem *items; // soft links lead to the first; groups stand before those in them
    size_t item_count;
    const char *const *attributes; // of the root
    size_t attribute_count;
    double (*sound_value)(const char *path, size_t i); // of element i
    void (*write_root)(hid_t file);                    // attributes of a good file; NULL: none
} HostileFile;

static inline double hostile_odd_value(uint8_t which) {
    const double values[] = {0, -1, NAN, INFINITY, 1e30, 255, 65535, 2147483647, 1e-30, 0.5};
    return values[which % (sizeof values / sizeof *values)];
}

static inline H5Kind hostile_kind(uint8_t which) {
    static const H5Kind kinds[] = {H5_U8, H5_U16, H5_I32, H5_I64, H5_F32, H5_F64};
    return kinds[which % (sizeof kinds / sizeof *kinds)];
}

// odd >= 0: every third value is that odd one.
static inline void hostile_write(const HostileFile *good, hid_t file, const HostileItem *item, H5Kind kind, int rank,
                                 const hsize_t *dims, int odd) {
    double values[HOSTILE_VALUES];
    hid_t space = H5Screate_simple(rank, dims, NULL), plist = H5Pcreate(H5P_DATASET_CREATE);
    hsize_t count = 1, chunk[H5_RANK_MAX];
    hid_t type = h5_kind_memory_type(kind);
    for (int i = 0; i < rank; i++) count *= dims[i];
    for (size_t i = 0; i < HOSTILE_VALUES && i < count; i++)
        values[i] = odd >= 0 && i % 3 == 0 ? hostile_odd_value((uint8_t)odd) : good->sound_value(item->path, i);
    for (int i = 0; i < rank; i++) chunk[i] = dims[i] < 4 ? dims[i] : 4;
    if (count > HOSTILE_VALUES) H5Pset_chunk(plist, rank, chunk); // declared, never filled
    hid_t array = H5Dcreate2(file, item->path, type, space, H5P_DEFAULT, plist, H5P_DEFAULT);
    if (array >= 0 && count <= HOSTILE_VALUES)
        H5Dwrite(array, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    if (array >= 0) H5Dclose(array);
    H5Pclose(plist);
    H5Sclose(space);
}

static inline void hostile_write_sound(const HostileFile *good, hid_t file) {
    if (good->write_root) good->write_root(file);
    for (const HostileItem *item = good->items; item < good->items + good->item_count; item++)
        if (!item->kind) h5_close_id(h5_create_group(file, item->path));
    for (const HostileItem *item = good->items; item < good->items + good->item_count; item++) {
        hsize_t dims[4];
        for (int k = 0; k < item->rank; k++) dims[k] = item->dims[k];
        if (item->kind) hostile_write(good, file, item, item->kind, item->rank, dims, -1);
    }
}

static inline void hostile_change_attribute(const HostileFile *good, hid_t file, const uint8_t *b) {
    const char *name = good->attributes[b[0] % good->attribute_count];
    char text[256];
    uint32_t numbers[4] = {b[3], b[4], b[2], b[4]};
    memset(text, 'a' + b[4] % 26, sizeof text);
    text[b[3]] = 0;
    if (b[3] > 1 && b[4] % 5 == 0) text[1] = '\n';
    if (H5Aexists(file, name) > 0) H5Adelete(file, name);
    if (b[2] % 4 == 1) h5_write_text(file, name, text);
    if (b[2] % 4 == 2) h5_write_u32s(file, name, numbers, 1 + b[4] % 4);
    if (b[2] % 4 == 3) h5_write_double(file, name, hostile_odd_value(b[4]));
}

static inline void hostile_change_item(const HostileFile *good, hid_t file, const uint8_t *b) {
    const HostileItem *item = good->items + b[0] % good->item_count;
    hsize_t dims[4];
    int rank = item->rank;
    H5Kind kind = item->kind ? item->kind : H5_F32;
    char first[64];
    snprintf(first, sizeof first, "/%s", good->items[0].path);
    for (int i = 0; i < 4; i++) dims[i] = i < rank ? item->dims[i] : 2;
    if (H5Lexists(file, item->path, H5P_DEFAULT) > 0) H5Ldelete(file, item->path, H5P_DEFAULT);
    switch (b[1] % 8) {
    case 0: return;
    case 1: H5Lcreate_soft(first, file, item->path, H5P_DEFAULT, H5P_DEFAULT); return;
    case 2: h5_close_id(h5_create_group(file, item->path)); return;
    case 3: kind = hostile_kind(b[2]); break;
    case 4: rank = 1 + b[2] % 4; break;
    case 5: dims[b[2] % 4] = b[3]; break;
    case 6: dims[b[2] % 4] = (hsize_t)1 << b[3] % 40; break;
    default: break; // another value alone
    }
    hostile_write(good, file, item, kind, rank ? rank : 1, dims, b[4]);
}

// The good file with changes, in malloc'ed memory.
static inline void *hostile_file(const HostileFile *good, const uint8_t *data, size_t size, size_t *bytes) {
    void *image = NULL;
    h5_lock();
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fapl_core(access, 1 << 16, 0);
    H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
    hid_t file = H5Fcreate("fuzz", H5F_ACC_TRUNC, H5P_DEFAULT, access);
    hostile_write_sound(good, file);
    for (size_t i = 0; i < HOSTILE_CHANGES_MAX && HOSTILE_CHANGE * (i + 1) <= size; i++) {
        const uint8_t *change = data + HOSTILE_CHANGE * i;
        if (good->attribute_count && change[1] >= 192) hostile_change_attribute(good, file, change);
        else hostile_change_item(good, file, change);
    }
    H5Fflush(file, H5F_SCOPE_GLOBAL);
    *bytes = (size_t)H5Fget_file_image(file, NULL, 0);
    image = malloc(*bytes);
    if (!image || H5Fget_file_image(file, image, *bytes) < 0) abort();
    H5Fclose(file);
    H5Pclose(access);
    h5_unlock();
    return image;
}

#endif
