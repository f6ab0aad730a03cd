// SPDX-License-Identifier: Apache-2.0
#include "infer/glb.h"

#include "base/file.h"
#include "infer/export.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HEADERS = 12 + 8 + 8 }; // bytes of the file's and the chunks' headers

void glb_add_view(json_t *views, size_t *offset, size_t bytes, int target) {
    json_t *view =
        json_pack("{s:i s:I s:I}", "buffer", 0, "byteOffset", (json_int_t)*offset, "byteLength", (json_int_t)bytes);
    if (target) json_object_set_new(view, "target", json_integer(target));
    json_array_append_new(views, view);
    *offset += bytes;
}

json_t *glb_accessor(int view, size_t offset, int component, const char *type, size_t count) {
    return json_pack("{s:i s:I s:i s:s s:I}", "bufferView", view, "byteOffset", (json_int_t)offset, "componentType",
                     component, "type", type, "count", (json_int_t)count);
}

json_t *glb_numbers(const float *values, int count) {
    json_t *out = json_array();
    for (int i = 0; i < count; i++) json_array_append_new(out, json_real((double)values[i]));
    return out;
}

json_t *glb_vectors(int view, size_t offset, const float *x, size_t count) {
    float low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (size_t i = 0; i < 3 * count; i++) {
        low[i % 3] = x[i] < low[i % 3] ? x[i] : low[i % 3];
        high[i % 3] = x[i] > high[i % 3] ? x[i] : high[i % 3];
    }
    json_t *out = glb_accessor(view, offset, GLB_FLOAT, "VEC3", count);
    json_object_set_new(out, "min", glb_numbers(low, 3));
    json_object_set_new(out, "max", glb_numbers(high, 3));
    return out;
}

json_t *glb_up_to_y(const RolloutFile *r) {
    static const double turns[2][3][4] = {{{0, 0, M_SQRT1_2, M_SQRT1_2}, {0, 0, 0, 1}, {-M_SQRT1_2, 0, 0, M_SQRT1_2}},
                                          {{0, 0, -M_SQRT1_2, M_SQRT1_2}, {1, 0, 0, 0}, {M_SQRT1_2, 0, 0, M_SQRT1_2}}};
    int sign, axis = export_up(r, &sign);
    const double *q = turns[sign < 0][axis];
    return json_pack("[f,f,f,f]", q[0], q[1], q[2], q[3]);
}

bool glb_put(FILE *file, const void *data, size_t bytes) { return bytes == 0 || fwrite(data, 1, bytes, file) == bytes; }

bool glb_put_colour(FILE *file, const RolloutSet *set, size_t i) {
    const bool drawn = !set->radius || set->radius[i] > 0;
    uint16_t rgba[4] = {0, 0, 0, drawn ? UINT16_MAX : 0};
    for (size_t c = 0; c < 3; c++) rgba[c] = (uint16_t)lrintf(UINT16_MAX * export_linear(set->colour[3 * i + c]));
    return glb_put(file, rgba, sizeof rgba);
}

// ---- the file

typedef struct Text {
    const Glb *glb;
    char *json;
    size_t bytes; // padded with blanks to a multiple of 4
} Text;

static bool put_u32(FILE *file, size_t value) {
    uint32_t word = (uint32_t)value;
    return glb_put(file, &word, sizeof word);
}

static bool put_file(FILE *file, void *context) {
    const Text *text = context;
    const Glb *glb = text->glb;
    return glb_put(file, "glTF", 4) && put_u32(file, 2) && put_u32(file, HEADERS + text->bytes + glb->bytes) &&
           put_u32(file, text->bytes) && glb_put(file, "JSON", 4) && glb_put(file, text->json, text->bytes) &&
           put_u32(file, glb->bytes) && glb_put(file, "BIN\0", 4) && glb->put(file, glb->context);
}

// The description with its padding; false if memory is short.
static bool make_text(json_t *root, Text *out) {
    char *text = root ? json_dumps(root, JSON_COMPACT) : NULL;
    size_t length = text ? strlen(text) : 0;
    out->bytes = (length + 3) / 4 * 4;
    out->json = text ? realloc(text, out->bytes + 1) : NULL;
    if (!out->json) free(text);
    else memset(out->json + length, ' ', out->bytes - length);
    return out->json;
}

Status glb_too_large(const RolloutFile *rollout, const char *path, Error *err) {
    return error_set(err, STATUS_BAD_INPUT,
                     "%s: %zu particles at %zu steps exceed the 4 GiB limit of glTF files; export fewer steps", path,
                     rollout->sets[0].N, rollout->steps + 1);
}

Status glb_write(const Glb *glb, Error *err) {
    Text text = {.glb = glb};
    bool made = make_text(glb->root, &text);
    json_decref(glb->root);
    if (!made) return error_set(err, STATUS_FAILED, "%s: out of memory for the file's description", glb->path);
    bool fits = HEADERS + text.bytes + glb->bytes <= UINT32_MAX;
    Status status =
        fits ? file_write_stream(glb->path, put_file, &text, err) : glb_too_large(glb->rollout, glb->path, err);
    free(text.json);
    return status;
}
