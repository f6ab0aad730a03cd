// SPDX-License-Identifier: Apache-2.0
// A node, a mesh and a material for each part. Step 0 is the mesh, each later step a morph target, and an animation
// goes from one to the next. The numbers of a file:
//   of each part: positions (count,3) f32, the way from there at steps 1 .. (steps,count,3) f32 | colours (count,4) u16
//   | corners u32; then times (steps+1) f32 | weights (steps+1,steps) f32
#include "base/check.h"
#include "infer/export_parts.h"
#include "infer/glb.h"
#include "infer/rollout.h"

#include <stdlib.h>

enum { POINTS = 0, LINES = 1, TRIANGLES = 4 };

typedef struct Meshes {
    const RolloutFile *rollout;
    ExportParts parts;
    float *row; // (N,3) for work
    json_t *views, *accessors;
    size_t bytes; // of what has been described
} Meshes;

static size_t part_bytes(const RolloutFile *r, const ExportPart *part) {
    return part->count * (12 * (r->steps + 1) + (r->sets[0].colour ? 8 : 0)) +
           4 * (3 * part->triangles + 2 * part->springs);
}

static bool fits(const Meshes *m) {
    const size_t S = m->rollout->steps;
    double bytes = 4.0 * (double)(S + 1) * (double)S;
    for (size_t k = 0; k < m->parts.count; k++) bytes += (double)part_bytes(m->rollout, m->parts.part + k);
    return bytes < (double)UINT32_MAX; // the format stores sizes in 32 bits
}

// Where the vertices are at step 0, or how far they are from there.
static const float *row_of(const Meshes *m, const ExportPart *part, size_t step) {
    const float *first = rollout_positions(m->rollout, 0), *now = rollout_positions(m->rollout, step);
    for (size_t v = 0; v < part->count; v++)
        for (size_t c = 0; c < 3; c++) {
            const size_t i = 3 * (size_t)part->particle[v] + c;
            m->row[3 * v + c] = step ? now[i] - first[i] : first[i];
        }
    return m->row;
}

// ---- the description

// The number of a new accessor, which takes a view of its own.
static json_int_t add(Meshes *m, size_t bytes, int target, json_t *accessor) {
    glb_add_view(m->views, &m->bytes, bytes, target);
    json_array_append_new(m->accessors, accessor);
    return (json_int_t)json_array_size(m->accessors) - 1;
}

static int next_view(const Meshes *m) { return (int)json_array_size(m->views); }

static json_int_t add_vectors(Meshes *m, const ExportPart *part, size_t step) {
    return add(m, 12 * part->count, GLB_ARRAY_BUFFER, glb_vectors(next_view(m), 0, row_of(m, part, step), part->count));
}

// An accessor of corners, or -1 of none: the points themselves.
static json_int_t add_corners(Meshes *m, size_t count) {
    if (!count) return -1;
    return add(m, 4 * count, GLB_INDICES, glb_accessor(next_view(m), 0, GLB_UINT, "SCALAR", count));
}

static json_t *primitive(json_t *attributes, json_t *targets, json_int_t corners, int mode, size_t material) {
    json_t *out = json_pack("{s:O s:i s:I}", "attributes", attributes, "mode", mode, "material", (json_int_t)material);
    if (corners >= 0) json_object_set_new(out, "indices", json_integer(corners));
    if (json_array_size(targets)) json_object_set(out, "targets", targets);
    return out;
}

static json_t *make_mesh(Meshes *m, size_t k) {
    const ExportPart *part = m->parts.part + k;
    const RolloutFile *r = m->rollout;
    json_t *attributes = json_object(), *targets = json_array(), *primitives = json_array();
    json_object_set_new(attributes, "POSITION", json_integer(add_vectors(m, part, 0)));
    for (size_t step = 1; step <= r->steps; step++)
        json_array_append_new(targets, json_pack("{s:I}", "POSITION", add_vectors(m, part, step)));
    if (r->sets[0].colour) {
        json_t *colours = glb_accessor(next_view(m), 0, GLB_USHORT, "VEC4", part->count);
        json_object_set_new(colours, "normalized", json_true());
        json_object_set_new(attributes, "COLOR_0", json_integer(add(m, 8 * part->count, GLB_ARRAY_BUFFER, colours)));
    }
    const json_int_t triangles = add_corners(m, 3 * part->triangles), springs = add_corners(m, 2 * part->springs);
    if (triangles >= 0) json_array_append_new(primitives, primitive(attributes, targets, triangles, TRIANGLES, k));
    else json_array_append_new(primitives, primitive(attributes, targets, -1, POINTS, k));
    if (springs >= 0) json_array_append_new(primitives, primitive(attributes, targets, springs, LINES, k));
    json_decref(attributes);
    json_decref(targets);
    return json_pack("{s:o s:o}", "name", json_text(part->name), "primitives", primitives);
}

// Lines and points have no side that light could fall on.
static json_t *make_material(const ExportPart *part) {
    json_t *out = json_pack("{s:o s:b s:{s:f s:f}}", "name", json_text(part->name), "doubleSided", 1,
                            "pbrMetallicRoughness", "metallicFactor", 0.0, "roughnessFactor", 0.8);
    if (!part->triangles) json_object_set_new(out, "extensions", json_pack("{s:{}}", "KHR_materials_unlit"));
    return out;
}

// Node 0 turns up to y and holds one node per part.
static json_t *make_nodes(const Meshes *m) {
    json_t *out = json_array(), *children = json_array();
    for (size_t k = 0; k < m->parts.count; k++) json_array_append_new(children, json_integer((json_int_t)k + 1));
    json_array_append_new(
        out, json_pack("{s:s s:o s:o}", "name", "up is y", "rotation", glb_up_to_y(m->rollout), "children", children));
    for (size_t k = 0; k < m->parts.count; k++)
        json_array_append_new(out,
                              json_pack("{s:o s:I}", "name", json_text(m->parts.part[k].name), "mesh", (json_int_t)k));
    return out;
}

static json_t *make_animation(Meshes *m) {
    const RolloutFile *r = m->rollout;
    const size_t S = r->steps + 1;
    json_t *times = glb_accessor(next_view(m), 0, GLB_FLOAT, "SCALAR", S), *channels = json_array();
    const float last = (float)(r->time[r->steps] - r->time[0]);
    json_object_set_new(times, "min", json_pack("[f]", 0.0));
    json_object_set_new(times, "max", glb_numbers(&last, 1));
    const json_int_t input = add(m, 4 * S, 0, times);
    const json_int_t output =
        add(m, 4 * S * r->steps, 0, glb_accessor(next_view(m), 0, GLB_FLOAT, "SCALAR", S * r->steps));
    for (size_t k = 0; k < m->parts.count; k++)
        json_array_append_new(channels, json_pack("{s:i s:{s:I s:s}}", "sampler", 0, "target", "node",
                                                  (json_int_t)k + 1, "path", "weights"));
    return json_pack("[{s:s s:[{s:I s:I s:s}] s:o}]", "name", "rollout", "samplers", "input", input, "output", output,
                     "interpolation", "LINEAR", "channels", channels);
}

static json_t *describe(Meshes *m) {
    json_t *meshes = json_array(), *materials = json_array();
    bool unlit = false;
    for (size_t k = 0; k < m->parts.count; k++) {
        json_array_append_new(meshes, make_mesh(m, k));
        json_array_append_new(materials, make_material(m->parts.part + k));
        unlit = unlit || !m->parts.part[k].triangles;
    }
    json_t *animations = m->rollout->steps ? make_animation(m) : NULL;
    json_t *root = json_pack("{s:{s:s s:s} s:i s:[{s:[i]}] s:o s:o s:o s:O s:O s:[{s:I}]}", "asset", "version", "2.0",
                             "generator", "vpd", "scene", 0, "scenes", "nodes", 0, "nodes", make_nodes(m), "meshes",
                             meshes, "materials", materials, "accessors", m->accessors, "bufferViews", m->views,
                             "buffers", "byteLength", (json_int_t)m->bytes);
    if (animations) json_object_set_new(root, "animations", animations);
    if (unlit) json_object_set_new(root, "extensionsUsed", json_pack("[s]", "KHR_materials_unlit"));
    return root;
}

// ---- the numbers, in the order of the description

static bool put_part(FILE *file, const Meshes *m, const ExportPart *part) {
    const RolloutSet *set = &m->rollout->sets[0];
    bool good = true;
    for (size_t step = 0; step <= m->rollout->steps && good; step++)
        good = glb_put(file, row_of(m, part, step), 12 * part->count);
    for (size_t v = 0; set->colour && v < part->count && good; v++) good = glb_put_colour(file, set, part->particle[v]);
    return good && glb_put(file, part->triangle, 12 * part->triangles) &&
           glb_put(file, part->spring, 8 * part->springs);
}

static bool put_animation(FILE *file, const RolloutFile *r) {
    bool good = true;
    for (size_t step = 0; step <= r->steps && good; step++) {
        const float time = (float)(r->time[step] - r->time[0]);
        good = glb_put(file, &time, sizeof time);
    }
    for (size_t i = 0; i < (r->steps + 1) * r->steps && good; i++) {
        const float weight = i / r->steps == i % r->steps + 1; // target 0 is step 1
        good = glb_put(file, &weight, sizeof weight);
    }
    return good;
}

static bool put_numbers(FILE *file, void *context) {
    const Meshes *m = context;
    bool good = true;
    for (size_t k = 0; k < m->parts.count && good; k++) good = put_part(file, m, m->parts.part + k);
    return good && (m->rollout->steps == 0 || put_animation(file, m->rollout));
}

Status export_gltf_meshes(const RolloutFile *rollout, const char *path, Error *err) {
    Meshes m = {.rollout = rollout, .row = malloc(3 * rollout->sets[0].N * sizeof *m.row)};
    Status status = m.row ? export_parts_find(rollout, &m.parts, err)
                          : error_no_memory(err, "an export of %zu particles", rollout->sets[0].N);
    if (status == STATUS_OK && !fits(&m)) status = glb_too_large(rollout, path, err);
    if (status == STATUS_OK) {
        m.views = json_array(), m.accessors = json_array();
        Glb glb = {.rollout = rollout, .path = path, .root = describe(&m), .put = put_numbers, .context = &m};
        glb.bytes = m.bytes;
        status = glb_write(&glb, err);
        json_decref(m.views);
        json_decref(m.accessors);
    }
    export_parts_free(&m.parts);
    free(m.row);
    return status;
}
