// SPDX-License-Identifier: Apache-2.0
#include "files/safetensors.h"

#include "base/file.h"

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGN = 8 };

static const struct {
    const char *name;
    size_t bytes;
} types[] = {[SAFETENSORS_F16] = {"F16", 2}, [SAFETENSORS_F32] = {"F32", 4}, [SAFETENSORS_F64] = {"F64", 8}};

size_t safetensors_type_bytes(SafetensorsType type) { return types[type].bytes; }

void safetensors_free(SafetensorsFile *file) {
    free(file->arrays);
    free(file->texts);
    free(file->memory);
    json_decref(file->strings);
    *file = (SafetensorsFile){0};
}

static size_t array_bytes(const SafetensorsArray *array) {
    size_t bytes = types[array->type].bytes;
    for (int i = 0; i < array->rank; i++) bytes *= array->dims[i];
    return bytes;
}

// ---- writing

typedef struct Content {
    char *header;
    size_t header_bytes;
    const SafetensorsArray *arrays;
    size_t count;
} Content;

// {"dtype":"F32","shape":[3,4],"data_offsets":[0,48]}
static json_t *describe(const SafetensorsArray *array, size_t begin, size_t end) {
    json_t *shape = json_array();
    for (int i = 0; i < array->rank; i++) json_array_append_new(shape, json_integer((json_int_t)array->dims[i]));
    return json_pack("{s:s, s:o, s:[I,I]}", "dtype", types[array->type].name, "shape", shape, "data_offsets",
                     (json_int_t)begin, (json_int_t)end);
}

static json_t *make_header(const SafetensorsArray *arrays, size_t count, const SafetensorsText *texts,
                           size_t text_count) {
    json_t *header = json_object(), *metadata = json_object();
    size_t offset = 0;
    int failed = 0;
    for (size_t i = 0; i < text_count; i++)
        failed |= json_object_set_new(metadata, texts[i].key, json_string(texts[i].value));
    if (text_count) failed |= json_object_set(header, "__metadata__", metadata);
    for (size_t i = 0; i < count; i++) {
        size_t end = offset + array_bytes(&arrays[i]);
        failed |= json_object_set_new(header, arrays[i].name, describe(&arrays[i], offset, end));
        offset = end;
    }
    json_decref(metadata);
    if (!failed) return header;
    json_decref(header);
    return NULL;
}

// Header text, padded with spaces so that the arrays begin at a multiple of 8.
static char *header_text(json_t *header, size_t *bytes) {
    char *text = header ? json_dumps(header, JSON_COMPACT) : NULL;
    size_t length = text ? strlen(text) : 0;
    *bytes = (length + ALIGN - 1) / ALIGN * ALIGN;
    char *padded = text ? realloc(text, *bytes + 1) : NULL;
    if (!padded) free(text);
    else memset(padded + length, ' ', *bytes - length);
    return padded;
}

static bool write_content(FILE *file, void *context) {
    const Content *content = context;
    unsigned char length[8];
    for (int i = 0; i < 8; i++) length[i] = (unsigned char)((uint64_t)content->header_bytes >> 8 * i);
    bool good = fwrite(length, 1, 8, file) == 8 &&
                fwrite(content->header, 1, content->header_bytes, file) == content->header_bytes;
    for (size_t i = 0; good && i < content->count; i++) {
        size_t bytes = array_bytes(&content->arrays[i]);
        good = fwrite(content->arrays[i].data, 1, bytes, file) == bytes;
    }
    return good;
}

Status safetensors_write(const char *path, const SafetensorsArray *arrays, size_t count, const SafetensorsText *texts,
                         size_t text_count, Error *err) {
    Content content = {.arrays = arrays, .count = count};
    json_t *header = make_header(arrays, count, texts, text_count);
    content.header = header_text(header, &content.header_bytes);
    Status status = content.header
                        ? file_write_stream(path, write_content, &content, err)
                        : error_set(err, STATUS_FAILED, "%s: not written: out of memory, or a name is not UTF-8", path);
    free(content.header);
    json_decref(header);
    return status;
}
