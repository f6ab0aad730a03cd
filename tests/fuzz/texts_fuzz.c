// SPDX-License-Identifier: Apache-2.0
// The small readers that others build on; the first byte says which: JSON and its fields (j), lines of numbers (t),
// NumPy arrays (n), safetensors (s), names that lead beneath a folder (p). VPD_FUZZ_LAYOUT=x takes that one in place
// of the first byte.
#include "tests/fuzz/fuzz.h"

#include "base/check.h"
#include "base/file.h"
#include "base/json_fields.h"
#include "base/npy.h"
#include "datasets/import/text.h"
#include "files/safetensors.h"

#include <math.h>
#include <string.h>

static void expect_sentence(Status status, const Error *err) {
    CHECK(status == STATUS_OK || (err->text[0] && !strchr(err->text, '\n')));
}

static void read_fields(const json_t *object, const char *key) {
    Error err = {0};
    double number, numbers[9];
    const char *text;
    json_t *inside;
    expect_sentence(json_field_number("fuzz", object, key, &number, &err), &err);
    expect_sentence(json_field_number_optional("fuzz", object, key, &number, &err), &err);
    expect_sentence(json_field_text("fuzz", object, key, &text, &err), &err);
    expect_sentence(json_field_object("fuzz", object, key, &inside, &err), &err);
    expect_sentence(json_field_list("fuzz", object, key, &inside, &err), &err);
    Status status = json_field_numbers("fuzz", object, key, numbers, 9, &err);
    expect_sentence(status, &err);
    for (int i = 0; !status && i < 9; i++) CHECK(isfinite(numbers[i]));
}

static Status read_json(const char *path, Error *err) {
    json_t *root;
    Status status = json_read_file(path, 1 << 20, &root, err);
    if (status) return status;
    read_fields(root, "a");
    for (void *at = json_object_iter(root); at; at = json_object_iter_next(root, at)) {
        const char *key = json_object_iter_key(at);
        if (!strchr(key, '\n')) read_fields(root, key);
        CHECK(json_count_numbers(json_object_iter_value(at)) < 1 << 20);
    }
    json_decref(root);
    return STATUS_OK;
}

// Every line as one to eight numbers, or a block of a matrix.
static Status read_text(const char *path, Error *err) {
    TextFile text;
    char *line;
    double numbers[16];
    Status status = text_open(path, &text, err);
    for (int i = 0; !status && text_next_line(&text, &line); i++) {
        if (i % 3 == 2) status = text_matrix(&text, 1 + i % 4, 4, numbers, err);
        else if (line[0] != '#') status = text_numbers(&text, line, numbers, 1 + i % 8, err);
    }
    text_close(&text);
    return status;
}

static Status read_npy(const char *path, Error *err) {
    NpyArray array;
    double sum = 0;
    Status status = npy_read(path, &array, err);
    if (!status) {
        for (size_t i = 0; i < array.count; i++) sum += array.values[i];
    }
    CHECK(status || !(sum > INFINITY));
    npy_free(&array);
    return status;
}

static Status read_safetensors(const uint8_t *data, size_t size, Error *err) {
    SafetensorsFile file;
    Status status = safetensors_parse(data, size, "fuzz", &file, err);
    size_t sum = 0;
    for (size_t i = 0; !status && i < file.count; i++) {
        const SafetensorsArray *array = &file.arrays[i];
        size_t bytes = safetensors_type_bytes(array->type);
        for (int k = 0; k < array->rank; k++) bytes *= array->dims[k];
        for (size_t b = 0; b < bytes; b++) sum += ((const uint8_t *)array->data)[b];    // all of it must be there
        for (size_t k = 0; k < i; k++) CHECK(strcmp(file.arrays[k].name, array->name)); // each name once
    }
    CHECK(sum <= 255 * size);
    if (!status) safetensors_free(&file);
    return status;
}

// Whatever the name, what it leads to lies beneath the folder.
static Status resolve(const uint8_t *data, size_t size, Error *err) {
    char name[256] = "", path[FILE_PATH_SIZE];
    memcpy(name, data, size < sizeof name ? size : sizeof name - 1);
    Status status = file_resolve_beneath(path, "/proc/self", name, err);
    if (!status) {
        char root[FILE_PATH_SIZE];
        CHECK(realpath("/proc/self", root) && strncmp(path, root, strlen(root)) == 0 && path[strlen(root)] == '/');
    }
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *only = getenv("VPD_FUZZ_LAYOUT");
    char path[64];
    Error err = {0};
    if (size == 0) return 0;
    char kind = only ? only[0] : (char)data[0];
    const uint8_t *rest = data + 1;
    size_t length = size - 1;
    if (kind == 's' || kind == 'p') {
        expect_sentence(kind == 's' ? read_safetensors(rest, length, &err) : resolve(rest, length, &err), &err);
        return 0;
    }
    if (kind != 'j' && kind != 't' && kind != 'n') return 0;
    int fd = fuzz_file(rest, length, path);
    expect_sentence(kind == 'j'   ? read_json(path, &err)
                    : kind == 't' ? read_text(path, &err)
                                  : read_npy(path, &err),
                    &err);
    close(fd);
    return 0;
}
