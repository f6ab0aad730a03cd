// SPDX-License-Identifier: Apache-2.0
// Edits through libvpd.so give what edit/ gives on the file of the same rollout (expected_edit.h5, by make_world.c),
// bit for bit, also on frames in memory; labels, appended scenes, and what is said about wrong edits.
#include "tests/api/world.h"

static const char list[] = "version: 1\n"
                           "edits:\n"
                           "  - move: {label: object 0, by: [0.1, 0, 0.2]}\n"
                           "  - copy: {label: 1, by: [0.3, 0, 0], as: twin}\n"
                           "  - remove: {height: {below: -50}, if_empty: skip}\n";

static vpd_scene *read_scene(vpd_model *model, const char *name) {
    vpd_scene *scene = NULL;
    vpd_error err = {0};
    assert_vpd_ok(vpd_scene_read(model, world_place(name), &scene, &err), err);
    return scene;
}

// Present particles and what the model makes of them: its steps come of bodies, too.
static void same_scenes(vpd_scene *a, vpd_scene *b) {
    vpd_error err = {0};
    vpd_particle_arrays x = world_particles(a, 0), y = world_particles(b, 0);
    world_same_positions(a, b, 0);
    assert_true(x.feature && x.colour && x.labels && x.radius);
    assert_memory_equal(x.feature, y.feature, x.count * x.features * sizeof(float));
    assert_memory_equal(x.colour, y.colour, 3 * x.count);
    assert_memory_equal(x.labels, y.labels, x.count * sizeof *x.labels);
    assert_memory_equal(x.radius, y.radius, x.count * sizeof(float));
    assert_vpd_ok(vpd_scene_step(a, 2, &err), err);
    assert_vpd_ok(vpd_scene_step(b, 2, &err), err);
    for (size_t step = 1; step <= 2; step++) world_same_positions(a, b, step);
}

static size_t steps_of(const vpd_scene *scene) {
    vpd_scene_facts facts = {.struct_size = sizeof facts};
    vpd_error err = {0};
    assert_vpd_ok(vpd_scene_get_facts(scene, &facts, &err), err);
    return facts.steps;
}

static void as_the_program(void **state) {
    (void)state;
    vpd_error err = {0};
    vpd_edit_report report = {.struct_size = sizeof report};
    vpd_model *model = world_open_model("model.h5", 1);
    vpd_scene *scene = read_scene(model, "expected.h5"), *wanted = read_scene(model, "expected_edit.h5");
    assert_vpd_ok(vpd_scene_edit(scene, 2, list, NULL, &report, &err), err);
    assert_int_equal(steps_of(scene), 0);
    assert_true(report.applied == 2 && report.skipped == 1 && report.after > report.before);
    assert_string_equal(report.warnings, "");
    assert_int_equal(report.after, world_particles(scene, 0).count);
    // Saved and read it goes on the same.
    assert_vpd_ok(vpd_scene_write(scene, world_place("saved.h5"), &err), err);
    vpd_scene *again = read_scene(model, "saved.h5");
    same_scenes(scene, wanted);
    assert_vpd_ok(vpd_scene_step(again, 2, &err), err);
    world_same_positions(scene, again, 2);
    vpd_scene_free(scene), vpd_scene_free(wanted), vpd_scene_free(again);
    vpd_model_close(model);
}

// Frames in memory, the data set and a file are the same scene under edit.
static void frames_in_memory(void **state) {
    (void)state;
    static WorldFrames w;
    vpd_error err = {0};
    vpd_model *model = world_open_model("model.h5", 2);
    vpd_scene *scene, *episode = world_episode(model), *file = read_scene(model, "expected.h5");
    world_read_frames(&w);
    vpd_frames frames = world_frames(&w);
    frames.mask = w.mask, frames.name = "000002", frames.bounds = (double[]){-1, -1, 0, 1, 1, 1};
    assert_vpd_ok(vpd_scene_encode(model, &frames, &scene, &err), err);
    assert_vpd_ok(vpd_scene_edit(scene, 0, list, NULL, NULL, &err), err);
    assert_vpd_ok(vpd_scene_edit(episode, 0, list, NULL, NULL, &err), err);
    assert_vpd_ok(vpd_scene_edit(file, 0, list, NULL, NULL, &err), err);
    same_scenes(scene, episode);
    vpd_scene_free(episode);
    vpd_scene_free(scene);
    // The same frames, farther apart in time: steps are as long.
    vpd_scene_facts facts = {.struct_size = sizeof facts};
    frames.time = (double[]){0, 0.125};
    assert_vpd_ok(vpd_scene_encode(model, &frames, &scene, &err), err);
    assert_vpd_ok(vpd_scene_step(scene, 1, &err), err);
    assert_vpd_ok(vpd_scene_get_facts(scene, &facts, &err), err);
    assert_close(facts.time_step, 0.125, 1e-12, 0);
    assert_close(world_particles(scene, 1).time, 0.25, 1e-12, 0);
    // One edit and a list of edits without its version are edits as well.
    episode = world_episode(model);
    assert_vpd_ok(vpd_scene_edit(episode, 0, "move: {label: object 0, by: [0.1, 0, 0.2]}", NULL, NULL, &err), err);
    assert_vpd_ok(vpd_scene_edit(episode, 0, "- copy: {label: 1, by: [0.3, 0, 0], as: twin}\n", NULL, NULL, &err), err);
    assert_vpd_ok(vpd_scene_rewind(file, 0, &err), err);
    world_same_positions(episode, file, 0);
    vpd_scene_free(scene), vpd_scene_free(episode), vpd_scene_free(file);
    vpd_model_close(model);
}

static size_t labelled(const vpd_scene *scene, int label) {
    vpd_particle_arrays p = world_particles(scene, 0);
    size_t count = 0;
    for (size_t i = 0; p.labels && i < p.count; i++) count += p.labels[i] == label;
    return count;
}

static const char *names_of(const vpd_scene *scene) {
    vpd_scene_facts facts = {.struct_size = sizeof facts};
    vpd_error err = {0};
    assert_vpd_ok(vpd_scene_get_facts(scene, &facts, &err), err);
    return facts.label_names;
}

static void labels(void **state) {
    (void)state;
    vpd_error err = {0};
    vpd_model *model = world_open_model("model.h5", 1);
    vpd_scene *scene = world_episode(model), *clusters = world_episode(model);
    assert_vpd_ok(vpd_scene_step(scene, 1, &err), err);
    vpd_particle_arrays p = world_particles(scene, 0);
    size_t ball = labelled(scene, 1), count = p.count;
    uint16_t *given = malloc(count * sizeof *given);
    assert_non_null(given);
    for (size_t i = 0; i < count; i++) given[i] = p.labels[i] ? 2 : 0;
    assert_vpd_ok(vpd_scene_set_labels(scene, given, count, "ground\nnothing\ncup", &err), err);
    free(given);
    assert_int_equal(steps_of(scene), 1); // they stay
    assert_string_equal(names_of(scene), "ground\nnothing\ncup\n");
    assert_int_equal(labelled(scene, 2), ball);
    p = world_particles(scene, 1);
    assert_vpd_ok(vpd_scene_set_labels(scene, p.labels, count, NULL, &err), err); // its own array, its own names
    assert_string_equal(names_of(scene), "ground\nnothing\ncup\n");
    assert_vpd_ok(vpd_scene_edit(scene, 1, "keep: {label: cup}", NULL, NULL, &err), err);
    assert_int_equal(world_particles(scene, 0).count, ball);
    // From shape: the ball is no part of the floor.
    assert_vpd_ok(vpd_scene_edit(clusters, 0, "cluster: {floor: 0.05, least: 3, link: 0.1}", NULL, NULL, &err), err);
    assert_non_null(strstr(names_of(clusters), "cluster 1\n"));
    assert_true(labelled(clusters, 1) > 3);
    vpd_scene_free(scene), vpd_scene_free(clusters);
    vpd_model_close(model);
}

// The steps of mechanics are computed by vpd_scene_step, and are those of a list that needs them at once.
static void mechanics(void **state) {
    (void)state;
    enum { STEPS = 6 };
    vpd_error err = {0};
    vpd_model *model = world_open_model("model.h5", 1);
    vpd_scene *scene = world_episode(model), *whole = world_episode(model), *copy, *read, *still = world_episode(model);
    assert_vpd_ok(vpd_scene_edit(scene, 0, "simulate: {label: object 0, steps: 6}", NULL, NULL, &err), err);
    assert_vpd_ok(vpd_scene_edit(whole, 0,
                                 "- simulate: {label: object 0, steps: 6}\n- move: {all: true, by: [0, 0, 0]}\n", NULL,
                                 NULL, &err),
                  err);
    assert_vpd_ok(vpd_scene_step(whole, STEPS, &err), err);
    assert_vpd_ok(vpd_scene_step(still, STEPS, &err), err);
    const size_t bytes = 3 * world_particles(whole, 0).count * sizeof(float);
    assert_true(memcmp(world_particles(whole, STEPS).positions, world_particles(still, STEPS).positions, bytes) != 0);
    // A copy, a file, and labels leave those that are not there yet.
    assert_vpd_ok(vpd_scene_step(scene, 2, &err), err);
    assert_vpd_ok(vpd_scene_copy(scene, &copy, &err), err);
    assert_vpd_ok(vpd_scene_write(scene, world_place("mechanics.h5"), &err), err);
    read = read_scene(model, "mechanics.h5");
    assert_vpd_ok(vpd_scene_rewind(scene, 1, &err), err);
    vpd_particle_arrays p = world_particles(scene, 0);
    assert_vpd_ok(vpd_scene_set_labels(scene, p.labels, p.count, NULL, &err), err);
    assert_vpd_ok(vpd_scene_step(scene, STEPS - 1, &err), err);
    for (size_t s = 2; s < STEPS; s++) {
        assert_vpd_ok(vpd_scene_step(copy, 1, &err), err);
        assert_vpd_ok(vpd_scene_step(read, 1, &err), err);
    }
    for (size_t s = 1; s <= STEPS; s++) {
        world_same_positions(scene, whole, s);
        world_same_positions(copy, whole, s);
        world_same_positions(read, whole, s);
    }
    vpd_scene_free(copy), vpd_scene_free(read);
    // What is edited or appended on the way has the steps behind it.
    assert_vpd_ok(vpd_scene_rewind(whole, 2, &err), err);
    vpd_scene *part = world_episode(model);
    assert_vpd_ok(vpd_scene_edit(part, 0, "simulate: {label: object 0, steps: 6}", NULL, NULL, &err), err);
    assert_vpd_ok(vpd_scene_step(part, 2, &err), err);
    assert_vpd_ok(vpd_scene_rewind(still, 0, &err), err);
    assert_vpd_ok(vpd_scene_copy(still, &copy, &err), err);
    assert_vpd_ok(vpd_scene_append(still, 0, part, 2, (double[]){1, 0, 0}, NULL, NULL, &err), err);
    assert_vpd_ok(vpd_scene_append(copy, 0, whole, 2, (double[]){1, 0, 0}, NULL, NULL, &err), err);
    for (int k = 0; k < 2; k++)
        assert_vpd_ok(vpd_scene_edit(k ? part : whole, 2, "move: {all: true, by: [0, 0, 1]}", NULL, NULL, &err), err);
    assert_vpd_ok(vpd_scene_step(part, STEPS, &err), err);
    assert_vpd_ok(vpd_scene_step(whole, STEPS, &err), err);
    world_same_positions(part, whole, STEPS);
    assert_vpd_ok(vpd_scene_step(still, STEPS, &err), err);
    assert_vpd_ok(vpd_scene_step(copy, STEPS, &err), err);
    world_same_positions(still, copy, STEPS);
    vpd_scene_free(scene), vpd_scene_free(whole), vpd_scene_free(copy), vpd_scene_free(still), vpd_scene_free(part);
    vpd_model_close(model);
}

static void append(void **state) {
    (void)state;
    vpd_error err = {0};
    const double by[3] = {0.5, 0, 0};
    char compose[256];
    vpd_edit_report report = {.struct_size = sizeof report};
    vpd_model *model = world_open_model("model.h5", 1), *second = world_open_model("model.h5", 1);
    vpd_scene *a = read_scene(model, "expected.h5"), *b = read_scene(model, "expected.h5");
    vpd_scene *other = read_scene(second, "expected.h5"); // of another model of the same weights
    size_t count = world_particles(a, 0).count, ball = labelled(a, 1);
    assert_vpd_ok(vpd_scene_append(a, 2, other, 1, by, NULL, &report, &err), err);
    assert_true(report.before == count && report.after == 2 * count && report.applied == 1);
    assert_int_equal(steps_of(other), 4); // it stays as it was
    snprintf(compose, sizeof compose, "compose: {file: expected.h5, step: 1, by: [0.5, 0, 0]}");
    assert_vpd_ok(vpd_scene_edit(b, 2, compose, world_folder, NULL, &err), err);
    assert_string_equal(names_of(a), names_of(b));
    assert_int_equal(labelled(a, 2), ball);
    same_scenes(a, b);
    // Itself, under one label.
    assert_vpd_ok(vpd_scene_rewind(a, 0, &err), err);
    assert_vpd_ok(vpd_scene_append(a, 0, a, 0, NULL, "all again", NULL, &err), err);
    assert_int_equal(world_particles(a, 0).count, 4 * count);
    assert_int_equal(labelled(a, 3), 2 * count);
    assert_non_null(strstr(names_of(a), "all again\n"));
    assert_vpd_ok(vpd_scene_step(a, 1, &err), err);
    vpd_scene_free(a), vpd_scene_free(b), vpd_scene_free(other);
    vpd_model_close(model), vpd_model_close(second);
}

// ---- what is wrong is said, and the scene stays as it was

static void wrong_edits(void **state) {
    static const char *const cases[][2] = {
        {"remove: {label: 1", "edits:2: not valid YAML"},
        {"", "expected \"version: 1\" and \"edits:\""},
        {"remov: {label: 1}", "edits:1: unknown edit \"remov\"; did you mean \"remove\"?"},
        {"- move: {label: 1, by: [0, 0, 1]}\n- remove: {label: cup}", "edits:2: remove: there is no label \"cup\""},
        {"remove: {height: {above: 50}}", "the selection takes none of the"},
        {"remove: {all: true}", "no particle would be left"},
        {"version: 2\nedits: []", "use a newer vpd"},
        {"compose: {file: absent.h5}", "absent.h5"},
        {"compose: {file: raw.h5}", "another model made them"},
    };
    (void)state;
    vpd_error err = {0};
    vpd_edit_report report = {.struct_size = sizeof report}, small = {.struct_size = 3};
    vpd_model *model = world_open_model("model.h5", 1), *other_model = world_open_model("other.h5", 1);
    vpd_scene *scene = read_scene(model, "expected.h5"), *same = read_scene(model, "expected.h5");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_vpd_error(vpd_scene_edit(scene, 2, cases[i][0], world_folder, &report, &err), VPD_BAD_INPUT, err,
                         cases[i][1]);
        assert_int_equal(steps_of(scene), 4);
        for (size_t step = 0; step <= 4; step++) world_same_positions(scene, same, step);
    }
    assert_int_equal(report.after, 0);
    assert_vpd_error(vpd_scene_edit(NULL, 0, list, NULL, NULL, &err), VPD_BAD_INPUT, err, "scene");
    assert_vpd_error(vpd_scene_edit(scene, 0, NULL, NULL, NULL, &err), VPD_BAD_INPUT, err, "edits");
    assert_vpd_error(vpd_scene_edit(scene, 9, list, NULL, NULL, &err), VPD_BAD_INPUT, err, "step 9: the scene has");
    assert_vpd_error(vpd_scene_edit(scene, 0, list, NULL, &small, &err), VPD_BAD_INPUT, err, "vpd_edit_report");

    vpd_scene *foreign = NULL;
    const double far[3] = {0, NAN, 0};
    assert_vpd_ok(vpd_scene_episode(other_model, world_place("data.h5"), "2", 3, &foreign, &err), err);
    assert_vpd_error(vpd_scene_append(scene, 0, foreign, 0, NULL, NULL, NULL, &err), VPD_BAD_INPUT, err,
                     "another model made");
    assert_vpd_error(vpd_scene_append(scene, 0, NULL, 0, NULL, NULL, NULL, &err), VPD_BAD_INPUT, err, "other");
    assert_vpd_error(vpd_scene_append(scene, 0, same, 5, NULL, NULL, NULL, &err), VPD_BAD_INPUT, err, "other: step 5");
    assert_vpd_error(vpd_scene_append(scene, 0, same, 0, far, NULL, NULL, &err), VPD_BAD_INPUT, err, "found nan");
    assert_vpd_error(vpd_scene_append(scene, 0, same, 0, NULL, "", NULL, &err), VPD_BAD_INPUT, err, "found 0 bytes");
    assert_vpd_error(vpd_scene_append(scene, 0, same, 0, NULL, "a\nb", NULL, &err), VPD_BAD_INPUT, err, "label:");

    static const uint16_t few[2] = {0, 1};
    vpd_particle_arrays p = world_particles(same, 0);
    assert_vpd_error(vpd_scene_set_labels(scene, few, 2, NULL, &err), VPD_BAD_INPUT, err, "particles, found 2");
    assert_vpd_error(vpd_scene_set_labels(scene, NULL, p.count, NULL, &err), VPD_BAD_INPUT, err, "labels: expected an");
    assert_vpd_error(vpd_scene_set_labels(scene, p.labels, p.count, "a\n\x01", &err), VPD_BAD_INPUT, err,
                     "label names: expected UTF-8");
    for (size_t step = 0; step <= 4; step++) world_same_positions(scene, same, step);
    assert_string_equal(names_of(scene), names_of(same));
    vpd_scene_free(scene), vpd_scene_free(same), vpd_scene_free(foreign);
    vpd_model_close(model), vpd_model_close(other_model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_the_program), cmocka_unit_test(frames_in_memory), cmocka_unit_test(labels),
        cmocka_unit_test(append),         cmocka_unit_test(wrong_edits),      cmocka_unit_test(mechanics),
    };
    return cmocka_run_group_tests(tests, world_make, world_remove);
}
