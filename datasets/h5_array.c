// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"
#include "base/stop.h"
#include "datasets/h5_chunk.h"
#include "datasets/h5_private.h"

#include <stdio.h>
#include <string.h>

#define CHUNK_BYTES_MAX ((size_t)1 << 28)
enum { DEFLATE_RATIO_MAX = 1040, DIMS_MAX = 0x7FFFFFFF }; // deflate reaches 1032 : 1

// "[24,4,64,64]"; with `free`, a dimension of 0 is any length, which is written as its letter, or "n".
static void dims_text(int rank, const hsize_t *dims, bool free, const char *letters, char *out, size_t size) {
    size_t used = (size_t)snprintf(out, size, "[");
    for (int i = 0; i < rank && used < size; i++) {
        const char *comma = i ? "," : "";
        int length = letters ? (int)strcspn(letters, ",") : 0;
        if (dims[i] || !free)
            used += (size_t)snprintf(out + used, size - used, "%s%llu", comma, (unsigned long long)dims[i]);
        else
            used += (size_t)snprintf(out + used, size - used, "%s%.*s", comma, letters ? length : 1,
                                     letters ? letters : "n");
        if (letters) letters += letters[length] ? length + 1 : length;
    }
    if (used < size) snprintf(out + used, size - used, "]");
}

static Status wrong_shape(const H5Array *array, const H5Expect *expect, Error *err) {
    char kinds[64], letters[64], wanted[128], found[128], known[140] = "";
    h5_kinds_text(expect->kinds, kinds, sizeof kinds);
    dims_text(expect->rank, expect->dims, true, expect->letters, wanted, sizeof wanted);
    dims_text(array->rank, array->dims, false, NULL, found, sizeof found);
    snprintf(letters, sizeof letters, "[%s]", expect->letters ? expect->letters : "");
    if (!expect->letters) snprintf(letters, sizeof letters, "%.60s", wanted);
    else if (strcmp(letters, wanted) != 0) snprintf(known, sizeof known, " = %s", wanted);
    return error_set(err, STATUS_BAD_INPUT, "%s: expected %s %s%s, found %s %s%s%s", array->text, kinds, letters, known,
                     h5_kind_name(array->kind), found, expect->remedy ? "; " : "",
                     expect->remedy ? expect->remedy : "");
}

static Status read_shape(H5Array *array, const H5Expect *expect, Error *err) {
    hid_t type = H5Dget_type(array->id), space = H5Dget_space(array->id);
    hsize_t dims_max = expect->dims_max ? expect->dims_max : DIMS_MAX;
    Status status = STATUS_OK;
    if (type >= 0) {
        array->kind = h5_kind_of(type);
        array->native_order = array->kind && H5Tequal(type, h5_kind_memory_type(array->kind)) > 0;
    }
    H5S_class_t class = space < 0 ? H5S_NO_CLASS : H5Sget_simple_extent_type(space);
    int rank = class == H5S_SIMPLE ? H5Sget_simple_extent_ndims(space) : 0;
    if (rank > 0 && rank <= H5_RANK_MAX) array->rank = H5Sget_simple_extent_dims(space, array->dims, NULL);
    if (array->rank != expect->rank || !(array->kind & expect->kinds)) status = wrong_shape(array, expect, err);
    for (int i = 0; !status && i < expect->rank; i++) {
        bool fits =
            expect->dims[i] ? array->dims[i] == expect->dims[i] : array->dims[i] >= 1 && array->dims[i] <= dims_max;
        if (!fits) status = wrong_shape(array, expect, err);
    }
    if (type >= 0) H5Tclose(type);
    if (space >= 0) H5Sclose(space);
    return status;
}

static Status declared_bytes(H5Array *array, const H5Expect *expect, Error *err) {
    size_t bytes = h5_kind_bytes(array->kind);
    for (int i = 0; i < array->rank; i++) {
        if (!size_mul(bytes, (size_t)array->dims[i], &bytes))
            return error_set(err, STATUS_BAD_INPUT,
                             "%s: its dimensions multiply to more bytes than a machine can count", array->text);
    }
    if (expect->bytes_max && bytes > expect->bytes_max)
        return error_set(err, STATUS_BAD_INPUT, "%s: expected at most %zu bytes, found %zu", array->text,
                         expect->bytes_max, bytes);
    array->bytes = bytes;
    return STATUS_OK;
}

static Status read_filters(H5Array *array, hid_t plist, Error *err) {
    int count = H5Pget_nfilters(plist);
    if (count < 0 || count > (int)(sizeof array->filters / sizeof array->filters[0]))
        return error_set(err, STATUS_BAD_INPUT, "%s: expected at most 8 filters, found %d", array->text, count);
    for (int i = 0; i < count; i++) {
        unsigned flags;
        size_t value_count = 0;
        H5Z_filter_t filter = H5Pget_filter2(plist, (unsigned)i, &flags, &value_count, NULL, 0, NULL, NULL);
        if (filter != H5Z_FILTER_SHUFFLE && filter != H5Z_FILTER_DEFLATE && filter != H5Z_FILTER_FLETCHER32)
            return error_set(err, STATUS_BAD_INPUT,
                             "%s: expected the filters shuffle, deflate and fletcher32 only, found "
                             "filter %d; write the file again without it",
                             array->text, (int)filter);
        array->filters[i] = filter;
    }
    array->filter_count = count;
    return STATUS_OK;
}

static Status read_chunks(H5Array *array, hid_t plist, Error *err) {
    size_t bytes = h5_kind_bytes(array->kind);
    if (H5Pget_chunk(plist, H5_RANK_MAX, array->chunk) != array->rank)
        return error_set(err, STATUS_BAD_INPUT, "%s: the file is damaged here", array->text);
    for (int i = 0; i < array->rank; i++) {
        if (!size_mul(bytes, (size_t)array->chunk[i], &bytes) || bytes > CHUNK_BYTES_MAX)
            return error_set(err, STATUS_BAD_INPUT,
                             "%s: expected chunks of at most %zu bytes, found larger ones; use one "
                             "image a chunk",
                             array->text, CHUNK_BYTES_MAX);
    }
    unsigned options = 0;
    H5Pget_chunk_opts(plist, &options);
    array->plain_edges = options & H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS;
    return read_filters(array, plist, err);
}

// HDF5 opens a 4 TiB array without any stored data, so the declared size is compared with the stored one.
static Status check_storage(const H5Array *array, size_t file_bytes, Error *err) {
    size_t stored = (size_t)H5Dget_storage_size(array->id), reach = stored;
    for (int i = 0; i < array->filter_count; i++) {
        if (array->filters[i] == H5Z_FILTER_DEFLATE && !size_mul(reach, DEFLATE_RATIO_MAX, &reach)) reach = SIZE_MAX;
    }
    if (stored <= file_bytes && reach >= array->bytes) return STATUS_OK;
    return error_set(err, STATUS_BAD_INPUT,
                     "%s: declares %zu bytes but the file (%zu bytes) stores %zu for it; was it cut "
                     "short or never filled?",
                     array->text, array->bytes, file_bytes, stored);
}

// Must be checked first: asking for the size of a virtual array would open other files.
static Status check_layout(H5Array *array, hid_t plist, Error *err) {
    H5D_layout_t layout = H5Pget_layout(plist);
    if (layout != H5D_COMPACT && layout != H5D_CONTIGUOUS && layout != H5D_CHUNKED)
        return error_set(err, STATUS_BAD_INPUT, "%s: expected data stored in this file, found a virtual layout",
                         array->text);
    if (H5Pget_external_count(plist) != 0)
        return error_set(err, STATUS_BAD_INPUT, "%s: expected data stored in this file, found external storage",
                         array->text);
    array->chunked = layout == H5D_CHUNKED;
    return STATUS_OK;
}

static Status inspect(H5Array *array, size_t file_bytes, const H5Expect *expect, Error *err) {
    hid_t plist = H5Dget_create_plist(array->id);
    if (plist < 0) return error_set(err, STATUS_BAD_INPUT, "%s: the file is damaged here", array->text);
    Status status = check_layout(array, plist, err);
    if (!status) status = read_shape(array, expect, err);
    if (!status) status = declared_bytes(array, expect, err);
    if (!status && array->chunked) status = read_chunks(array, plist, err);
    if (!status) status = check_storage(array, file_bytes, err);
    H5Pclose(plist);
    return status;
}

Status h5_open_array(const H5Place *parent, const char *name, bool required, const H5Expect *expect, H5Array *out,
                     bool *found, Error *err) {
    *out = (H5Array){.id = H5I_INVALID_HID};
    h5_lock();
    hid_t id = h5_open_child(parent, name, required, H5I_DATASET, out->text, err);
    Status status = id < 0 ? STATUS_BAD_INPUT : STATUS_OK;
    if (found) *found = id > 0;
    if (id > 0) {
        out->id = id;
        status = inspect(out, parent->file_bytes, expect, err);
        if (status) h5_array_close(out);
    }
    h5_unlock();
    return status;
}

void h5_array_close(H5Array *array) {
    if (array->id > 0) {
        h5_lock();
        H5Dclose(array->id);
        h5_unlock();
    }
    array->id = H5I_INVALID_HID;
    h5_chunks_forget(array);
}

static bool read_block(const H5Array *array, const hsize_t *start, const hsize_t *count, H5Kind kind, void *out) {
    hid_t file = H5Dget_space(array->id), memory = H5Screate_simple(array->rank, count, NULL);
    bool good = file >= 0 && memory >= 0 && H5Sselect_hyperslab(file, H5S_SELECT_SET, start, NULL, count, NULL) >= 0 &&
                H5Dread(array->id, h5_kind_memory_type(kind), memory, file, H5P_DEFAULT, out) >= 0;
    hid_t causes = H5Eget_current_stack(); // every call clears the error stack
    if (file >= 0) H5Sclose(file);
    if (memory >= 0) H5Sclose(memory);
    H5Eset_current_stack(causes);
    return good;
}

Status h5_array_read_block(H5Array *array, const hsize_t *start, const hsize_t *count, H5Kind kind, void *out,
                           Error *err) {
    char cause[256];
    if (stop_requested()) return stop_error(err);
    h5_lock();
    Status status = array->chunked ? h5_chunks_check(array, start, count, err) : STATUS_OK;
    bool good = !status && read_block(array, start, count, kind, out);
    if (!good) h5_cause(cause, sizeof cause);
    h5_unlock();
    if (good || status) return status;
    return error_set(err, STATUS_BAD_INPUT, "%s: cannot be read (%s); the file is damaged", array->text, cause);
}

Status h5_array_read(H5Array *array, H5Kind kind, void *out, Error *err) {
    const hsize_t start[H5_RANK_MAX] = {0};
    return h5_array_read_block(array, start, array->dims, kind, out, err);
}
