// SPDX-License-Identifier: Apache-2.0
#include "files/safetensors.h"

#include "base/check.h"
#include "base/file.h"

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX ((size_t)1 << 40)
#define HEADER_MAX ((size_t)100 << 20) // as other readers have it
enum { NAME_MAX_BYTES = 255 };

typedef struct Reader {
    const char *name; // of the file
    SafetensorsFile *out;
    const char *data;
    size_t data_bytes;
    Error *err;
} Reader;

static Status wrong(const Reader *reader, const char *array, const char *expected, const char *found) {
    return error_set(reader->err, STATUS_BAD_INPUT, "%s: %.64s: expected %s, found %s", reader->name, array, expected,
                     found);
}

static Status take_type(const Reader *reader, const json_t *entry, SafetensorsArray *array) {
    static const char *const names[] = {
        [SAFETENSORS_F16] = "F16", [SAFETENSORS_F32] = "F32", [SAFETENSORS_F64] = "F64"};
    const char *dtype = json_string_value(json_object_get(entry, "dtype"));
    for (int i = 0; dtype && i < 3; i++) {
        array->type = (SafetensorsType)i;
        if (!strcmp(dtype, names[i])) return STATUS_OK;
    }
    return wrong(reader, array->name, "dtype F16, F32 or F64", dtype && strlen(dtype) < 16 ? dtype : "another one");
}

static Status take_size(const Reader *reader, const char *name, const json_t *value, size_t *out) {
    json_int_t number = json_integer_value(value);
    if (!json_is_integer(value) || number < 0)
        return wrong(reader, name, "sizes and offsets of 0 or more", "something else");
    *out = (size_t)number;
    return STATUS_OK;
}

static Status take_shape(const Reader *reader, const json_t *entry, SafetensorsArray *array, size_t *bytes) {
    const json_t *shape = json_object_get(entry, "shape");
    if (!json_is_array(shape) || json_array_size(shape) > SAFETENSORS_RANK_MAX)
        return wrong(reader, array->name, "a shape of at most 8 sizes", "something else");
    array->rank = (int)json_array_size(shape);
    *bytes = safetensors_type_bytes(array->type);
    for (int i = 0; i < array->rank; i++) {
        Status status = take_size(reader, array->name, json_array_get(shape, (size_t)i), &array->dims[i]);
        if (status != STATUS_OK) return status;
        if (!size_mul(*bytes, array->dims[i], bytes))
            return wrong(reader, array->name, "a shape that memory holds", "a larger one");
    }
    return STATUS_OK;
}

static Status take_place(const Reader *reader, const json_t *entry, SafetensorsArray *array, size_t bytes) {
    const json_t *offsets = json_object_get(entry, "data_offsets");
    size_t begin = 0, end = 0;
    if (!json_is_array(offsets) || json_array_size(offsets) != 2)
        return wrong(reader, array->name, "two data_offsets", "something else");
    Status status = take_size(reader, array->name, json_array_get(offsets, 0), &begin);
    if (status == STATUS_OK) status = take_size(reader, array->name, json_array_get(offsets, 1), &end);
    if (status != STATUS_OK) return status;
    char expected[80], found[80];
    snprintf(expected, sizeof expected, "%zu bytes within the %zu of the data", bytes, reader->data_bytes);
    snprintf(found, sizeof found, "offsets %zu to %zu; was the file cut short?", begin, end);
    if (begin > end || end > reader->data_bytes || end - begin != bytes)
        return wrong(reader, array->name, expected, found);
    array->data = reader->data + begin;
    return STATUS_OK;
}

static Status take_array(Reader *reader, const char *name, const json_t *entry) {
    SafetensorsArray *array = &reader->out->arrays[reader->out->count];
    size_t bytes = 0;
    *array = (SafetensorsArray){.name = name};
    if (!*name || strlen(name) > NAME_MAX_BYTES || !json_is_object(entry))
        return wrong(reader, name, "an object under a name of 1 to 255 bytes", "something else");
    Status status = take_type(reader, entry, array);
    if (status == STATUS_OK) status = take_shape(reader, entry, array, &bytes);
    if (status == STATUS_OK) status = take_place(reader, entry, array, bytes);
    if (status == STATUS_OK) reader->out->count++;
    return status;
}

static Status take_texts(Reader *reader, json_t *metadata) {
    const char *key;
    json_t *value;
    SafetensorsFile *out = reader->out;
    if (!json_is_object(metadata)) return wrong(reader, "__metadata__", "an object of texts", "something else");
    out->texts = calloc(json_object_size(metadata) + 1, sizeof *out->texts);
    if (!out->texts) return error_set(reader->err, STATUS_FAILED, "%s: out of memory", reader->name);
    json_object_foreach(metadata, key, value) {
        if (!json_is_string(value)) return wrong(reader, "__metadata__", "texts alone", "another kind of value");
        out->texts[out->text_count++] = (SafetensorsText){key, json_string_value(value)};
    }
    return STATUS_OK;
}

static int compare_places(const void *a, const void *b) {
    const SafetensorsArray *first = a, *second = b;
    return first->data < second->data ? -1 : first->data > second->data ? 1 : strcmp(first->name, second->name);
}

// Arrays cover the data without hole or overlap.
static Status check_cover(const Reader *reader) {
    SafetensorsFile *out = reader->out;
    const char *end = reader->data;
    qsort(out->arrays, out->count, sizeof *out->arrays, compare_places);
    for (size_t i = 0; i < out->count; i++) {
        const SafetensorsArray *array = &out->arrays[i];
        size_t bytes = safetensors_type_bytes(array->type);
        for (int d = 0; d < array->rank; d++) bytes *= array->dims[d];
        if (bytes && (const char *)array->data != end)
            return wrong(reader, array->name, "arrays one behind the other", "a hole or an overlap");
        end += bytes;
    }
    if (end == reader->data + reader->data_bytes) return STATUS_OK;
    return wrong(reader, "the end", "arrays up to the last byte", "bytes that belong to none");
}

static Status take_header(Reader *reader, json_t *header) {
    const char *key;
    json_t *value;
    SafetensorsFile *out = reader->out;
    if (!json_is_object(header)) return wrong(reader, "header", "a JSON object", "another value");
    out->arrays = calloc(json_object_size(header) + 1, sizeof *out->arrays);
    if (!out->arrays) return error_set(reader->err, STATUS_FAILED, "%s: out of memory", reader->name);
    json_object_foreach(header, key, value) {
        bool is_metadata = !strcmp(key, "__metadata__");
        Status status = is_metadata ? take_texts(reader, value) : take_array(reader, key, value);
        if (status != STATUS_OK) return status;
    }
    return check_cover(reader);
}

Status safetensors_parse(const void *bytes, size_t size, const char *name, SafetensorsFile *out, Error *err) {
    const unsigned char *start = bytes;
    uint64_t length = 0;
    json_error_t problem;
    *out = (SafetensorsFile){0};
    if (size < 8)
        return error_set(err, STATUS_BAD_INPUT, "%s: expected a safetensors file, found %zu bytes", name, size);
    for (int i = 0; i < 8; i++) length |= (uint64_t)start[i] << 8 * i;
    if (length > size - 8 || length > HEADER_MAX)
        return error_set(err, STATUS_BAD_INPUT,
                         "%s: expected a safetensors header within %zu bytes, found one of %llu; is it another "
                         "format, or cut short?",
                         name, size - 8, (unsigned long long)length);
    json_t *header = json_loadb((const char *)start + 8, (size_t)length, JSON_REJECT_DUPLICATES, &problem);
    if (!header)
        return error_set(err, STATUS_BAD_INPUT, "%s: the header is not valid JSON (line %d, column %d: %s)", name,
                         problem.line, problem.column, problem.text);
    out->strings = header;
    Reader reader = {name, out, (const char *)start + 8 + length, size - 8 - (size_t)length, err};
    Status status = take_header(&reader, header);
    if (status != STATUS_OK) safetensors_free(out);
    return status;
}

Status safetensors_read(const char *path, SafetensorsFile *out, Error *err) {
    char *memory = NULL;
    size_t size = 0;
    *out = (SafetensorsFile){0};
    Status status = file_read_all(path, FILE_MAX, &memory, &size, err);
    if (status != STATUS_OK) return status;
    status = safetensors_parse(memory, size, path, out, err);
    if (status == STATUS_OK) out->memory = memory;
    else free(memory);
    return status;
}
