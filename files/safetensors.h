// SPDX-License-Identifier: Apache-2.0
// safetensors files: u64 length of the header, the header in JSON ("name": {dtype, shape, data_offsets};
// "__metadata__": texts), then the arrays, little-endian, row-major, without gaps. PyTorch, numpy and others read them
// without pickle.
#ifndef VPD_FILES_SAFETENSORS_H
#define VPD_FILES_SAFETENSORS_H

#include "base/error.h"

#include <jansson.h>
#include <stddef.h>

enum { SAFETENSORS_RANK_MAX = 8 };

typedef enum SafetensorsType { SAFETENSORS_F16, SAFETENSORS_F32, SAFETENSORS_F64 } SafetensorsType;

typedef struct SafetensorsArray {
    const char *name;
    SafetensorsType type;
    int rank;
    size_t dims[SAFETENSORS_RANK_MAX];
    const void *data; // little-endian; in a file that was read it may be unaligned, so use memcpy
} SafetensorsArray;

typedef struct SafetensorsText {
    const char *key, *value; // UTF-8
} SafetensorsText;

// Freed by safetensors_free. After safetensors_parse `data` points into the parsed bytes.
typedef struct SafetensorsFile {
    SafetensorsArray *arrays;
    size_t count;
    SafetensorsText *texts;
    size_t text_count;
    char *memory;    // the file; NULL after safetensors_parse
    json_t *strings; // names and texts
} SafetensorsFile;

// Replaces `path` atomically; arrays are written in the given order.
Status safetensors_write(const char *path, const SafetensorsArray *arrays, size_t count, const SafetensorsText *texts,
                         size_t text_count, Error *err);

// Reads a file that is not trusted: sizes, offsets, types and shapes are all checked.
Status safetensors_read(const char *path, SafetensorsFile *out, Error *err);
Status safetensors_parse(const void *bytes, size_t size, const char *name, SafetensorsFile *out, Error *err);
void safetensors_free(SafetensorsFile *file); // accepts {0}

size_t safetensors_type_bytes(SafetensorsType type);

#endif
