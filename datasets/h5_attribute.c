// SPDX-License-Identifier: Apache-2.0
#include "datasets/h5.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBERS_MAX = 65536 };

// The attribute with its type and number of elements (at most one dimension); closed by close_attribute.
typedef struct Attribute {
    hid_t id, type, space;
    hsize_t count;
} Attribute;

static void close_attribute(Attribute *attribute) {
    if (attribute->space > 0) H5Sclose(attribute->space);
    if (attribute->type > 0) H5Tclose(attribute->type);
    if (attribute->id > 0) H5Aclose(attribute->id);
    *attribute = (Attribute){0};
}

static bool load_attribute(hid_t object, const char *name, Attribute *out) {
    hsize_t dims[H5_RANK_MAX] = {1};
    *out = (Attribute){.id = H5Aopen(object, name, H5P_DEFAULT)};
    if (out->id < 0) return false;
    out->type = H5Aget_type(out->id);
    out->space = H5Aget_space(out->id);
    if (out->type < 0 || out->space < 0) return false;
    H5S_class_t class = H5Sget_simple_extent_type(out->space);
    int rank = H5Sget_simple_extent_ndims(out->space);
    if ((class != H5S_SCALAR && class != H5S_SIMPLE) || rank < 0 || rank > 1) return false;
    if (rank == 1 && H5Sget_simple_extent_dims(out->space, dims, NULL) != 1) return false;
    out->count = dims[0];
    return true;
}

// 1 there, 0 absent, -1 error set.
static int find_attribute(hid_t object, const char *text, const char *name, bool required, Error *err) {
    htri_t exists = H5Aexists(object, name);
    if (exists > 0) return 1;
    if (exists == 0 && !required) return 0;
    if (exists < 0)
        error_set(err, STATUS_BAD_INPUT, "%s%s the file is damaged at attribute %s", text, h5_colon(text), name);
    else error_set(err, STATUS_BAD_INPUT, "%s%s expected the attribute %s, found none", text, h5_colon(text), name);
    return -1;
}

// Cuts padding of both kinds (zeros, spaces) and refuses control characters, which would garble messages.
static Status take_text(const char *from, size_t length, const char *text, const char *name, char *out, size_t size,
                        Error *err) {
    length = strnlen(from, length);
    while (length > 0 && from[length - 1] == ' ') length--;
    if (length >= size)
        return error_set(err, STATUS_BAD_INPUT, "%s%s expected attribute %s of at most %zu bytes, found %zu", text,
                         h5_colon(text), name, size - 1, length);
    for (size_t i = 0; i < length; i++) {
        if ((unsigned char)from[i] < ' ' || from[i] == 127)
            return error_set(err, STATUS_BAD_INPUT,
                             "%s%s expected plain text in attribute %s, found control characters", text, h5_colon(text),
                             name);
    }
    memcpy(out, from, length);
    out[length] = 0;
    return STATUS_OK;
}

static Status read_variable_text(const Attribute *attribute, const char *text, const char *name, char *out, size_t size,
                                 Error *err) {
    char *value = NULL;
    hid_t memory = H5Tcopy(H5T_C_S1);
    Status status = STATUS_OK;
    H5Tset_size(memory, H5T_VARIABLE);
    H5Tset_cset(memory, H5Tget_cset(attribute->type));
    if (H5Aread(attribute->id, memory, &value) < 0)
        status = error_set(err, STATUS_BAD_INPUT, "%s%s attribute %s cannot be read", text, h5_colon(text), name);
    else status = take_text(value ? value : "", value ? strlen(value) : 0, text, name, out, size, err);
    H5free_memory(value);
    H5Tclose(memory);
    return status;
}

static Status read_fixed_text(const Attribute *attribute, const char *text, const char *name, char *out, size_t size,
                              Error *err) {
    size_t bytes = H5Tget_size(attribute->type);
    if (bytes > 65536)
        return error_set(err, STATUS_BAD_INPUT, "%s%s expected attribute %s of at most %zu bytes, found %zu", text,
                         h5_colon(text), name, size - 1, bytes);
    char *value = calloc(1, bytes + 1);
    if (!value) return error_set(err, STATUS_FAILED, "%s%s no memory for attribute %s", text, h5_colon(text), name);
    Status status;
    if (H5Aread(attribute->id, attribute->type, value) < 0)
        status = error_set(err, STATUS_BAD_INPUT, "%s%s attribute %s cannot be read", text, h5_colon(text), name);
    else status = take_text(value, bytes, text, name, out, size, err);
    free(value);
    return status;
}

static Status read_text(hid_t object, const char *text, const char *name, char *out, size_t size, Error *err) {
    Attribute attribute;
    Status status;
    if (!load_attribute(object, name, &attribute) || attribute.count != 1 || H5Tget_class(attribute.type) != H5T_STRING)
        status =
            error_set(err, STATUS_BAD_INPUT, "%s%s expected attribute %s to be one text", text, h5_colon(text), name);
    else if (H5Tis_variable_str(attribute.type) > 0)
        status = read_variable_text(&attribute, text, name, out, size, err);
    else status = read_fixed_text(&attribute, text, name, out, size, err);
    close_attribute(&attribute);
    return status;
}

Status h5_attribute_text(const H5Place *place, const char *name, bool required, char *out, size_t size, bool *found,
                         Error *err) {
    out[0] = 0;
    h5_lock();
    int there = find_attribute(place->id, place->text, name, required, err);
    Status status = there < 0 ? STATUS_BAD_INPUT : STATUS_OK;
    if (there > 0) status = read_text(place->id, place->text, name, out, size, err);
    h5_unlock();
    if (found) *found = there > 0;
    return status;
}

static Status read_numbers(hid_t object, const char *text, const char *name, bool integers, double *out, int capacity,
                           int *count, Error *err) {
    Attribute attribute;
    Status status = STATUS_OK;
    unsigned kinds = integers ? H5_INTEGERS : H5_INTEGERS | H5_REALS;
    if (!load_attribute(object, name, &attribute) || !(h5_kind_of(attribute.type) & kinds))
        status = error_set(err, STATUS_BAD_INPUT, "%s%s expected attribute %s to hold %s", text, h5_colon(text), name,
                           integers ? "whole numbers" : "numbers");
    else if (attribute.count > (hsize_t)capacity || attribute.count > NUMBERS_MAX)
        status = error_set(err, STATUS_BAD_INPUT, "%s%s expected attribute %s to hold at most %d numbers, found %llu",
                           text, h5_colon(text), name, capacity, (unsigned long long)attribute.count);
    else if (attribute.count > 0 && H5Aread(attribute.id, H5T_NATIVE_DOUBLE, out) < 0)
        status = error_set(err, STATUS_BAD_INPUT, "%s%s attribute %s cannot be read", text, h5_colon(text), name);
    else *count = (int)attribute.count;
    close_attribute(&attribute);
    return status;
}

Status h5_attribute_numbers(hid_t object, const char *text, const char *name, bool required, bool integers, double *out,
                            int capacity, int *count, Error *err) {
    *count = 0;
    h5_lock();
    int there = find_attribute(object, text, name, required, err);
    Status status = there < 0 ? STATUS_BAD_INPUT : STATUS_OK;
    if (there > 0) status = read_numbers(object, text, name, integers, out, capacity, count, err);
    h5_unlock();
    return status;
}

bool h5_attribute_is_scalar_number(const H5Place *place, const char *name) {
    Attribute attribute;
    h5_lock();
    bool is = load_attribute(place->id, name, &attribute) && attribute.count == 1 &&
              (h5_kind_of(attribute.type) & (H5_INTEGERS | H5_REALS));
    close_attribute(&attribute);
    h5_unlock();
    return is;
}
