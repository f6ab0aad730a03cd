// SPDX-License-Identifier: Apache-2.0
// Reads cameras from a JSON file.
#include "infer/camera_path.h"

#include "base/camera.h"
#include "base/file.h"
#include "base/file_kind.h"
#include "base/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_BYTES_MAX = 64 << 20, SIDE_MAX = 16384 };

// The camera that is being read, for error messages.
typedef struct Reader {
    const char *name;
    size_t index;
    Error *err;
} Reader;

static Status wrong(const Reader *reader, const char *key, const char *expected) {
    return error_set(reader->err, STATUS_BAD_INPUT, "%s: camera %zu: %s: expected %s", reader->name, reader->index, key,
                     expected);
}

static bool read_number(const json_t *value, double *out) {
    if (!json_is_number(value)) return false;
    *out = json_number_value(value);
    return isfinite(*out);
}

// A list of numbers, or a list of rows of numbers.
static bool read_numbers(const json_t *value, size_t rows, size_t columns, double *out) {
    if (!json_is_array(value) || json_array_size(value) != rows) return false;
    for (size_t r = 0; r < rows; r++) {
        const json_t *row = json_array_get(value, r);
        if (columns == 1 ? !read_number(row, out + r) : !read_numbers(row, columns, 1, out + r * columns)) return false;
    }
    return true;
}

static Status read_pose(const Reader *reader, const json_t *camera, double pose[16]) {
    double eye[3], target[3], up[3] = {0, 0, 1}, off, determinant;
    const json_t *matrix = json_object_get(camera, "world_from_camera");
    if (matrix) {
        if (!read_numbers(matrix, 4, 4, pose)) return wrong(reader, "world_from_camera", "4 rows of 4 numbers");
        if (!pose_rotation_error(pose, &off, &determinant) || off > 1e-3 || determinant < 0)
            return wrong(reader, "world_from_camera",
                         "a rotation with determinant +1, a translation, and 0 0 0 1 as the last row");
        return STATUS_OK;
    }
    if (!read_numbers(json_object_get(camera, "eye"), 3, 1, eye))
        return wrong(reader, "eye", "[x, y, z] (or world_from_camera)");
    if (!read_numbers(json_object_get(camera, "target"), 3, 1, target)) return wrong(reader, "target", "[x, y, z]");
    if (json_object_get(camera, "up") && !read_numbers(json_object_get(camera, "up"), 3, 1, up))
        return wrong(reader, "up", "[x, y, z]");
    if (!camera_look_at(eye, target, up, pose))
        return wrong(reader, "target", "a point other than eye, and not directly above or below it");
    return STATUS_OK;
}

static Status read_intrinsics(const Reader *reader, const json_t *camera, int H, int W, double K[9]) {
    double fov = 50;
    const json_t *matrix = json_object_get(camera, "intrinsics"), *degrees = json_object_get(camera, "fov_degrees");
    if (matrix) {
        if (!read_numbers(matrix, 3, 3, K)) return wrong(reader, "intrinsics", "3 rows of 3 numbers");
        bool sound = K[0] > 0 && K[4] > 0 && K[3] == 0 && K[6] == 0 && K[7] == 0 && K[8] == 1;
        return sound ? STATUS_OK
                     : wrong(reader, "intrinsics", "[[fx, 0, cx], [0, fy, cy], [0, 0, 1]] with fx, fy above 0");
    }
    if (degrees && (!read_number(degrees, &fov) || fov < 1 || fov > 170))
        return wrong(reader, "fov_degrees", "a number from 1 to 170");
    camera_intrinsics_from_fov(fov * 3.14159265358979 / 180, H, W, K);
    return STATUS_OK;
}

// An unknown key is most likely a spelling mistake.
static Status check_keys(const Reader *reader, const json_t *object, const char *const *known) {
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value) {
        bool found = false;
        for (const char *const *k = known; *k; k++) found |= strcmp(key, *k) == 0;
        if (!found) return wrong(reader, key, "a known key, found this one");
    }
    return STATUS_OK;
}

static Status read_camera(const Reader *reader, const json_t *camera, int H, int W, PathCamera *out) {
    static const char *const known[] = {"eye", "target", "up", "fov_degrees", "intrinsics", "world_from_camera", NULL};
    *out = (PathCamera){.H = H, .W = W};
    if (!json_is_object(camera)) return wrong(reader, "entry", "an object {...}");
    Status status = check_keys(reader, camera, known);
    if (status == STATUS_OK) status = read_pose(reader, camera, out->world_from_camera);
    if (status == STATUS_OK) status = read_intrinsics(reader, camera, H, W, out->K);
    return status;
}

static Status read_side(const char *name, const json_t *root, const char *key, int *out, Error *err) {
    const json_t *value = json_object_get(root, key);
    if (json_is_integer(value) && json_integer_value(value) >= 1 && json_integer_value(value) <= SIDE_MAX) {
        *out = (int)json_integer_value(value);
        return STATUS_OK;
    }
    return error_set(err, STATUS_BAD_INPUT, "%s: %s: expected a whole number from 1 to %d", name, key, SIDE_MAX);
}

static Status read_root(const char *name, const json_t *root, PathCamera **out, int *count, Error *err) {
    const json_t *list = json_object_get(root, "cameras");
    int H, W;
    if (!json_is_object(root) || !json_is_array(list) || json_array_size(list) < 1 ||
        json_array_size(list) > CAMERA_PATH_MAX)
        return error_set(err, STATUS_BAD_INPUT,
                         "%s: expected {\"width\": W, \"height\": H, \"cameras\": [...]} with 1 to %d cameras", name,
                         CAMERA_PATH_MAX);
    Status status = read_side(name, root, "width", &W, err);
    if (status == STATUS_OK) status = read_side(name, root, "height", &H, err);
    if (status != STATUS_OK) return status;
    Reader reader = {.name = name, .err = err};
    *out = malloc(json_array_size(list) * sizeof **out);
    if (!*out) return error_set(err, STATUS_FAILED, "%s: out of memory", name);
    for (; reader.index < json_array_size(list) && status == STATUS_OK; reader.index++)
        status = read_camera(&reader, json_array_get(list, reader.index), H, W, *out + reader.index);
    *count = (int)json_array_size(list);
    return status;
}

Status camera_path_parse(const char *text, size_t length, const char *name, PathCamera **out, int *count, Error *err) {
    json_error_t problem;
    *out = NULL;
    *count = 0;
    json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &problem);
    if (!root)
        return error_set(err, STATUS_BAD_INPUT, "%s:%d:%d: not valid JSON: %s", name, problem.line, problem.column,
                         problem.text);
    Status status = read_root(name, root, out, count, err);
    json_decref(root);
    if (status != STATUS_OK) {
        free(*out);
        *out = NULL;
        *count = 0;
    }
    return status;
}

Status camera_path_read(const char *path, PathCamera **out, int *count, Error *err) {
    char *text = NULL;
    size_t length = 0;
    *out = NULL;
    *count = 0;
    Status status = file_expect_text(path, "cameras in JSON", err);
    if (status == STATUS_OK) status = file_read_all(path, FILE_BYTES_MAX, &text, &length, err);
    if (status == STATUS_OK) status = camera_path_parse(text, length, path, out, count, err);
    free(text);
    return status;
}
