// SPDX-License-Identifier: Apache-2.0
// Rollouts exported as glTF: a file is whole, shows one step at a time, and surfaces move by targets.
#include "tests/infer_gltf.h"

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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gltf),
        cmocka_unit_test(gltf_surface),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
