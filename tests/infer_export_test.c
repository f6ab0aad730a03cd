// SPDX-License-Identifier: Apache-2.0
// Exported rollouts, read back by readers of the tests' own: PLY and npz give the numbers that went in, a glTF file is
// whole and shows one step at a time, a USD file has every sample.
#include "base/file.h"
#include "base/json.h"
#include "infer/export.h"
#include "infer/rollout.h"
#include "tests/test.h"

#include <zlib.h>

enum { N = 5, STEPS = 3, D = 2 };

static char folder[64];

static const char *place(const char *name) {
    static char path[4][128];
    static int next;
    char *out = path[next++ % 4];
    snprintf(out, sizeof path[0], "%s/%s", folder, name);
    return out;
}

static int make_folder(void **state) {
    (void)state;
    test_make_folder(folder);
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    test_remove_folder(folder);
    return 0;
}

static void *memory(size_t bytes) {
    void *out = malloc(bytes);
    assert_non_null(out);
    return out;
}

// `all`: with everything that a file may have; else positions alone.
static RolloutFile make_rollout(size_t steps, bool all) {
    RolloutFile r = {
        .set_count = 1, .steps = steps, .time_step = 0.25, .background = {0.25f, 0.5f, 1}, .episode = "a \"b\""};
    RolloutSet *set = &r.sets[0];
    set->N = N;
    set->positions = memory(3 * N * sizeof(float));
    r.positions = memory(3 * N * (steps + 1) * sizeof(float));
    r.time = memory((steps + 1) * sizeof(double));
    for (size_t i = 0; i < 3 * N; i++) set->positions[i] = (float)i / 7 - 1;
    for (size_t i = 0; i < 3 * N * steps; i++) r.positions[i] = (float)(i * i) / 13 - 3;
    for (size_t j = 0; j <= steps; j++) r.time[j] = 2 + 0.25 * (double)j;
    if (!all) return r;
    set->D = D;
    set->features = memory(N * D * sizeof(float));
    r.features = memory(steps * N * D * sizeof(float));
    set->colour = memory(3 * N);
    set->radius = memory(N * sizeof(float));
    set->labels = memory(N * sizeof *set->labels);
    set->moving = memory(N);
    for (size_t i = 0; i < N * D; i++) set->features[i] = (float)i;
    for (size_t i = 0; i < steps * N * D; i++) r.features[i] = -(float)i;
    for (size_t i = 0; i < 3 * N; i++) set->colour[i] = (uint8_t)(17 * i);
    for (size_t i = 0; i < N; i++)
        set->radius[i] = 0.5f + (float)i, set->labels[i] = (uint16_t)(300 * i), set->moving[i] = i & 1;
    set->radius[N - 1] = 0; // not drawn
    return r;
}

// Particles 0, 1 and 2 are a flag; 3 and 4 are a chain. The flag's edge 0-1 is a spring too.
static RolloutFile make_simulated(size_t steps) {
    RolloutFile r = make_rollout(steps, true);
    RolloutSurface *s = &r.surface;
    memcpy(r.sets[0].labels, (uint16_t[N]){1, 1, 1, 2, 2}, N * sizeof(uint16_t));
    r.label_names = strdup("background\nflag\n2 links\n");
    *s = (RolloutSurface){.triangles = 1, .springs = 2, .frames = steps + 1};
    s->triangle = memory(3 * sizeof *s->triangle);
    s->spring = memory(4 * sizeof *s->spring);
    s->touching = memory((steps + 1) * N);
    memcpy(s->triangle, (int32_t[]){0, 2, 1}, 3 * sizeof *s->triangle);
    memcpy(s->spring, (int32_t[]){0, 1, 4, 3}, 4 * sizeof *s->spring);
    memset(s->touching, 1, (steps + 1) * N);
    return r;
}

static char *read_all(const char *path, size_t *length) {
    Error err = {0};
    static char *text; // not on the stack: gcc takes the result for a pointer to it
    assert_status_ok(file_read_all(path, 1 << 24, &text, length, &err), err);
    return text;
}

static uint64_t number(const char *at, int bytes) {
    uint64_t out = 0;
    for (int i = bytes; i-- > 0;) out = out << 8 | (uint8_t)at[i];
    return out;
}

// ---- PLY

static void ply(void **state) {
    (void)state;
    Error err = {0};
    for (int all = 0; all < 2; all++) {
        RolloutFile r = make_rollout(STEPS, all);
        char out[32], name[64];
        snprintf(out, sizeof out, "deep/ply%d", all);
        assert_status_ok(export_ply(&r, place(out), &err), err);
        for (size_t step = 0; step <= STEPS; step++) {
            size_t length, row = all ? 21 : 12;
            snprintf(name, sizeof name, "%s/step_%04zu.ply", out, step);
            char *text = read_all(place(name), &length), *body = strstr(text, "end_header\n");
            assert_non_null(body);
            assert_memory_equal(text, "ply\nformat binary_little_endian 1.0\n", 36);
            assert_non_null(strstr(text, "element vertex 5\nproperty float x\nproperty float y\nproperty float z\n"));
            assert_int_equal(strstr(text,
                                    "property uchar red\nproperty uchar green\nproperty uchar blue\nproperty ushort "
                                    "label\nproperty float radius\nend_header") != NULL,
                             all);
            body += strlen("end_header\n");
            assert_int_equal(length - (size_t)(body - text), N * row);
            for (size_t i = 0; i < N; i++) {
                const char *at = body + i * row;
                assert_memory_equal(at, rollout_positions(&r, step) + 3 * i, 12);
                if (!all) continue;
                assert_memory_equal(at + 12, r.sets[0].colour + 3 * i, 3);
                assert_int_equal(number(at + 15, 2), 300 * i);
                assert_memory_equal(at + 17, r.sets[0].radius + i, 4);
            }
            free(text);
        }
        rollout_file_free(&r);
    }
    RolloutFile r = make_rollout(0, true);
    assert_status_error(export_ply(&r, "/proc/nothing", &err), STATUS_BAD_INPUT, err, "/proc/nothing");
    rollout_file_free(&r);
}

static void ply_surface(void **state) {
    (void)state;
    Error err = {0};
    size_t length;
    RolloutFile r = make_simulated(STEPS);
    assert_status_ok(export_ply(&r, place("surface"), &err), err);
    char *text = read_all(place("surface/step_0002.ply"), &length), *body = strstr(text, "end_header\n");
    assert_non_null(strstr(text, "property float radius\nelement face 1\nproperty list uchar int vertex_indices\n"
                                 "element edge 2\nproperty int vertex1\nproperty int vertex2\nend_header\n"));
    body += strlen("end_header\n") + (size_t)N * 21;
    assert_int_equal(length - (size_t)(body - text), 13 + 16);
    assert_memory_equal(body, ((uint8_t[]){3, 0, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0}), 13);
    assert_memory_equal(body + 13, r.surface.spring, 16);
    free(text);
    rollout_file_free(&r);
}

// ---- npz

// The data of an entry, by the archive's list at its end; its header is compared.
static const char *entry(const char *file, size_t length, const char *name, const char *header, size_t bytes) {
    const char *end = file + length - 22, *end64 = file + number(end - 12, 8);
    assert_int_equal(number(end, 4), 0x06054b50);
    assert_int_equal(number(end64, 4), 0x06064b50);
    const char *at = file + number(end64 + 48, 8);
    for (uint64_t i = 0; i < number(end64 + 32, 8); i++) {
        size_t name_bytes = number(at + 28, 2), extra = number(at + 30, 2);
        assert_int_equal(number(at, 4), 0x02014b50);
        if (strlen(name) == name_bytes && !strncmp(at + 46, name, name_bytes)) {
            const char *wide = at + 46 + name_bytes + 4, *local = file + number(wide + 16, 8);
            size_t size = number(wide, 8);
            const char *data = local + 30 + number(local + 26, 2) + number(local + 28, 2);
            assert_int_equal(number(local, 4), 0x04034b50);
            assert_int_equal(crc32(0, (const Bytef *)data, (uInt)size), number(at + 16, 4));
            size_t header_bytes = 10 + number(data + 8, 2);
            assert_int_equal(header_bytes % 64, 0);
            assert_int_equal(size, header_bytes + bytes);
            if (strncmp(data + 10, header, strlen(header)) != 0) fail_msg("%s: %.100s", name, data + 10);
            return data + header_bytes;
        }
        at += 46 + name_bytes + extra;
    }
    return NULL;
}

static void npz(void **state) {
    (void)state;
    Error err = {0};
    size_t length;
    RolloutFile r = make_rollout(STEPS, true);
    assert_status_ok(export_npz(&r, place("a.npz"), &err), err);
    char *file = read_all(place("a.npz"), &length);
    const char *x = entry(file, length, "positions.npy", "{'descr': '<f4', 'fortran_order': False, 'shape': (4,5,3), }",
                          4 * N * 12);
    for (size_t step = 0; step <= STEPS; step++)
        assert_memory_equal(x + step * N * 12, rollout_positions(&r, step), N * 12);
    const char *f = entry(file, length, "features.npy", "{'descr': '<f4', 'fortran_order': False, 'shape': (4,5,2), }",
                          4 * N * D * 4);
    assert_memory_equal(f, r.sets[0].features, N * D * 4);
    assert_memory_equal(f + N * D * 4, r.features, 3 * N * D * 4);
    const char *labels =
        entry(file, length, "labels.npy", "{'descr': '<u2', 'fortran_order': False, 'shape': (5,), }", 10);
    assert_memory_equal(labels, r.sets[0].labels, 10);
    assert_non_null(entry(file, length, "moving.npy", "{'descr': '|b1'", N));
    assert_memory_equal(entry(file, length, "time.npy", "{'descr': '<f8'", 32), r.time, 32);
    assert_null(entry(file, length, "bounds.npy", "", 0));
    free(file);
    rollout_file_free(&r);

    r = make_rollout(0, false);
    assert_status_ok(export_npz(&r, place("b.npz"), &err), err);
    file = read_all(place("b.npz"), &length);
    x = entry(file, length, "positions.npy", "{'descr': '<f4', 'fortran_order': False, 'shape': (1,5,3), }", N * 12);
    assert_memory_equal(x, r.sets[0].positions, N * 12);
    assert_null(entry(file, length, "features.npy", "", 0));
    free(file);
    assert_status_error(export_npz(&r, "/dev/null/a.npz", &err), STATUS_BAD_INPUT, err, "/dev/null/a.npz");
    rollout_file_free(&r);
}

static void npz_surface(void **state) {
    (void)state;
    Error err = {0};
    size_t length;
    RolloutFile r = make_simulated(STEPS);
    assert_status_ok(export_npz(&r, place("s.npz"), &err), err);
    char *file = read_all(place("s.npz"), &length);
    assert_memory_equal(
        entry(file, length, "triangles.npy", "{'descr': '<i4', 'fortran_order': False, 'shape': (1,3), }", 12),
        r.surface.triangle, 12);
    assert_memory_equal(
        entry(file, length, "springs.npy", "{'descr': '<i4', 'fortran_order': False, 'shape': (2,2), }", 16),
        r.surface.spring, 16);
    assert_non_null(
        entry(file, length, "touching.npy", "{'descr': '|u1', 'fortran_order': False, 'shape': (4,5), }", 4 * N));
    free(file);
    rollout_file_free(&r);
}

// ---- glTF

typedef struct Gltf {
    char *file;
    const char *binary;
    size_t binary_bytes;
    json_t *root;
} Gltf;

static json_int_t integer(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    assert_true(json_is_integer(value));
    return json_integer_value(value);
}

static const json_t *item(const Gltf *g, const char *list, json_int_t i) {
    const json_t *out = json_array_get(json_object_get(g->root, list), (size_t)i);
    assert_non_null(out);
    return out;
}

// Where an accessor's numbers are; everything lies within its view, and that within the buffer.
static const char *numbers(const Gltf *g, json_int_t accessor, json_int_t component, const char *type, size_t count) {
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

static Gltf open_gltf(const char *path) {
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

static void close_gltf(Gltf *g) {
    json_decref(g->root);
    free(g->file);
}

static void check_meshes(const Gltf *g, const RolloutFile *r, bool colours) {
    for (size_t step = 0; step <= r->steps; step++) {
        const json_t *node = item(g, "nodes", (json_int_t)step + 1);
        const json_t *primitives = json_object_get(item(g, "meshes", integer(node, "mesh")), "primitives");
        const json_t *points = json_array_get(primitives, 0), *attributes = json_object_get(points, "attributes");
        assert_int_equal(integer(points, "mode"), 0);
        const char *x = numbers(g, integer(attributes, "POSITION"), 5126, "VEC3", N);
        assert_memory_equal(x, rollout_positions(r, step), N * 12);
        const json_t *low = json_object_get(item(g, "accessors", integer(attributes, "POSITION")), "min");
        for (size_t c = 0; c < 3; c++) // all of them grow
            assert_close(json_real_value(json_array_get(low, c)), rollout_positions(r, step)[c], 0, 0);
        if (!colours) {
            assert_null(json_object_get(attributes, "COLOR_0"));
            continue;
        }
        const char *rgba = numbers(g, integer(attributes, "COLOR_0"), 5123, "VEC4", N);
        for (size_t i = 0; i < N; i++)
            assert_int_equal(number(rgba + 8 * i + 6, 2), r->sets[0].radius[i] > 0 ? 65535 : 0);
        assert_string_equal(json_string_value(json_object_get(item(g, "materials", 0), "alphaMode")), "MASK");
        // 17/255 in sRGB is 0.0056 of the light
        assert_close((double)number(rgba + 2, 2) / 65535, 0.0056, 1e-4, 0);
        assert_close((double)number(rgba + 8 * 4 + 4, 2) / 65535, 0.8550, 1e-3, 0); // 238
    }
}

// One level camera; this axis of the world is up, or down (sign -1).
static void look_level(RolloutFile *r, int axis, int sign) {
    r->V = r->camera_frames = 1;
    r->world_from_camera = memory(16 * sizeof(double));
    memset(r->world_from_camera, 0, 16 * sizeof(double));
    r->world_from_camera[4 * ((axis + 1) % 3)] = 1;         // x: level
    r->world_from_camera[4 * axis + 1] = -sign;             // y: down
    r->world_from_camera[4 * ((axis + 2) % 3) + 2] = -sign; // z: ahead
    r->world_from_camera[15] = 1;
}

// The file's quaternion q turns up to y: v + 2 q x (q x v + w v).
static void test_up(void **state) {
    (void)state;
    Error err = {0};
    for (int axis = 0; axis < 3; axis++)
        for (int sign = -1; sign <= 1; sign += 2) {
            RolloutFile r = make_rollout(0, false);
            look_level(&r, axis, sign);
            assert_status_ok(export_gltf(&r, place("a.glb"), &err), err);
            assert_status_ok(export_usda(&r, place("a.usda"), &err), err);
            Gltf g = open_gltf(place("a.glb"));
            double q[4], v[3] = {0}, t[3];
            for (size_t i = 0; i < 4; i++)
                q[i] = json_number_value(json_array_get(json_object_get(item(&g, "nodes", 0), "rotation"), i));
            v[axis] = sign;
            for (int c = 0; c < 3; c++)
                t[c] = q[(c + 1) % 3] * v[(c + 2) % 3] - q[(c + 2) % 3] * v[(c + 1) % 3] + q[3] * v[c];
            for (int c = 0; c < 3; c++)
                assert_close(v[c] + 2 * (q[(c + 1) % 3] * t[(c + 2) % 3] - q[(c + 2) % 3] * t[(c + 1) % 3]), c == 1,
                             1e-9, 0);
            size_t length;
            char *text = read_all(place("a.usda"), &length);
            assert_non_null(strstr(text, axis == 1 && sign > 0 ? "upAxis = \"Y\"" : "upAxis = \"Z\""));
            free(text);
            close_gltf(&g);
            rollout_file_free(&r);
        }
    // However a scene of the simulator is looked at, its up is z.
    RolloutFile r = make_rollout(0, false);
    look_level(&r, 1, 1);
    r.surface.frames = 1;
    int sign;
    assert_int_equal(export_up(&r, &sign), 2);
    rollout_file_free(&r);
}

// The scale that an animation by steps gives a node at a time.
static float scale_at(const Gltf *g, size_t step, double time) {
    const json_t *animation = item(g, "animations", 0);
    const json_t *sampler = json_array_get(json_object_get(animation, "samplers"), step);
    const json_t *channel = json_array_get(json_object_get(animation, "channels"), step);
    float keys[3], scale[9];
    assert_int_equal(integer(json_object_get(channel, "target"), "node"), step + 1);
    assert_string_equal(json_string_value(json_object_get(sampler, "interpolation")), "STEP");
    memcpy(keys, numbers(g, integer(sampler, "input"), 5126, "SCALAR", 3), sizeof keys);
    memcpy(scale, numbers(g, integer(sampler, "output"), 5126, "VEC3", 3), sizeof scale);
    assert_true(keys[0] >= 0 && keys[0] < keys[1] && keys[1] < keys[2]);
    return scale[3 * (time >= keys[2] ? 2 : time >= keys[1] ? 1 : 0)];
}

static void gltf(void **state) {
    (void)state;
    Error err = {0};
    for (int all = 0; all < 2; all++) {
        for (size_t steps = 0; steps <= STEPS; steps++) {
            RolloutFile r = make_rollout(steps, all);
            assert_status_ok(export_gltf(&r, place("a.glb"), &err), err);
            Gltf g = open_gltf(place("a.glb"));
            check_meshes(&g, &r, all);
            assert_int_equal(json_array_size(json_object_get(g.root, "nodes")), steps + 2);
            assert_int_equal(json_object_get(g.root, "animations") != NULL, steps > 0);
            for (size_t now = 0; now <= steps && steps > 0; now++)
                for (size_t node = 0; node <= steps; node++)
                    assert_true(scale_at(&g, node, 0.25 * (double)now + 0.1) == (float)(node == now));
            close_gltf(&g);
            rollout_file_free(&r);
        }
    }
    RolloutFile r = make_rollout(1, true);
    assert_status_error(export_gltf(&r, "/dev/null/a.glb", &err), STATUS_BAD_INPUT, err, "/dev/null/a.glb");
    r.sets[0].N = (size_t)1 << 29; // says so before it looks at them
    assert_status_error(export_gltf(&r, place("b.glb"), &err), STATUS_BAD_INPUT, err,
                        "exceed the 4 GiB limit of glTF files");
    r.sets[0].N = SIZE_MAX / 4;
    assert_status_error(export_gltf(&r, place("b.glb"), &err), STATUS_BAD_INPUT, err,
                        "exceed the 4 GiB limit of glTF files");
    assert_false(file_exists(place("b.glb")));
    r.sets[0].N = N;
    rollout_file_free(&r);
}

static const json_t *primitive_of(const Gltf *g, json_int_t mesh, size_t k, const char *name) {
    const json_t *out = json_array_get(json_object_get(item(g, "meshes", mesh), "primitives"), k);
    assert_string_equal(json_string_value(json_object_get(item(g, "meshes", mesh), "name")), name);
    assert_string_equal(json_string_value(json_object_get(item(g, "nodes", mesh + 1), "name")), name);
    assert_int_equal(integer(item(g, "nodes", mesh + 1), "mesh"), mesh);
    assert_non_null(out);
    return out;
}

// A mesh and its targets are where the particles from `first` on are.
static void check_targets(const Gltf *g, const json_t *primitive, const RolloutFile *r, size_t first, size_t count) {
    const json_t *targets = json_object_get(primitive, "targets");
    float x[3 * N], way[3 * N];
    assert_int_equal(json_array_size(targets), r->steps);
    memcpy(x, numbers(g, integer(json_object_get(primitive, "attributes"), "POSITION"), 5126, "VEC3", count),
           12 * count);
    assert_memory_equal(x, rollout_positions(r, 0) + 3 * first, 12 * count);
    for (size_t step = 1; step <= r->steps; step++) {
        const json_int_t accessor = integer(json_array_get(targets, step - 1), "POSITION");
        memcpy(way, numbers(g, accessor, 5126, "VEC3", count), 12 * count);
        assert_non_null(json_object_get(item(g, "accessors", accessor), "min"));
        for (size_t i = 0; i < 3 * count; i++)
            assert_close(x[i] + way[i], rollout_positions(r, step)[3 * first + i], 1e-6, 1e-6); // float
    }
}

static void gltf_surface(void **state) {
    (void)state;
    Error err = {0};
    for (size_t steps = 0; steps <= STEPS; steps++) {
        RolloutFile r = make_simulated(steps);
        uint32_t corner[3];
        assert_status_ok(export_gltf(&r, place("s.glb"), &err), err);
        Gltf g = open_gltf(place("s.glb"));
        assert_int_equal(json_array_size(json_object_get(g.root, "nodes")), 3);
        const json_t *flag = primitive_of(&g, 0, 0, "flag"), *points = primitive_of(&g, 1, 0, "2 links"),
                     *springs = primitive_of(&g, 1, 1, "2 links");
        assert_int_equal(json_array_size(json_object_get(item(&g, "meshes", 0), "primitives")), 1);
        assert_int_equal(integer(flag, "mode"), 4);
        assert_int_equal(integer(points, "mode"), 0);
        assert_int_equal(integer(springs, "mode"), 1);
        memcpy(corner, numbers(&g, integer(flag, "indices"), 5125, "SCALAR", 3), 12);
        assert_memory_equal(corner, ((uint32_t[]){0, 2, 1}), 12);
        memcpy(corner, numbers(&g, integer(springs, "indices"), 5125, "SCALAR", 2), 8);
        assert_memory_equal(corner, ((uint32_t[]){1, 0}), 8); // of the chain's own vertices
        check_targets(&g, flag, &r, 0, 3);
        check_targets(&g, points, &r, 3, 2);
        check_targets(&g, springs, &r, 3, 2);
        assert_int_equal(json_object_get(g.root, "animations") != NULL, steps > 0);
        if (steps) {
            const json_t *animation = item(&g, "animations", 0), *channels = json_object_get(animation, "channels");
            const json_t *sampler = json_array_get(json_object_get(animation, "samplers"), 0);
            float weight[(STEPS + 1) * STEPS], time[STEPS + 1];
            memcpy(time, numbers(&g, integer(sampler, "input"), 5126, "SCALAR", steps + 1), 4 * (steps + 1));
            memcpy(weight, numbers(&g, integer(sampler, "output"), 5126, "SCALAR", (steps + 1) * steps),
                   4 * (steps + 1) * steps);
            assert_int_equal(json_array_size(channels), 2);
            for (size_t k = 0; k <= steps; k++) {
                assert_close(time[k], 0.25 * (double)k, 1e-6, 0);
                for (size_t t = 0; t < steps; t++) assert_true(weight[k * steps + t] == (float)(t + 1 == k));
            }
        }
        close_gltf(&g);
        rollout_file_free(&r);
    }
    RolloutFile r = make_simulated(0);
    r.steps = (size_t)1 << 16; // says so before it looks at them
    assert_status_error(export_gltf(&r, place("b.glb"), &err), STATUS_BAD_INPUT, err,
                        "exceed the 4 GiB limit of glTF files");
    r.steps = 0;
    rollout_file_free(&r);
}

// ---- USD

static size_t count(const char *text, const char *end, char what) {
    size_t out = 0;
    for (; text < end; text++) out += *text == what;
    return out;
}

// A long name ends with a whole letter, and one that is no UTF-8 is still a name.
static void odd_names(void **state) {
    (void)state;
    Error err = {0};
    RolloutFile r = make_simulated(1);
    free(r.label_names);
    r.label_names = memory(200);
    snprintf(r.label_names, 200, "background\n%0126d\xC3\xA4\nb\xE4lle\n", 7);
    assert_status_ok(export_npz(&r, place("a.npz"), &err), err);
    assert_status_ok(export_usda(&r, place("a.usda"), &err), err);
    assert_status_ok(export_gltf(&r, place("a.glb"), &err), err);
    char longest[128];
    snprintf(longest, sizeof longest, "%0126d", 7);
    Gltf g = open_gltf(place("a.glb"));
    primitive_of(&g, 0, 0, longest);
    primitive_of(&g, 1, 0, "b?lle");
    close_gltf(&g);
    rollout_file_free(&r);
}

static void usda(void **state) {
    (void)state;
    Error err = {0};
    for (int all = 0; all < 2; all++) {
        RolloutFile r = make_rollout(STEPS, all);
        size_t length;
        assert_status_ok(export_usda(&r, place("a.usda"), &err), err);
        char *text = read_all(place("a.usda"), &length), *end = text + length;
        assert_memory_equal(text, "#usda 1.0\n", 10);
        for (const char *pair = "(){}[]"; *pair; pair += 2)
            assert_int_equal(count(text, end, pair[0]), count(text, end, pair[1]));
        assert_non_null(strstr(text, "endTimeCode = 3\n"));
        assert_non_null(strstr(text, "timeCodesPerSecond = 4\n"));
        char *at = strstr(text, "point3f[] points.timeSamples = {");
        assert_non_null(at);
        for (size_t step = 0; step <= STEPS; step++) {
            char key[16];
            snprintf(key, sizeof key, "        %zu: [", step);
            at = strstr(at, key);
            assert_non_null(at);
            at += strlen(key);
            for (size_t i = 0; i < 3 * N; i++) {
                at += strspn(at, "(), ");
                assert_true(strtof(at, &at) == rollout_positions(&r, step)[i]);
            }
            assert_int_equal(strspn(at, ")],"), 3);
        }
        assert_int_equal(strstr(text, "int[] primvars:label = [0, 300, 600, 900, 1200] (") != NULL, all);
        assert_int_equal(strstr(text, "color3f[] primvars:displayColor = [(0, 0.0056") != NULL, all);
        assert_int_equal(strstr(text, "float[] widths = [0.25, 0.75, ") != NULL, all);
        free(text);
        rollout_file_free(&r);
    }
    RolloutFile r = make_rollout(0, true);
    assert_status_error(export_usda(&r, "/dev/null/a.usda", &err), STATUS_BAD_INPUT, err, "/dev/null/a.usda");
    rollout_file_free(&r);
}

static void usda_surface(void **state) {
    (void)state;
    Error err = {0};
    size_t length;
    RolloutFile r = make_simulated(STEPS);
    memcpy(r.sets[0].colour, (uint8_t[]){255, 0, 0, 255, 0, 0, 255, 0, 0}, 9); // the flag's; the chain has two
    assert_status_ok(export_usda(&r, place("s.usda"), &err), err);
    char *text = read_all(place("s.usda"), &length), *end = text + length;
    for (const char *pair = "(){}[]"; *pair; pair += 2)
        assert_int_equal(count(text, end, pair[0]), count(text, end, pair[1]));
    assert_non_null(strstr(text, "defaultPrim = \"scene\""));
    char *flag = strstr(text, "def Mesh \"flag\""), *chain = strstr(text, "def Xform \"_2_links\""),
         *springs = strstr(text, "def BasisCurves \"_2_links_springs\"");
    assert_true(flag && chain && springs && flag < chain && chain < springs);
    assert_non_null(strstr(flag, "rel material:binding = </scene/materials/flag>"));
    assert_non_null(strstr(flag, "int[] faceVertexIndices = [0, 2, 1]"));
    assert_non_null(strstr(springs, "int[] curveVertexCounts = [2]"));
    assert_non_null(strstr(springs, "int[] primvars:label = [2, 2]"));
    assert_non_null(strstr(springs, "def Material \"flag\""));
    assert_null(strstr(springs, "def Material \"_2_links\""));
    char *at = strstr(springs, "point3f[] points.timeSamples"), *of = at ? strstr(at, " 3: [(") : NULL;
    assert_non_null(of);
    of += strlen(" 3: [(");
    for (int c = 0; c < 3; c++, of += 2) // from particle 4 on
        assert_true(strtof(of, &of) == rollout_positions(&r, 3)[12 + c]);
    free(text);
    rollout_file_free(&r);
}

// Each particle is an object, all have the same name, and a spring leads from each to the one before: an end of it
// belongs to another object.
static void many_labels(void **state) {
    (void)state;
    enum { MANY = 5000 };
    Error err = {0};
    size_t length;
    RolloutFile r = {.set_count = 1, .episode = "many"};
    RolloutSet *set = &r.sets[0];
    set->N = MANY;
    set->positions = memory(3 * MANY * sizeof(float));
    set->labels = memory(MANY * sizeof *set->labels);
    r.time = memory(sizeof(double));
    r.time[0] = 0;
    r.label_names = memory(2 * MANY + 1);
    r.surface = (RolloutSurface){.springs = MANY - 1, .spring = memory((MANY - 1) * 2 * sizeof *r.surface.spring)};
    for (int i = 0; i < MANY; i++) {
        set->labels[i] = (uint16_t)i;
        memcpy(r.label_names + 2 * i, "a\n", 3);
        for (int c = 0; c < 3; c++) set->positions[3 * i + c] = (float)i;
        if (i) memcpy(r.surface.spring + 2 * (i - 1), (int32_t[]){i, i - 1}, 2 * sizeof(int32_t));
    }
    assert_status_ok(export_gltf(&r, place("m.glb"), &err), err);
    Gltf g = open_gltf(place("m.glb"));
    assert_int_equal(json_array_size(json_object_get(g.root, "meshes")), MANY);
    const json_t *points = primitive_of(&g, MANY - 1, 0, "a"), *spring = primitive_of(&g, MANY - 1, 1, "a");
    const char *x =
        numbers(&g, integer(json_object_get(points, "attributes"), "POSITION"), 5126, "VEC3", 2); // its end too
    assert_memory_equal(x, set->positions + 3 * (MANY - 2), 24);
    assert_memory_equal(numbers(&g, integer(spring, "indices"), 5125, "SCALAR", 2), ((uint32_t[]){1, 0}), 8);
    close_gltf(&g);
    assert_status_ok(export_usda(&r, place("m.usda"), &err), err);
    char *text = read_all(place("m.usda"), &length);
    assert_non_null(strstr(text, "def Xform \"a\"\n"));
    assert_non_null(strstr(text, "def Xform \"a_4999\"\n"));
    free(text);
    rollout_file_free(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ply),         cmocka_unit_test(npz),          cmocka_unit_test(gltf),
        cmocka_unit_test(test_up),     cmocka_unit_test(usda),         cmocka_unit_test(ply_surface),
        cmocka_unit_test(npz_surface), cmocka_unit_test(gltf_surface), cmocka_unit_test(usda_surface),
        cmocka_unit_test(odd_names),   cmocka_unit_test(many_labels)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
