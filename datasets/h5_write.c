// SPDX-License-Identifier: Apache-2.0
#include "datasets/h5_write.h"

#include <stdlib.h>
#include <string.h>

// Files depend on what is in them alone: no time of creation in object headers.
static hid_t timeless(hid_t class) {
    hid_t plist = H5Pcreate(class);
    if (plist >= 0) H5Pset_obj_track_times(plist, false);
    return plist;
}

hid_t h5_create_file(const char *path) {
    h5_lock();
    hid_t list = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fclose_degree(list, H5F_CLOSE_STRONG);
    H5Pset_libver_bounds(list, H5F_LIBVER_V110, H5F_LIBVER_V110); // metadata with checksums, and smaller
    hid_t creation = timeless(H5P_FILE_CREATE), file = H5Fcreate(path, H5F_ACC_TRUNC, creation, list);
    H5Pclose(creation);
    H5Pclose(list);
    h5_unlock();
    return file;
}

bool h5_close_file(hid_t file) {
    h5_lock();
    bool good = H5Fflush(file, H5F_SCOPE_LOCAL) >= 0;
    good = H5Fclose(file) >= 0 && good;
    h5_unlock();
    return good;
}

hid_t h5_create_group(hid_t parent, const char *name) {
    h5_lock();
    hid_t plist = timeless(H5P_GROUP_CREATE), group = H5Gcreate2(parent, name, H5P_DEFAULT, plist, H5P_DEFAULT);
    if (plist >= 0) H5Pclose(plist);
    h5_unlock();
    return group;
}

bool h5_close_id(hid_t id) {
    if (id <= 0) return true;
    h5_lock();
    bool good = H5Oclose(id) >= 0;
    h5_unlock();
    return good;
}

static bool write_attribute(hid_t object, const char *name, hid_t file_type, hid_t memory_type, hid_t space,
                            const void *value) {
    hid_t attribute = space >= 0 ? H5Acreate2(object, name, file_type, space, H5P_DEFAULT, H5P_DEFAULT) : -1;
    bool good = attribute >= 0 && H5Awrite(attribute, memory_type, value) >= 0;
    if (attribute >= 0) good = H5Aclose(attribute) >= 0 && good;
    if (space >= 0) H5Sclose(space);
    return good;
}

static bool write_text(hid_t object, const char *name, size_t size, const void *text) {
    h5_lock();
    hid_t type = H5Tcopy(H5T_C_S1);
    bool good = type >= 0 && H5Tset_size(type, size) >= 0 && H5Tset_cset(type, H5T_CSET_UTF8) >= 0 &&
                write_attribute(object, name, type, type, H5Screate(H5S_SCALAR), text);
    if (type >= 0) H5Tclose(type);
    h5_unlock();
    return good;
}

bool h5_write_text(hid_t object, const char *name, const char *text) {
    return write_text(object, name, H5T_VARIABLE, &text);
}

bool h5_write_fixed_text(hid_t object, const char *name, const char *text) {
    return write_text(object, name, strlen(text) + 1, text);
}

static bool write_list(hid_t object, const char *name, hid_t file_type, hid_t memory_type, size_t count,
                       const void *values) {
    hsize_t dims[1] = {count};
    h5_lock();
    bool good = write_attribute(object, name, file_type, memory_type, H5Screate_simple(1, dims, NULL), values);
    h5_unlock();
    return good;
}

bool h5_write_version(hid_t file, uint32_t major, uint32_t minor) {
    return write_list(file, "format_version", H5T_STD_U32LE, H5T_NATIVE_UINT32, 2, (uint32_t[]){major, minor});
}

bool h5_write_i32s(hid_t object, const char *name, const int32_t *values, size_t count) {
    return write_list(object, name, H5T_STD_I32LE, H5T_NATIVE_INT32, count, values);
}

static bool write_scalar(hid_t object, const char *name, hid_t file_type, hid_t memory_type, const void *value) {
    h5_lock();
    bool good = write_attribute(object, name, file_type, memory_type, H5Screate(H5S_SCALAR), value);
    h5_unlock();
    return good;
}

bool h5_write_double(hid_t object, const char *name, double value) {
    return write_scalar(object, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, &value);
}

bool h5_write_i64(hid_t object, const char *name, int64_t value) {
    return write_scalar(object, name, H5T_STD_I64LE, H5T_NATIVE_INT64, &value);
}

static hid_t file_type(H5Kind kind) {
    switch (kind) {
    case H5_U8: return H5T_STD_U8LE;
    case H5_U16: return H5T_STD_U16LE;
    case H5_U32: return H5T_STD_U32LE;
    case H5_U64: return H5T_STD_U64LE;
    case H5_I8: return H5T_STD_I8LE;
    case H5_I16: return H5T_STD_I16LE;
    case H5_I32: return H5T_STD_I32LE;
    case H5_I64: return H5T_STD_I64LE;
    case H5_F32: return H5T_IEEE_F32LE;
    case H5_F64: return H5T_IEEE_F64LE;
    default: return H5I_INVALID_HID;
    }
}

static void widen(int rank, const size_t *from, hsize_t *to) {
    for (int i = 0; i < rank; i++) to[i] = from[i];
}

static bool write_array(hid_t parent, const char *name, hid_t file_type, hid_t memory_type, int rank,
                        const size_t *dims, const void *values) {
    hsize_t wide[H5_RANK_MAX];
    widen(rank, dims, wide);
    h5_lock();
    hid_t space = H5Screate_simple(rank, wide, NULL), plist = timeless(H5P_DATASET_CREATE);
    hid_t array = space < 0 ? -1 : H5Dcreate2(parent, name, file_type, space, H5P_DEFAULT, plist, H5P_DEFAULT);
    bool good = array >= 0 && H5Dwrite(array, memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0;
    if (array >= 0) good = H5Dclose(array) >= 0 && good;
    if (plist >= 0) H5Pclose(plist);
    if (space >= 0) H5Sclose(space);
    h5_unlock();
    return good;
}

bool h5_write_array(hid_t parent, const char *name, H5Kind kind, int rank, const size_t *dims, const void *values) {
    return write_array(parent, name, file_type(kind), h5_kind_memory_type(kind), rank, dims, values);
}

bool h5_write_half(hid_t parent, const char *name, int rank, const size_t *dims, const float *values) {
    h5_lock();
    hid_t type = H5Tcopy(H5T_IEEE_F32LE); // as h5py and numpy write float16
    bool good = type >= 0 && H5Tset_fields(type, 15, 10, 5, 0, 10) >= 0 && H5Tset_size(type, 2) >= 0 &&
                H5Tset_ebias(type, 15) >= 0 && write_array(parent, name, type, H5T_NATIVE_FLOAT, rank, dims, values);
    if (type >= 0) H5Tclose(type);
    h5_unlock();
    return good;
}

hid_t h5_create_chunked(hid_t parent, const char *name, H5Kind kind, int rank, const size_t *dims, const size_t *chunk,
                        int deflate_level) {
    hsize_t wide[H5_RANK_MAX], wide_chunk[H5_RANK_MAX];
    widen(rank, dims, wide);
    widen(rank, chunk, wide_chunk);
    h5_lock();
    hid_t space = H5Screate_simple(rank, wide, NULL), plist = timeless(H5P_DATASET_CREATE), array = -1;
    bool good = space >= 0 && plist >= 0 && H5Pset_chunk(plist, rank, wide_chunk) >= 0;
    if (good && deflate_level > 0)
        good = H5Pset_shuffle(plist) >= 0 && H5Pset_deflate(plist, (unsigned)deflate_level) >= 0;
    if (good) good = H5Pset_fletcher32(plist) >= 0;
    if (good) array = H5Dcreate2(parent, name, file_type(kind), space, H5P_DEFAULT, plist, H5P_DEFAULT);
    if (plist >= 0) H5Pclose(plist);
    if (space >= 0) H5Sclose(space);
    h5_unlock();
    return array;
}

bool h5_write_block(hid_t array, H5Kind kind, int rank, const size_t *start, const size_t *count, const void *values) {
    hsize_t wide_start[H5_RANK_MAX], wide_count[H5_RANK_MAX];
    widen(rank, start, wide_start);
    widen(rank, count, wide_count);
    h5_lock();
    hid_t file = H5Dget_space(array), memory = H5Screate_simple(rank, wide_count, NULL);
    bool good = file >= 0 && memory >= 0 &&
                H5Sselect_hyperslab(file, H5S_SELECT_SET, wide_start, NULL, wide_count, NULL) >= 0 &&
                H5Dwrite(array, h5_kind_memory_type(kind), memory, file, H5P_DEFAULT, values) >= 0;
    if (file >= 0) H5Sclose(file);
    if (memory >= 0) H5Sclose(memory);
    h5_unlock();
    return good;
}

bool h5_write_packed(hid_t array, int rank, const size_t *start, const void *bytes, size_t size) {
    hsize_t wide[H5_RANK_MAX];
    widen(rank, start, wide);
    h5_lock();
    bool good = H5Dwrite_chunk(array, H5P_DEFAULT, 0, wide, size, bytes) >= 0;
    h5_unlock();
    return good;
}
