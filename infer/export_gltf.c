// SPDX-License-Identifier: Apache-2.0
// The file is a header, a JSON chunk with the description, and a binary chunk with the numbers:
//   positions (steps+1,N,3) f32 | colours (N,4) u16 | times (steps+1,3) f32 | scales 1 0 0, 0 1 0, 0 1 1 of 3 keys
#include "base/check.h"
#include "base/file.h"
#include "base/json.h"
#include "infer/export.h"
#include "infer/rollout.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FLOAT = 5126, USHORT = 5123, ARRAY_BUFFER = 34962, POINTS = 0 };
// keys of a node's animation; scale curves of the first node, a middle one and the last one
enum { KEYS = 3, SCALES = 3 };

enum { HEADERS = 12 + 8 + 8 }; // bytes of the file's and the chunks' headers

typedef struct Layout {
    size_t positions, colours, times, scales, total; // bytes of each part
} Layout;

typedef struct Glb {
    const RolloutFile *rollout;
    const char *path;
    Layout bytes;
    char *json;
    size_t json_bytes; // padded with blanks to a multiple of 4
} Glb;

static bool lay_out(const RolloutFile *r, Layout *out) {
    size_t S = r->steps + 1, N = r->sets[0].N, frame;
    bool animated = r->steps > 0;
    if (!size_mul(N, 3 * sizeof(float), &frame) || !size_mul(S, frame, &out->positions)) return false;
    out->colours = r->sets[0].colour ? N * 4 * sizeof(uint16_t) : 0;
    out->times = animated ? S * KEYS * sizeof(float) : 0;
    out->scales = animated ? SCALES * KEYS * 3 * sizeof(float) : 0;
    out->total = out->positions + out->colours + out->times + out->scales;
    return out->positions < UINT32_MAX && out->total < UINT32_MAX; // the format stores sizes in 32 bits
}

// ---- the description: accessors 0 .. S-1 are positions, then colours, times, scales

// Appends a buffer view and advances the offset.
static void add_view(json_t *views, size_t *offset, size_t bytes, int target) {
    json_t *view =
        json_pack("{s:i s:I s:I}", "buffer", 0, "byteOffset", (json_int_t)*offset, "byteLength", (json_int_t)bytes);
    if (target) json_object_set_new(view, "target", json_integer(target));
    json_array_append_new(views, view);
    *offset += bytes;
}

static json_t *make_views(const Layout *bytes) {
    json_t *views = json_array();
    size_t offset = 0;
    add_view(views, &offset, bytes->positions, ARRAY_BUFFER);
    if (bytes->colours) add_view(views, &offset, bytes->colours, ARRAY_BUFFER);
    if (bytes->times) add_view(views, &offset, bytes->times, 0);
    if (bytes->scales) add_view(views, &offset, bytes->scales, 0);
    return views;
}

static json_t *accessor(int view, size_t offset, int component, const char *type, size_t count) {
    return json_pack("{s:i s:I s:i s:s s:I}", "bufferView", view, "byteOffset", (json_int_t)offset, "componentType",
                     component, "type", type, "count", (json_int_t)count);
}

static json_t *numbers(const float *values, int count) {
    json_t *out = json_array();
    for (int i = 0; i < count; i++) json_array_append_new(out, json_real((double)values[i]));
    return out;
}

static json_t *position_accessor(const RolloutFile *r, size_t step) {
    size_t N = r->sets[0].N;
    const float *x = rollout_positions(r, step);
    float low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (size_t i = 0; i < 3 * N; i++) {
        low[i % 3] = x[i] < low[i % 3] ? x[i] : low[i % 3];
        high[i % 3] = x[i] > high[i % 3] ? x[i] : high[i % 3];
    }
    json_t *out = accessor(0, step * 3 * N * sizeof *x, FLOAT, "VEC3", N);
    json_object_set_new(out, "min", numbers(low, 3));
    json_object_set_new(out, "max", numbers(high, 3));
    return out;
}

// Key times of a node: hidden from 0, shown at its own time, hidden at the time of the next. The first node starts
// shown; the last is shown for as long as the others.
static void node_times(const RolloutFile *r, size_t step, float keys[KEYS]) {
    double start = r->time[0], length = r->time[r->steps] - r->time[r->steps - 1];
    double begin = r->time[step] - start, end = step < r->steps ? r->time[step + 1] - start : begin + length;
    keys[0] = 0;
    keys[1] = (float)(step == 0 ? end : begin);
    keys[2] = (float)(step == 0 ? end + length : end);
}

static json_t *make_accessors(const RolloutFile *r, const Layout *bytes) {
    json_t *out = json_array();
    int view = 1;
    for (size_t step = 0; step <= r->steps; step++) json_array_append_new(out, position_accessor(r, step));
    if (bytes->colours) {
        json_t *colours = accessor(view++, 0, USHORT, "VEC4", r->sets[0].N);
        json_object_set_new(colours, "normalized", json_true());
        json_array_append_new(out, colours);
    }
    for (size_t step = 0; step <= r->steps && bytes->times; step++) {
        float keys[KEYS];
        node_times(r, step, keys);
        json_t *times = accessor(view, step * sizeof keys, FLOAT, "SCALAR", KEYS);
        json_object_set_new(times, "min", numbers(keys, 1));
        json_object_set_new(times, "max", numbers(keys + KEYS - 1, 1));
        json_array_append_new(out, times);
    }
    for (size_t i = 0; i < SCALES && bytes->scales; i++)
        json_array_append_new(out, accessor(view + 1, i * KEYS * 3 * sizeof(float), FLOAT, "VEC3", KEYS));
    return out;
}

static json_t *make_meshes(const RolloutFile *r, const Layout *bytes) {
    json_t *out = json_array();
    for (size_t step = 0; step <= r->steps; step++) {
        json_t *attributes = json_pack("{s:I}", "POSITION", (json_int_t)step);
        if (bytes->colours) json_object_set_new(attributes, "COLOR_0", json_integer((json_int_t)r->steps + 1));
        json_array_append_new(out, json_pack("{s:[{s:o s:i s:i}]}", "primitives", "attributes", attributes, "mode",
                                             POINTS, "material", 0));
    }
    return out;
}

// Unit quaternion, w last, that turns the recording's up to y.
static json_t *up_to_y(const RolloutFile *r) {
    static const double turns[2][3][4] = {{{0, 0, M_SQRT1_2, M_SQRT1_2}, {0, 0, 0, 1}, {-M_SQRT1_2, 0, 0, M_SQRT1_2}},
                                          {{0, 0, -M_SQRT1_2, M_SQRT1_2}, {1, 0, 0, 0}, {M_SQRT1_2, 0, 0, M_SQRT1_2}}};
    int sign, axis = export_up(r, &sign);
    const double *q = turns[sign < 0][axis];
    return json_pack("[f,f,f,f]", q[0], q[1], q[2], q[3]);
}

// Node 0 turns up to y and holds one node per step; all but the first start hidden.
static json_t *make_nodes(const RolloutFile *r) {
    json_t *out = json_array(), *children = json_array();
    for (size_t step = 0; step <= r->steps; step++) json_array_append_new(children, json_integer((json_int_t)step + 1));
    json_array_append_new(out,
                          json_pack("{s:s s:o s:o}", "name", "up is y", "rotation", up_to_y(r), "children", children));
    for (size_t step = 0; step <= r->steps; step++) {
        char name[32];
        snprintf(name, sizeof name, "step %zu", step);
        json_t *node = json_pack("{s:s s:I}", "name", name, "mesh", (json_int_t)step);
        if (step > 0) json_object_set_new(node, "scale", json_pack("[i,i,i]", 0, 0, 0));
        json_array_append_new(out, node);
    }
    return out;
}

static json_t *make_animation(const RolloutFile *r, const Layout *bytes) {
    json_t *samplers = json_array(), *channels = json_array();
    json_int_t S = (json_int_t)r->steps + 1, times = S + (bytes->colours ? 1 : 0), scales = times + S;
    for (json_int_t step = 0; step < S; step++) {
        json_int_t course = step == 0 ? 0 : step + 1 < S ? 1 : 2;
        json_array_append_new(samplers, json_pack("{s:I s:I s:s}", "input", times + step, "output", scales + course,
                                                  "interpolation", "STEP"));
        json_array_append_new(
            channels, json_pack("{s:I s:{s:I s:s}}", "sampler", step, "target", "node", step + 1, "path", "scale"));
    }
    return json_pack("[{s:s s:o s:o}]", "name", "rollout", "samplers", samplers, "channels", channels);
}

static json_t *describe(const RolloutFile *r, const Layout *bytes) {
    json_t *root =
        json_pack("{s:{s:s s:s} s:[s] s:i s:[{s:[i]}] s:o s:o s:[{s:s s:s s:{s:{}} s:{s:f s:f}}] s:o s:o s:[{s:I}]}",
                  "asset", "version", "2.0", "generator", "vpd", "extensionsUsed", "KHR_materials_unlit", "scene", 0,
                  "scenes", "nodes", 0, "nodes", make_nodes(r), "meshes", make_meshes(r, bytes), "materials", "name",
                  "particles", "alphaMode", "MASK", "extensions", "KHR_materials_unlit", "pbrMetallicRoughness",
                  "metallicFactor", 0.0, "roughnessFactor", 1.0, "accessors", make_accessors(r, bytes), "bufferViews",
                  make_views(bytes), "buffers", "byteLength", (json_int_t)bytes->total);
    if (root && bytes->times) json_object_set_new(root, "animations", make_animation(r, bytes));
    return root;
}

// ---- the file

static bool put(FILE *file, const void *data, size_t bytes) {
    return bytes == 0 || fwrite(data, 1, bytes, file) == bytes;
}

static bool put_u32(FILE *file, size_t value) {
    uint32_t word = (uint32_t)value;
    return put(file, &word, sizeof word);
}

static bool put_colours(FILE *file, const RolloutSet *set) {
    bool good = true;
    for (size_t i = 0; i < set->N && good; i++) {
        bool drawn = !set->radius || set->radius[i] > 0;
        uint16_t rgba[4] = {0, 0, 0, drawn ? UINT16_MAX : 0};
        for (size_t c = 0; c < 3; c++) rgba[c] = (uint16_t)lrintf(UINT16_MAX * export_linear(set->colour[3 * i + c]));
        good = put(file, rgba, sizeof rgba);
    }
    return good;
}

static bool put_animation(FILE *file, const RolloutFile *r) {
    static const float seen[SCALES][KEYS] = {{1, 0, 0}, {0, 1, 0}, {0, 1, 1}};
    bool good = true;
    for (size_t step = 0; step <= r->steps && good; step++) {
        float keys[KEYS];
        node_times(r, step, keys);
        good = put(file, keys, sizeof keys);
    }
    for (int i = 0; i < SCALES * KEYS && good; i++) {
        float s = seen[i / KEYS][i % KEYS];
        good = put(file, (float[]){s, s, s}, 3 * sizeof s);
    }
    return good;
}

static bool put_file(FILE *file, void *context) {
    const Glb *glb = context;
    const RolloutFile *r = glb->rollout;
    size_t frame = 3 * r->sets[0].N * sizeof(float);
    bool good = put(file, "glTF", 4) && put_u32(file, 2) && put_u32(file, HEADERS + glb->json_bytes + glb->bytes.total);
    good = good && put_u32(file, glb->json_bytes) && put(file, "JSON", 4) && put(file, glb->json, glb->json_bytes);
    good = good && put_u32(file, glb->bytes.total) && put(file, "BIN\0", 4);
    for (size_t step = 0; step <= r->steps && good; step++) good = put(file, rollout_positions(r, step), frame);
    if (good && glb->bytes.colours) good = put_colours(file, &r->sets[0]);
    return good && (!glb->bytes.times || put_animation(file, r));
}

// Serialises the description with its padding; false if memory is short.
static bool make_json(Glb *glb) {
    json_t *root = describe(glb->rollout, &glb->bytes);
    char *text = root ? json_dumps(root, JSON_COMPACT) : NULL;
    size_t length = text ? strlen(text) : 0;
    json_decref(root);
    glb->json_bytes = (length + 3) / 4 * 4;
    glb->json = text ? realloc(text, glb->json_bytes + 1) : NULL;
    if (!glb->json) free(text);
    else memset(glb->json + length, ' ', glb->json_bytes - length);
    return glb->json;
}

static Status too_large(const Glb *glb, Error *err) {
    return error_set(err, STATUS_BAD_INPUT,
                     "%s: %zu particles at %zu steps exceed the 4 GiB limit of glTF files; export fewer steps",
                     glb->path, glb->rollout->sets[0].N, glb->rollout->steps + 1);
}

Status export_gltf(const RolloutFile *rollout, const char *path, Error *err) {
    Glb glb = {.rollout = rollout, .path = path};
    if (!lay_out(rollout, &glb.bytes)) return too_large(&glb, err);
    if (!make_json(&glb)) return error_set(err, STATUS_FAILED, "%s: out of memory for the file's description", path);
    bool fits = HEADERS + glb.json_bytes + glb.bytes.total <= UINT32_MAX;
    Status status = fits ? file_write_stream(path, put_file, &glb, err) : too_large(&glb, err);
    free(glb.json);
    return status;
}
