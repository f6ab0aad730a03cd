// SPDX-License-Identifier: Apache-2.0
// Shadows go with the bodies that edits move, copy, remove and add, and nothing else of the floor changes.
#include "edit/edit.h"
#include "tests/shadow_world.h"

#include <stdlib.h>

static World world;
static Device *cpu;

// A rollout in which the box goes from FROM to TO.
static RolloutFile rollout_of(World *w) {
    static float radius[N];
    static uint8_t colour[3 * N], moving[N];
    static uint16_t labels[N];
    static double time[2] = {0, 0.1};
    double length = sqrt(WAY[0] * WAY[0] + WAY[1] * WAY[1] + WAY[2] * WAY[2]);
    for (size_t i = 0; i < N; i++) radius[i] = 0.02f, moving[i] = labels[i] = i >= FLOOR;
    RolloutFile r = {.set_count = 1, .steps = 1, .time_step = 0.1, .time = time, .positions = w->moved}, out;
    for (int c = 0; c < 3; c++) r.light[c] = WAY[c] / length;
    r.sets[0] = (RolloutSet){.N = N,
                             .D = D,
                             .positions = w->x,
                             .features = w->feature,
                             .colour = colour,
                             .labels = labels,
                             .radius = radius,
                             .before = w->x,
                             .body = w->body,
                             .moving = moving};
    Error err = {0};
    assert_status_ok(rollout_file_copy(&r, &out, &err), err);
    return out;
}

static void edit(RolloutFile *file, size_t step, const char *text) {
    Error err = {0};
    EditReport report;
    EditList *list = edit_list_create();
    assert_status_ok(edit_list_read(list, text, "test", ".", &err), err);
    assert_status_ok(edit_apply(list, cpu, NULL, step, file, &report, &err), err);
    assert_null(file->sets[0].shown);
    edit_list_free(list);
}

static bool is_rim(const double x[3], const double box[3]) {
    return is_shaded(x, box, 0.08) && !is_shaded(x, box, -0.05);
}

// The floor is dark where one of `boxes` boxes takes the light, and as it was painted elsewhere; at the rim of the
// first shadow both may be. `first` is the floor's first particle.
static void check(const RolloutFile *file, size_t first, const double (*box)[3], int boxes) {
    size_t dark = 0, light = 0;
    for (size_t i = 0; i < FLOOR; i++) {
        double x[3], f = (double)file->sets[0].features[D * (first + i)];
        bool inside = false, outside = true;
        if (is_rim(floor_place(i, x), FROM)) continue;
        for (int k = 0; k < boxes; k++) {
            inside = inside || is_shaded(x, box[k], -0.05);
            outside = outside && !is_shaded(x, box[k], 0.08);
        }
        dark += inside, light += outside;
        if (inside) assert_close(f, 0.6 * DARK, 0.08, 0);
        if (outside) assert_close(f, 0.6, 0.1, 0);
    }
    assert_true(light > 2000 && dark >= 20 * (size_t)boxes);
}

static void go_with_edits(void **state) {
    (void)state;
    const double aside[3] = {FROM[0] + 0.5, FROM[1] - 0.4, FROM[2]};
    RolloutFile file = rollout_of(&world);
    check(&file, 0, &FROM, 1);
    edit(&file, 0, "move: {label: 1, by: [0.5, -0.4, 0]}");
    check(&file, 0, &aside, 1);
    edit(&file, 0, "move: {label: 1, by: [-0.5, 0.4, 0]}"); // and back
    check(&file, 0, &FROM, 1);
    edit(&file, 0, "copy: {label: 1, by: [0.5, -0.4, 0]}");
    check(&file, 0, (const double[][3]){{FROM[0], FROM[1], FROM[2]}, {aside[0], aside[1], aside[2]}}, 2);
    edit(&file, 0, "remove: {label: 1}");
    check(&file, 0, &aside, 1);
    edit(&file, 0, "remove: {moving: true}");
    check(&file, 0, NULL, 0);
    rollout_file_free(&file);
}

// A step of a rollout has the shadows of its own places.
static void at_a_later_step(void **state) {
    (void)state;
    RolloutFile file = rollout_of(&world);
    edit(&file, 1, "label: {label: 1, as: box}");
    check(&file, 0, &TO, 1);
    rollout_file_free(&file);
}

// A box of another file casts one, and a floor of another file keeps its own.
static void from_another_file(void **state) {
    (void)state;
    Error err = {0};
    EditReport report;
    RolloutFile file = rollout_of(&world), other = rollout_of(&world), same = rollout_of(&world);
    edit(&other, 0, "keep: {label: 1}");
    other.light[0] = other.light[1] = other.light[2] = 0; // only the edited scene's counts
    EditAppend aside = {.by = {0.5, -0.4, 0}}, far = {.by = {0, 5, 0}};
    assert_status_ok(edit_append(&file, &other, &aside, cpu, &report, &err), err);
    check(&file, 0, (const double[][3]){{FROM[0], FROM[1], FROM[2]}, {FROM[0] + 0.5, FROM[1] - 0.4, FROM[2]}}, 2);
    rollout_file_free(&file);
    file = rollout_of(&world);
    assert_status_ok(edit_append(&file, &same, &far, cpu, &report, &err), err);
    check(&file, 0, &FROM, 1);
    check(&file, N, &FROM, 1);
    rollout_file_free(&file);
    rollout_file_free(&other);
    rollout_file_free(&same);
}

// With all of the scene goes its light.
static void all_at_once(void **state) {
    (void)state;
    RolloutFile file = rollout_of(&world);
    double way[3], length = sqrt(WAY[0] * WAY[0] + WAY[1] * WAY[1] + WAY[2] * WAY[2]);
    edit(&file, 0, "move: {all: true, by: [1, 10, 0]}");
    edit(&file, 0, "scale: {all: true, factor: 2}");
    edit(&file, 0, "rotate: {all: true, axis: [0, 0, 1], angle: 90}");
    assert_memory_equal(file.sets[0].features, world.feature, D * N * sizeof *world.feature);
    memcpy(way, (double[]){-WAY[1] / length, WAY[0] / length, WAY[2] / length}, sizeof way);
    for (int c = 0; c < 3; c++) assert_close(file.light[c], way[c], 1e-9, 0);
    edit(&file, 0, "remove: {moving: true}"); // the shadow is known where it is now
    check(&file, 0, NULL, 0);
    rollout_file_free(&file);
}

// Edits that move nothing leave every bit; without a light, all do.
static void otherwise_nothing_changes(void **state) {
    (void)state;
    RolloutFile file = rollout_of(&world);
    edit(&file, 0, "label: {label: 1, as: box}");
    assert_memory_equal(file.sets[0].features, world.feature, D * N * sizeof *world.feature);
    memset(file.light, 0, sizeof file.light);
    edit(&file, 0, "remove: {moving: true}");
    assert_memory_equal(file.sets[0].features, world.feature, D * FLOOR * sizeof *world.feature);
    rollout_file_free(&file);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(go_with_edits), cmocka_unit_test(at_a_later_step),
                                       cmocka_unit_test(from_another_file), cmocka_unit_test(all_at_once),
                                       cmocka_unit_test(otherwise_nothing_changes)};
    make(&world, 0, DARK);
    cpu = world.device;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    forget(&world);
    return failed;
}
