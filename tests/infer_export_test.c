// SPDX-License-Identifier: Apache-2.0
// What formats of exported rollouts share: which way is up, names of objects, and many of them. Each format has a test
// of its own, infer_export_FORMAT_test.c.
#include "tests/infer_gltf.h"

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
        cmocka_unit_test(test_up),
        cmocka_unit_test(odd_names),
        cmocka_unit_test(many_labels),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
