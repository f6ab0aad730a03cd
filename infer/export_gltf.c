// SPDX-License-Identifier: Apache-2.0
// The numbers of a file of points:
//   positions (steps+1,N,3) f32 | colours (N,4) u16 | times (steps+1,3) f32 | scales 1 0 0, 0 1 0, 0 1 1 of 3 keys
#include "base/check.h"
#include "infer/export.h"
#include "infer/export_parts.h"
#include "infer/glb.h"
#include "infer/rollout.h"

#include <math.h>

enum { POINTS = 0 };
// keys of a node's animation; scale curves of the first node, a middle one and the last one
enum { KEYS = 3, SCALES = 3 };

typedef struct Layout {
    size_t positions, colours, times, scales, total; // bytes of each part
} Layout;

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

static json_t *make_views(const Layout *bytes) {
    json_t *views = json_array();
    size_t offset = 0;
    glb_add_view(views, &offset, bytes->positions, GLB_ARRAY_BUFFER);
    if (bytes->colours) glb_add_view(views, &offset, bytes->colours, GLB_ARRAY_BUFFER);
    if (bytes->times) glb_add_view(views, &offset, bytes->times, 0);
    if (bytes->scales) glb_add_view(views, &offset, bytes->scales, 0);
    return views;
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
    const size_t N = r->sets[0].N;
    for (size_t step = 0; step <= r->steps; step++)
        json_array_append_new(out, glb_vectors(0, step * 3 * N * sizeof(float), rollout_positions(r, step), N));
    if (bytes->colours) {
        json_t *colours = glb_accessor(view++, 0, GLB_USHORT, "VEC4", r->sets[0].N);
        json_object_set_new(colours, "normalized", json_true());
        json_array_append_new(out, colours);
    }
    for (size_t step = 0; step <= r->steps && bytes->times; step++) {
        float keys[KEYS];
        node_times(r, step, keys);
        json_t *times = glb_accessor(view, step * sizeof keys, GLB_FLOAT, "SCALAR", KEYS);
        json_object_set_new(times, "min", glb_numbers(keys, 1));
        json_object_set_new(times, "max", glb_numbers(keys + KEYS - 1, 1));
        json_array_append_new(out, times);
    }
    for (size_t i = 0; i < SCALES && bytes->scales; i++)
        json_array_append_new(out, glb_accessor(view + 1, i * KEYS * 3 * sizeof(float), GLB_FLOAT, "VEC3", KEYS));
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

// Node 0 turns up to y and holds one node per step; all but the first start hidden.
static json_t *make_nodes(const RolloutFile *r) {
    json_t *out = json_array(), *children = json_array();
    for (size_t step = 0; step <= r->steps; step++) json_array_append_new(children, json_integer((json_int_t)step + 1));
    json_array_append_new(
        out, json_pack("{s:s s:o s:o}", "name", "up is y", "rotation", glb_up_to_y(r), "children", children));
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

// ---- the numbers

static bool put_animation(FILE *file, const RolloutFile *r) {
    static const float seen[SCALES][KEYS] = {{1, 0, 0}, {0, 1, 0}, {0, 1, 1}};
    bool good = true;
    for (size_t step = 0; step <= r->steps && good; step++) {
        float keys[KEYS];
        node_times(r, step, keys);
        good = glb_put(file, keys, sizeof keys);
    }
    for (int i = 0; i < SCALES * KEYS && good; i++) {
        float s = seen[i / KEYS][i % KEYS];
        good = glb_put(file, (float[]){s, s, s}, 3 * sizeof s);
    }
    return good;
}

static bool put_numbers(FILE *file, void *context) {
    const RolloutFile *r = context;
    const RolloutSet *set = &r->sets[0];
    bool good = true;
    for (size_t step = 0; step <= r->steps && good; step++)
        good = glb_put(file, rollout_positions(r, step), 3 * set->N * sizeof(float));
    for (size_t i = 0; set->colour && i < set->N && good; i++) good = glb_put_colour(file, set, i);
    return good && (r->steps == 0 || put_animation(file, r));
}

static Status write_points(const RolloutFile *rollout, const char *path, Error *err) {
    Layout bytes;
    if (!lay_out(rollout, &bytes)) return glb_too_large(rollout, path, err);
    const Glb glb = {.rollout = rollout,
                     .path = path,
                     .root = describe(rollout, &bytes),
                     .bytes = bytes.total,
                     .put = put_numbers,
                     .context = (void *)rollout}; // only read
    return glb_write(&glb, err);
}

Status export_gltf(const RolloutFile *rollout, const char *path, Error *err) {
    const bool surface = rollout->surface.triangles || rollout->surface.springs;
    return surface ? export_gltf_meshes(rollout, path, err) : write_points(rollout, path, err);
}
