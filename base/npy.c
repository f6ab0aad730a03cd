// SPDX-License-Identifier: Apache-2.0
#include "base/npy.h"

#include "base/check.h"
#include "base/file.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX = 4096 };
#define VALUES_MAX ((size_t)1 << 24)
#define FILE_MAX ((size_t)1 << 28)

// The text of the header as a string of its own, and where the numbers begin; false when there is none.
static bool header_text(const unsigned char *b, size_t size, char text[TEXT_MAX + 1], size_t *offset) {
    if (size < 10 || memcmp(b, "\x93NUMPY", 6) != 0 || b[6] < 1 || b[6] > 3) return false;
    size_t start = b[6] == 1 ? 10 : 12;
    if (size < start) return false;
    size_t length = (size_t)b[8] | (size_t)b[9] << 8;
    if (b[6] > 1) length |= (size_t)b[10] << 16 | (size_t)b[11] << 24;
    if (length > TEXT_MAX || length > size - start) return false;
    memcpy(text, b + start, length);
    text[length] = 0;
    for (size_t i = 0; i < length; i++) { // messages quote parts of it
        if (text[i] < ' ' || text[i] > '~') text[i] = ' ';
    }
    *offset = start + length;
    return true;
}

// What stands behind 'key': in the header.
static const char *value_of(const char *text, const char *key) {
    const char *at = strstr(text, key);
    if (!at) return NULL;
    at += strlen(key);
    at += strspn(at, " ");
    if (*at != ':') return NULL;
    at++;
    return at + strspn(at, " ");
}

static bool known_type(char kind, int width) {
    if (kind == 'f') return width == 4 || width == 8;
    if (kind == 'b') return width == 1;
    return (kind == 'i' || kind == 'u') && (width == 1 || width == 2 || width == 4 || width == 8);
}

static Status parse_type(const char *text, NpyHeader *out, Error *err) {
    const char *at = value_of(text, "'descr'");
    if (!at) return error_set(err, STATUS_BAD_INPUT, "expected the type of a .npy array, found none");
    if (strncmp(at, "'|O'", 4) == 0)
        return error_set(err, STATUS_BAD_INPUT,
                         "expected an array of numbers, found Python objects (a pickle), which are never read; save it "
                         "again with numpy.array(..., dtype=float)");
    bool good = *at == '\'' && (at[1] == '<' || at[1] == '|' || at[1] == '=') && at[2] && at[3] >= '1' && at[3] <= '8';
    out->kind = good ? at[2] : 0;
    out->width = good ? at[3] - '0' : 0;
    if (good && at[4] == '\'' && known_type(out->kind, out->width)) return STATUS_OK;
    return error_set(err, STATUS_BAD_INPUT,
                     "expected little-endian whole numbers, float32 or float64 in a .npy array, found type %.20s", at);
}

static Status parse_shape(const char *text, NpyHeader *out, Error *err) {
    const char *at = value_of(text, "'shape'");
    out->count = 1;
    if (!at || *at != '(') return error_set(err, STATUS_BAD_INPUT, "expected the shape of a .npy array, found none");
    for (at++; (at += strspn(at, " ,L")), *at != ')';) {
        char *end;
        if (*at < '0' || *at > '9' || out->rank == NPY_RANK_MAX) break;
        size_t side = strtoull(at, &end, 10);
        out->dims[out->rank++] = side;
        if (!size_mul(out->count, side, &out->count)) break;
        at = end;
    }
    if (*at == ')') return STATUS_OK;
    return error_set(err, STATUS_BAD_INPUT, "expected at most %d sides of a .npy array, found (%.40s", NPY_RANK_MAX,
                     at);
}

Status npy_parse(const void *bytes, size_t size, NpyHeader *out, Error *err) {
    char text[TEXT_MAX + 1];
    size_t need;
    *out = (NpyHeader){0};
    if (!header_text(bytes, size, text, &out->offset))
        return error_set(err, STATUS_BAD_INPUT, "expected a .npy array of version 1 to 3, found a damaged header");
    Status status = parse_type(text, out, err);
    if (!status) status = parse_shape(text, out, err);
    if (status) return status;
    const char *fortran = value_of(text, "'fortran_order'");
    if (!fortran || (strncmp(fortran, "False", 5) != 0 && out->rank > 1))
        return error_set(err, STATUS_BAD_INPUT,
                         "expected a .npy array in C order, found Fortran order; save numpy.ascontiguousarray(array)");
    if (!size_mul(out->count, (size_t)out->width, &need) || need != size - out->offset)
        return error_set(err, STATUS_BAD_INPUT, "expected %zu numbers of %d bytes, found %zu bytes", out->count,
                         out->width, size - out->offset);
    return STATUS_OK;
}

double npy_value(const NpyHeader *header, const void *bytes, size_t index) {
    const unsigned char *at = (const unsigned char *)bytes + header->offset + index * (size_t)header->width;
    uint64_t word = 0;
    for (int i = 0; i < header->width; i++) word |= (uint64_t)at[i] << (8 * i);
    if (header->kind == 'f') {
        float narrow;
        double wide;
        uint32_t low = (uint32_t)word;
        memcpy(&narrow, &low, sizeof narrow);
        memcpy(&wide, &word, sizeof wide);
        return header->width == 4 ? (double)narrow : wide;
    }
    if (header->kind != 'i') return (double)word;
    int shift = 64 - 8 * header->width; // sign extension
    return (double)((int64_t)(word << shift) >> shift);
}

Status npy_read(const char *path, NpyArray *out, Error *err) {
    char *bytes;
    size_t size;
    NpyHeader header;
    *out = (NpyArray){0};
    Status status = file_read_all(path, FILE_MAX, &bytes, &size, err);
    if (status) return status;
    status = npy_parse(bytes, size, &header, err);
    if (!status && header.count > VALUES_MAX)
        status = error_set(err, STATUS_BAD_INPUT, "expected at most %zu numbers, found %zu", VALUES_MAX, header.count);
    if (!status && !(out->values = malloc((header.count + 1) * sizeof *out->values)))
        status = error_set(err, STATUS_FAILED, "no memory for %zu numbers", header.count);
    if (status) error_prefix(err, "%s", path);
    out->rank = header.rank;
    memcpy(out->dims, header.dims, sizeof out->dims);
    out->count = header.count;
    for (size_t i = 0; !status && i < header.count; i++) out->values[i] = npy_value(&header, bytes, i);
    free(bytes);
    return status;
}

void npy_free(NpyArray *array) {
    free(array->values);
    *array = (NpyArray){0};
}
