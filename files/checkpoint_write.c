// SPDX-License-Identifier: Apache-2.0
#include "files/checkpoint_arrays.h"

#include "files/half.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

// HDF5 writes to memory only. A full disk is then an error of our own write(), never of the library's cache.
typedef struct Writer {
    hid_t file;
    bool good; // no call has failed
    char checksums[CHECKPOINT_GROUP_COUNT][CHECKSUM_TEXT_SIZE];
} Writer;

typedef struct Bytes {
    const char *path; // the final one, for errors
    char *start;
    size_t count, reserved;
} Bytes;

// Closes an object and records whether this, and the call that opened it, succeeded.
static void done_with(Writer *writer, hid_t id, herr_t (*close)(hid_t)) {
    if (id < 0 || close(id) < 0) writer->good = false;
}

static void write_attribute(Writer *writer, hid_t object, const char *name, hid_t file_type, hid_t memory_type,
                            hsize_t count, const void *value) {
    hid_t space = count ? H5Screate_simple(1, &count, NULL) : H5Screate(H5S_SCALAR);
    hid_t attribute = H5Acreate2(object, name, file_type, space, H5P_DEFAULT, H5P_DEFAULT);
    if (attribute < 0 || H5Awrite(attribute, memory_type, value) < 0) writer->good = false;
    done_with(writer, attribute, H5Aclose);
    done_with(writer, space, H5Sclose);
}

// Texts have fixed length: variable ones lie in a heap on which HDF5 1.10 loops for ever if it is damaged.
static void write_text(Writer *writer, hid_t object, const char *name, const char *text) {
    hid_t type = H5Tcopy(H5T_C_S1);
    if (type < 0 || H5Tset_size(type, strlen(text) + 1) < 0 || H5Tset_cset(type, H5T_CSET_UTF8) < 0)
        writer->good = false;
    write_attribute(writer, object, name, type, type, 0, text);
    done_with(writer, type, H5Tclose);
}

static void write_real(Writer *writer, const char *name, double value) {
    write_attribute(writer, writer->file, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, 0, &value);
}

// ---- arrays

static hid_t half_type(void) {
    hid_t type = H5Tcopy(H5T_IEEE_F32LE);
    if (type < 0) return type;
    // the layout of float16 in h5py and numpy
    if (H5Tset_fields(type, 15, 10, 5, 0, 10) < 0 || H5Tset_size(type, 2) < 0 || H5Tset_ebias(type, 15) < 0) {
        H5Tclose(type);
        return H5I_INVALID_HID;
    }
    return type;
}

// Without creation times, so that equal content gives equal bytes.
static hid_t creation_list(hid_t class) {
    hid_t list = H5Pcreate(class);
    if (list >= 0) H5Pset_obj_track_times(list, 0);
    return list;
}

static void write_array(Writer *writer, hid_t parent, const char *name, hid_t file_type, hid_t memory_type, int rank,
                        const size_t *dims, const void *values) {
    hsize_t counts[PARAMETER_MAX_RANK];
    for (int i = 0; i < rank; i++) counts[i] = dims[i];
    hid_t space = H5Screate_simple(rank, counts, NULL), list = creation_list(H5P_DATASET_CREATE);
    hid_t array = H5Dcreate2(parent, name, file_type, space, H5P_DEFAULT, list, H5P_DEFAULT);
    if (array < 0 || H5Dwrite(array, memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0) writer->good = false;
    done_with(writer, array, H5Dclose);
    done_with(writer, list, H5Pclose);
    done_with(writer, space, H5Sclose);
}

static void write_half(Writer *writer, hid_t group, const HostArray *array, hid_t type) {
    uint16_t *halves = malloc(array->size * sizeof *halves);
    if (halves) {
        for (size_t i = 0; i < array->size; i++) halves[i] = half_from_float(array->values[i]);
        write_array(writer, group, array->name, type, type, array->rank, array->dims, halves);
    } else {
        writer->good = false;
    }
    free(halves);
}

static hid_t create_group(Writer *writer, const char *path) {
    hid_t list = creation_list(H5P_GROUP_CREATE);
    hid_t group = H5Gcreate2(writer->file, path, H5P_DEFAULT, list, H5P_DEFAULT);
    done_with(writer, list, H5Pclose);
    return group;
}

static void write_group(Writer *writer, CheckpointGroup which, const HostArrays *arrays) {
    hid_t half = half_type(), group = create_group(writer, checkpoint_group_paths[which]);
    for (size_t i = 0; i < arrays->count; i++) {
        const HostArray *array = &arrays->items[i];
        if (array->kind == H5_F16) write_half(writer, group, array, half);
        else
            write_array(writer, group, array->name, H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, array->rank, array->dims,
                        array->values);
    }
    snprintf(writer->checksums[which], CHECKSUM_TEXT_SIZE, "%016" PRIx64, host_arrays_checksum(arrays));
    write_text(writer, group, "checksum", writer->checksums[which]);
    done_with(writer, group, H5Gclose);
    done_with(writer, half, H5Tclose);
}

static void write_root(Writer *writer, const CheckpointMeta *meta, const char *config) {
    const uint32_t version[2] = {CHECKPOINT_VERSION_MAJOR, CHECKPOINT_VERSION_MINOR};
    const int64_t step = meta->step;
    const size_t length = strlen(config);
    char checksum[CHECKSUM_TEXT_SIZE];
    write_text(writer, writer->file, "format", "vpd-checkpoint");
    write_attribute(writer, writer->file, "format_version", H5T_STD_U32LE, H5T_NATIVE_UINT32, 2, version);
    write_text(writer, writer->file, "contents", meta->publication ? "publication" : "training");
    write_text(writer, writer->file, "commit", meta->commit);
    write_attribute(writer, writer->file, "step", H5T_STD_I64LE, H5T_NATIVE_INT64, 0, &step);
    write_real(writer, "best_score", meta->best_score);
    write_real(writer, "time_step", meta->time_step);
    write_real(writer, "seconds", meta->seconds);
    write_array(writer, writer->file, "config", H5T_STD_U8LE, H5T_NATIVE_UINT8, 1, &length, config);
    checkpoint_root_checksum(meta, writer->checksums, config, length, checksum);
    write_text(writer, writer->file, "checksum", checksum);
}

// Data that --resume needs; readers of version 1.0 ignore it.
static void write_run(Writer *writer, const CheckpointMeta *meta) {
    char checksum[CHECKSUM_TEXT_SIZE];
    json_t *object = json_pack("{s:b s:o}", "evaluated", meta->evaluated, "data", data_record_to_json(&meta->data));
    char *text = object ? json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
    hid_t group = create_group(writer, "run");
    if (text) {
        checkpoint_run_checksum(text, checksum);
        write_text(writer, group, "record", text);
        write_text(writer, group, "checksum", checksum);
    } else {
        writer->good = false;
    }
    done_with(writer, group, H5Gclose);
    free(text);
    json_decref(object);
}

// ---- the file

// Allocator of HDF5's memory driver. It keeps the finished image, which the library would free when it closes the file.
static void *image_malloc(size_t size, H5FD_file_image_op_t op, void *owner) {
    (void)op, (void)owner;
    return calloc(1, size);
}

static void *image_copy(void *to, const void *from, size_t size, H5FD_file_image_op_t op, void *owner) {
    (void)op, (void)owner;
    return memcpy(to, from, size);
}

// Memory that the library does not write is zero, so that the file has no stale data.
static void *image_realloc(void *memory, size_t size, H5FD_file_image_op_t op, void *owner) {
    Bytes *image = owner;
    (void)op;
    char *grown = realloc(memory, size);
    if (grown && size > image->reserved) memset(grown + image->reserved, 0, size - image->reserved);
    if (grown) image->reserved = size;
    return grown;
}

static herr_t image_free(void *memory, H5FD_file_image_op_t op, void *owner) {
    Bytes *image = owner;
    if (op == H5FD_FILE_IMAGE_OP_FILE_CLOSE && !image->start) image->start = memory;
    else free(memory);
    return 0;
}

static void *owner_copy(void *owner) { return owner; }
static herr_t owner_free(void *owner) { return (void)owner, 0; }

static hid_t create_in_memory(size_t bytes, Bytes *image) {
    H5FD_file_image_callbacks_t allocator = {image_malloc, image_copy, image_realloc, image_free,
                                             owner_copy,   owner_free, image};
    hid_t access = H5Pcreate(H5P_FILE_ACCESS), list = creation_list(H5P_FILE_CREATE);
    H5Pset_fapl_core(access, bytes + (1 << 20), 0); // in one block
    H5Pset_file_image_callbacks(access, &allocator);
    H5Pset_libver_bounds(access, H5F_LIBVER_V18, H5F_LIBVER_V18); // object headers with checksums of their own
    H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
    hid_t file = H5Fcreate("vpd-checkpoint-in-memory", H5F_ACC_TRUNC, list, access);
    H5Pclose(list);
    H5Pclose(access);
    return file;
}

// Closing releases unused space. The end of the file is in its superblock (version 2: u64 at byte 28).
static bool find_end(Bytes *image) {
    uint64_t end;
    if (!image->start || image->reserved < 48 || image->start[8] != 2) return false;
    memcpy(&end, image->start + 28, sizeof end);
    image->count = (size_t)end;
    return end >= 48 && end <= image->reserved;
}

static bool make_image(const CheckpointMeta *meta, const HostArrays groups[CHECKPOINT_GROUP_COUNT], const char *config,
                       Bytes *out) {
    size_t elements = 0;
    for (int i = 0; i < CHECKPOINT_GROUP_COUNT; i++) elements += groups[i].size;
    h5_lock();
    Writer writer = {.file = create_in_memory(elements * sizeof(float), out), .good = true};
    if (groups[GROUP_M].count) done_with(&writer, create_group(&writer, "moments"), H5Gclose);
    for (int i = 0; i < CHECKPOINT_GROUP_COUNT; i++) {
        if (groups[i].count) write_group(&writer, (CheckpointGroup)i, &groups[i]);
    }
    write_root(&writer, meta, config);
    if (!meta->publication) write_run(&writer, meta);
    done_with(&writer, writer.file, H5Fclose);
    h5_unlock();
    return writer.good && find_end(out);
}

// Writes piece by piece, so that a signal or a short write is easily handled.
static int write_all(int fd, const char *start, size_t count) {
    while (count > 0) {
        ssize_t written = write(fd, start, count < 1 << 20 ? count : 1 << 20);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return written < 0 ? errno : EIO;
        start += written;
        count -= (size_t)written;
    }
    return 0;
}

static Status write_bytes(const char *temporary, void *context, Error *err) {
    const Bytes *bytes = context;
    int fd = open(temporary, O_WRONLY | O_TRUNC | O_CLOEXEC);
    int code = fd < 0 ? errno : write_all(fd, bytes->start, bytes->count);
    if (fd >= 0 && close(fd) && code == 0) code = errno;
    return code ? file_error(err, bytes->path, "write", code) : STATUS_OK;
}

Status checkpoint_write_file(const char *path, const CheckpointMeta *meta,
                             const HostArrays groups[CHECKPOINT_GROUP_COUNT], Error *err) {
    Bytes image = {.path = path};
    char *config = options_to_yaml(config_record, &meta->config, false);
    Status status = STATUS_FAILED;
    if (config && make_image(meta, groups, config, &image)) status = file_write_atomic(path, write_bytes, &image, err);
    else error_set(err, STATUS_FAILED, "%s: not saved: out of memory", path);
    free(image.start);
    free(config);
    return status;
}
