// SPDX-License-Identifier: Apache-2.0
// A reader of binary glTF files for tests: everything that it gives lies within the file.
#ifndef VPD_TESTS_INFER_GLTF_H
#define VPD_TESTS_INFER_GLTF_H

#include "base/json.h"
#include "tests/infer_export.h"

typedef struct Gltf {
    char *file;
    const char *binary;
    size_t binary_bytes;
    json_t *root;
} Gltf;

static inline json_int_t integer(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    assert_true(json_is_integer(value));
    return json_integer_value(value);
}

static inline const json_t *item(const Gltf *g, const char *list, json_int_t i) {
    const json_t *out = json_array_get(json_object_get(g->root, list), (size_t)i);
    assert_non_null(out);
    return out;
}

// Where an accessor's numbers are; everything lies within its view, and that within the buffer.
static inline const char *numbers(const Gltf *g, json_int_t accessor, json_int_t component, const char *type,
                                  size_t count) {
    const json_t *a = item(g, "accessors", accessor), *view = item(g, "bufferViews", integer(a, "bufferView"));
    size_t width = !strcmp(type, "SCALAR") ? 1 : (size_t)(type[3] - '0');
    size_t bytes = count * width * (component == 5123 ? 2 : 4), offset = (size_t)integer(a, "byteOffset");
    assert_int_equal(integer(a, "componentType"), component);
    assert_string_equal(json_string_value(json_object_get(a, "type")), type);
    assert_int_equal(integer(a, "count"), count);
    assert_true(offset + bytes <= (size_t)integer(view, "byteLength"));
    assert_true((size_t)(integer(view, "byteOffset") + integer(view, "byteLength")) <= g->binary_bytes);
    assert_int_equal((offset + (size_t)integer(view, "byteOffset")) % 4, 0);
    return g->binary + integer(view, "byteOffset") + offset;
}

static inline Gltf open_gltf(const char *path) {
    size_t length;
    Gltf g = {.file = read_all(path, &length)};
    size_t json = number(g.file + 12, 4);
    assert_memory_equal(g.file, "glTF\2\0\0\0", 8);
    assert_int_equal(number(g.file + 8, 4), length);
    assert_memory_equal(g.file + 16, "JSON", 4);
    assert_int_equal(json % 4, 0);
    g.root = json_loadb(g.file + 20, json, 0, NULL);
    assert_non_null(g.root);
    g.binary_bytes = number(g.file + 20 + json, 4);
    assert_memory_equal(g.file + 24 + json, "BIN\0", 4);
    g.binary = g.file + 28 + json;
    assert_int_equal(28 + json + g.binary_bytes, length);
    assert_int_equal(integer(item(&g, "buffers", 0), "byteLength"), g.binary_bytes);
    return g;
}

static inline void close_gltf(Gltf *g) {
    json_decref(g->root);
    free(g->file);
}

static inline const json_t *primitive_of(const Gltf *g, json_int_t mesh, size_t k, const char *name) {
    const json_t *out = json_array_get(json_object_get(item(g, "meshes", mesh), "primitives"), k);
    assert_string_equal(json_string_value(json_object_get(item(g, "meshes", mesh), "name")), name);
    assert_string_equal(json_string_value(json_object_get(item(g, "nodes", mesh + 1), "name")), name);
    assert_int_equal(integer(item(g, "nodes", mesh + 1), "mesh"), mesh);
    assert_non_null(out);
    return out;
}

#endif
