// SPDX-License-Identifier: Apache-2.0
// Untrusted arrays in NumPy's .npy format: little-endian numbers in C order, versions 1 to 3. Python objects
// (pickle), records, big-endian and Fortran order are refused.
#ifndef VPD_BASE_NPY_H
#define VPD_BASE_NPY_H

#include "base/error.h"

#include <stddef.h>

enum { NPY_RANK_MAX = 8 };

typedef struct NpyHeader {
    char kind; // 'f' float, 'i' signed, 'u' unsigned, 'b' bool
    int width; // bytes of a number: 1, 2 (not floats), 4, 8
    int rank;
    size_t dims[NPY_RANK_MAX];
    size_t count;  // numbers: product of dims, 1 for rank 0
    size_t offset; // of the first number; the file holds count * width bytes from there on
} NpyHeader;

// Errors do not name the file.
Status npy_parse(const void *bytes, size_t size, NpyHeader *out, Error *err);
double npy_value(const NpyHeader *header, const void *bytes, size_t index);

typedef struct NpyArray {
    int rank;
    size_t dims[NPY_RANK_MAX], count;
    double *values; // (count), malloc'ed
} NpyArray;

// Calibrations and time stamps: at most 2^24 numbers.
Status npy_read(const char *path, NpyArray *out, Error *err);
void npy_free(NpyArray *array); // accepts {0}

#endif
