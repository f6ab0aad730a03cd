// SPDX-License-Identifier: Apache-2.0
// Reads tests/reference/ops.h5 (layout: benchmarks/pytorch/reference.py) as numbers of any type, and opens what its
// cases run on.
#ifndef VPD_TESTS_GNN_REFERENCE_FILE_H
#define VPD_TESTS_GNN_REFERENCE_FILE_H

#include "nn/tape.h"
#include "tests/test.h"

#include <hdf5.h>

#define REFERENCE_PATH "tests/reference/ops.h5"

typedef struct Reference {
    hid_t file;
    char group[64]; // "step/full"
} Reference;

typedef struct ReferenceArray {
    size_t rows, cols; // cols = product of all but the first
    double *v;         // NULL: not there. Freed by reference_free
} ReferenceArray;

// The suite is skipped (77) without the file.
static inline Reference reference_open(void) {
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    hid_t file = H5Fopen(REFERENCE_PATH, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (file < 0) {
        printf("skipped: no %s here (run from the source folder)\n", REFERENCE_PATH);
        exit(77);
    }
    return (Reference){.file = file};
}

static inline ReferenceArray reference_read(const Reference *r, const char *name) {
    char path[160];
    snprintf(path, sizeof path, "%s/%s", r->group, name);
    ReferenceArray a = {0, 1, NULL};
    hid_t set = H5Dopen2(r->file, path, H5P_DEFAULT);
    if (set < 0) return a;
    hid_t space = H5Dget_space(set);
    hsize_t dims[8] = {1};
    int rank = H5Sget_simple_extent_dims(space, dims, NULL);
    a.rows = (size_t)dims[0];
    for (int i = 1; i < rank; i++) a.cols *= (size_t)dims[i];
    a.v = calloc(a.rows * a.cols + 1, sizeof *a.v);
    if (!a.v || H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, a.v) < 0)
        fail_msg("cannot read %s", path);
    H5Sclose(space);
    H5Dclose(set);
    return a;
}

static inline void reference_free(ReferenceArray *a) { free(a->v); }

static inline double reference_number(const Reference *r, const char *name) {
    double value = NAN;
    hid_t attribute = H5Aopen_by_name(r->file, r->group, name, H5P_DEFAULT, H5P_DEFAULT);
    if (attribute < 0 || H5Aread(attribute, H5T_NATIVE_DOUBLE, &value) < 0)
        fail_msg("%s has no number %s", r->group, name);
    H5Aclose(attribute);
    return value;
}

// True when the text attribute is `text`.
static inline bool reference_is(const Reference *r, const char *name, const char *text) {
    hid_t attribute = H5Aopen_by_name(r->file, r->group, name, H5P_DEFAULT, H5P_DEFAULT);
    char *value = NULL;
    if (attribute < 0) fail_msg("%s has no text %s", r->group, name);
    hid_t type = H5Aget_type(attribute);
    if (!H5Tis_variable_str(type) || H5Aread(attribute, type, &value) < 0)
        fail_msg("%s: %s is no text", r->group, name);
    bool same = !strcmp(value, text);
    H5free_memory(value);
    H5Tclose(type);
    H5Aclose(attribute);
    return same;
}

// Calls visit for each group "op/variant" of an op; returns how many there are.
static inline int reference_each(Reference *r, const char *op, void (*visit)(Reference *, void *), void *context) {
    hid_t group = H5Gopen2(r->file, op, H5P_DEFAULT);
    H5G_info_t info = {0};
    if (group < 0 || H5Gget_info(group, &info) < 0) fail_msg("%s has no group %s", REFERENCE_PATH, op);
    for (hsize_t i = 0; i < info.nlinks; i++) {
        char name[40];
        H5Lget_name_by_idx(group, ".", H5_INDEX_NAME, H5_ITER_INC, i, name, sizeof name, H5P_DEFAULT);
        snprintf(r->group, sizeof r->group, "%s/%s", op, name);
        visit(r, context);
    }
    H5Gclose(group);
    return (int)info.nlinks;
}

// A device and a tape for the cases of an op, the case under way, and how many values were wrong.
typedef struct Bench {
    Device *device;
    Tape tape;
    Reference *file;
    int wrong;
} Bench;

static inline void bench_open(Bench *b) {
    Error err = {0};
    *b = (Bench){0};
    assert_status_ok(device_open("cpu", 2, &b->device, &err), err);
    tape_init(&b->tape, b->device);
}

static inline void bench_close(Bench *b) {
    Error err = {0};
    assert_status_ok(device_status(b->device, &err), err);
    tape_free(&b->tape);
    device_close(b->device);
}

#endif
