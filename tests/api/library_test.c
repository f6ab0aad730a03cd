// SPDX-License-Identifier: Apache-2.0
// libvpd.so as a program sees it: what it gives equals what `vpd rollout` writes, frames in memory equal those of a
// data set, steps, edits, copies, files and pictures do what vpd.h says, from several threads too.
#include "tests/api/world.h"

#include <omp.h>
#include <pthread.h>

static void models(void **state) {
    (void)state;
    vpd_error err = {0};
    vpd_model_facts facts = {.struct_size = sizeof facts};
    int threads = omp_get_max_threads();
    vpd_model *model = world_open_model("model.h5", threads + 1);
    assert_int_equal(omp_get_max_threads(), threads); // the caller's setting is its own
    assert_vpd_ok(vpd_model_get_facts(model, &facts, &err), err);
    assert_int_equal(facts.history, WORLD_T);
    assert_int_equal(facts.features, 6);
    assert_int_equal(facts.particles_max, 300);
    assert_int_equal(facts.has_dynamics, 1);
    assert_close(facts.time_step, 0.1, 0, 0);
    assert_close(facts.radius, 0.2, 1e-9, 0);
    assert_int_equal(facts.train_step, 7);
    assert_int_equal(strlen(facts.hash), 16);
    assert_non_null(strstr(facts.path, "model.h5"));
    assert_non_null(strstr(facts.device, "cpu "));
    assert_string_equal(facts.note, "");
    assert_non_null(facts.device_why);
    assert_int_equal(vpd_library_api(), VPD_API_VERSION);
    assert_true(vpd_library_version()[0] && vpd_library_commit()[0]);
    vpd_scene *scene = world_episode(model);
    assert_int_equal(omp_get_max_threads(), threads);
    vpd_model_close(model);
    assert_vpd_ok(vpd_scene_step(scene, 1, &err), err); // it keeps its model
    vpd_scene_free(scene);
    assert_vpd_ok(vpd_model_open(world_place("model.h5"), NULL, &model, NULL), err);
    vpd_model_close(model);
    vpd_model_close(NULL);
    vpd_scene_free(NULL);
}

static void as_the_program(void **state) {
    (void)state;
    vpd_error err = {0};
    vpd_scene_facts facts = {.struct_size = sizeof facts};
    vpd_model *model = world_open_model("model.h5", 1);
    vpd_scene *scene = world_episode(model), *expected;
    assert_vpd_ok(vpd_scene_read(model, world_place("expected.h5"), &expected, &err), err);
    assert_vpd_ok(vpd_scene_step(scene, 4, &err), err);
    assert_vpd_ok(vpd_scene_get_facts(scene, &facts, &err), err);
    assert_true(facts.particles > 200 && facts.particles <= 600); // with mirror images
    assert_int_equal(facts.features, 6);
    assert_int_equal(facts.steps, 4);
    assert_int_equal(facts.cameras, 3);
    assert_int_equal(facts.height, WORLD_H);
    assert_int_equal(facts.width, WORLD_W);
    assert_close(facts.time_step, 0.1, 1e-9, 0);
    assert_string_equal(facts.name, "000002");
    assert_string_equal(facts.label_names, "background\nobject 0\n");
    for (size_t step = 0; step <= 4; step++) world_same_positions(scene, expected, step);
    vpd_particle_arrays p = world_particles(scene, 4);
    assert_close(p.time, 0.7, 1e-6, 0);
    assert_true(p.feature && p.colour && p.labels && p.radius);
    size_t ball = 0;
    for (size_t i = 0; i < p.count; i++) {
        assert_int_equal(p.labels[i], p.colour[3 * i] == 220);
        ball += p.labels[i];
    }
    assert_true(ball > 5);
    // The episode and start that are taken when none are named: the test episode, its earliest frame.
    vpd_scene *named, *unnamed;
    assert_vpd_ok(vpd_scene_episode(model, world_place("data.h5"), NULL, -1, &unnamed, &err), err);
    assert_vpd_ok(vpd_scene_episode(model, world_place("data.h5"), "2", 1, &named, &err), err);
    world_same_positions(named, unnamed, 0);
    vpd_scene_free(named), vpd_scene_free(unnamed), vpd_scene_free(scene), vpd_scene_free(expected);
    vpd_model_close(model);
}

static void frames_in_memory(void **state) {
    (void)state;
    static WorldFrames w;
    vpd_error err = {0};
    vpd_scene *scene, *plain;
    vpd_model *model = world_open_model("model.h5", 1);
    vpd_scene *expected = world_episode(model);
    world_read_frames(&w);
    vpd_frames frames = world_frames(&w);
    frames.mask = w.mask, frames.name = "000002", frames.bounds = (double[]){-1, -1, 0, 1, 1, 1};
    assert_vpd_ok(vpd_scene_encode(model, &frames, &scene, &err), err);
    assert_vpd_ok(vpd_scene_step(scene, 3, &err), err);
    assert_vpd_ok(vpd_scene_step(expected, 3, &err), err);
    for (size_t step = 0; step <= 3; step++) world_same_positions(scene, expected, step);
    vpd_particle_arrays a = world_particles(scene, 3), b = world_particles(expected, 3);
    assert_memory_equal(a.feature, b.feature, a.count * a.features * sizeof(float));
    assert_memory_equal(a.labels, b.labels, a.count * sizeof *a.labels);
    assert_close(a.time, b.time, 1e-9, 0);

    // What is optional may be left out; another name is another choice of particles.
    frames = world_frames(&w);
    frames.time = NULL;
    assert_vpd_ok(vpd_scene_encode(model, &frames, &plain, &err), err);
    a = world_particles(plain, 0);
    assert_true(!a.labels && a.count > 200);
    assert_close(a.time, 0.1, 1e-9, 0);
    b = world_particles(expected, 0);
    size_t count = a.count < b.count ? a.count : b.count;
    assert_memory_not_equal(a.positions, b.positions, 3 * count * sizeof(float));
    // It draws and saves without a data set.
    assert_vpd_ok(vpd_scene_write(plain, world_place("plain.h5"), &err), err);
    vpd_scene_free(plain);
    assert_vpd_ok(vpd_scene_read(model, world_place("plain.h5"), &plain, &err), err);
    vpd_scene_free(plain), vpd_scene_free(scene), vpd_scene_free(expected);
    vpd_model_close(model);
}

static void steps_go_on(void **state) {
    (void)state;
    vpd_error err = {0};
    vpd_model *model = world_open_model("model.h5", 1);
    vpd_scene *whole = world_episode(model), *part = world_episode(model), *copy;
    assert_vpd_ok(vpd_scene_step(whole, 5, &err), err);
    assert_vpd_ok(vpd_scene_step(part, 2, &err), err);
    assert_vpd_ok(vpd_scene_step(part, 0, &err), err);
    assert_vpd_ok(vpd_scene_copy(part, &copy, &err), err);
    assert_vpd_ok(vpd_scene_write(part, world_place("part.h5"), &err), err);
    assert_vpd_ok(vpd_scene_step(part, 3, &err), err);
    world_same_positions(whole, part, 5);
    assert_vpd_ok(vpd_scene_step(copy, 3, &err), err); // the copy had not gone on with it
    world_same_positions(whole, copy, 5);
    assert_vpd_ok(vpd_scene_rewind(copy, 1, &err), err);
    assert_vpd_ok(vpd_scene_step(copy, 4, &err), err);
    world_same_positions(whole, copy, 5);
    vpd_scene_free(copy);
    assert_vpd_ok(vpd_scene_read(model, world_place("part.h5"), &copy, &err), err);
    assert_vpd_ok(vpd_scene_step(copy, 3, &err), err);
    world_same_positions(whole, copy, 5);
    vpd_scene_free(copy), vpd_scene_free(part), vpd_scene_free(whole);
    vpd_model_close(model);
}

// Moves every particle of a step by `by` along x.
static void shift(vpd_scene *scene, size_t step, float by) {
    vpd_error err = {0};
    vpd_particle_arrays p = world_particles(scene, step);
    float *moved = malloc(3 * p.count * sizeof *moved);
    assert_non_null(moved);
    for (size_t i = 0; i < 3 * p.count; i++) moved[i] = p.positions[i] + (i % 3 == 0 ? by : 0);
    assert_vpd_ok(vpd_scene_set_positions(scene, step, moved, p.count, &err), err);
    assert_memory_equal(world_particles(scene, step).positions, moved, 3 * p.count * sizeof *moved);
    free(moved);
}

static void edits(void **state) {
    (void)state;
    vpd_error err = {0};
    vpd_model *model = world_open_model("model.h5", 1);
    vpd_scene *plain = world_episode(model), *edited = world_episode(model), *again;
    assert_vpd_ok(vpd_scene_step(plain, 3, &err), err);
    assert_vpd_ok(vpd_scene_step(edited, 2, &err), err);
    shift(edited, 1, -0.1f); // the step before the last: another velocity
    world_same_positions(plain, edited, 2);
    assert_vpd_ok(vpd_scene_step(edited, 1, &err), err);
    vpd_particle_arrays a = world_particles(plain, 3), b = world_particles(edited, 3);
    assert_memory_not_equal(a.positions, b.positions, 3 * a.count * sizeof(float));
    shift(edited, 3, 0.5f);
    shift(edited, 0, 0.5f);
    assert_vpd_ok(vpd_scene_set_positions(edited, 3, b.positions, b.count, &err), err); // its own array
    assert_vpd_ok(vpd_scene_write(edited, world_place("edited.h5"), &err), err);
    assert_vpd_ok(vpd_scene_read(model, world_place("edited.h5"), &again, &err), err);
    for (size_t step = 0; step <= 3; step++) world_same_positions(edited, again, step);
    vpd_scene_free(plain), vpd_scene_free(edited), vpd_scene_free(again);
    vpd_model_close(model);
}

static void pictures(void **state) {
    (void)state;
    enum { PIXELS = WORLD_H * WORLD_W };
    static uint8_t rgb[3 * PIXELS], alone[3 * PIXELS];
    static float colour[3 * PIXELS], depth[PIXELS], opacity[PIXELS];
    vpd_error err = {0};
    vpd_model *model = world_open_model("model.h5", 1);
    vpd_scene *scene = world_episode(model);
    vpd_view view = world_view(scene, 2);
    assert_true(view.H == WORLD_H && view.W == WORLD_W && view.intrinsics[0] > 1 && view.world_from_camera[15] == 1);
    vpd_picture all = {sizeof all, rgb, colour, depth, opacity}, one = {.struct_size = sizeof one, .rgb = alone};
    assert_vpd_ok(vpd_scene_render(scene, 0, &view, &all, &err), err);
    assert_vpd_ok(vpd_scene_render(scene, 0, &view, &one, &err), err);
    assert_memory_equal(rgb, alone, sizeof rgb);
    int seen = 0;
    for (int i = 0; i < 3 * PIXELS; i++) {
        float c = colour[i] < 0 ? 0 : colour[i] > 1 ? 1 : colour[i];
        assert_close(rgb[i], 255 * c, 0.51, 0); // rounding
    }
    for (int i = 0; i < PIXELS; i++) {
        assert_true(opacity[i] >= 0 && opacity[i] <= 1 + 1e-5f);
        assert_true(depth[i] >= 0 && depth[i] < 10);
        seen += depth[i] > 0.5f;
    }
    assert_true(seen > PIXELS / 4);
    // Another step is another picture; a moved camera too.
    assert_vpd_ok(vpd_scene_step(scene, 3, &err), err);
    assert_vpd_ok(vpd_scene_render(scene, 3, &view, &one, &err), err);
    assert_memory_not_equal(rgb, alone, sizeof rgb);
    view = world_view(scene, 0);
    view.H = 7, view.W = 5;
    assert_vpd_ok(vpd_scene_render(scene, 0, &view, &one, &err), err);
    vpd_scene_free(scene);
    vpd_model_close(model);
}

// Frame 3 of view 1 is the last picture of the world's frames.
static void recorded(void **state) {
    (void)state;
    enum { PIXELS = WORLD_H * WORLD_W };
    static WorldFrames w;
    static uint8_t rgb[3 * PIXELS], later[3 * PIXELS];
    vpd_error err = {0};
    vpd_model *model = world_open_model("model.h5", 1);
    vpd_scene *scene = world_episode(model);
    world_read_frames(&w);
    assert_vpd_ok(vpd_scene_recorded(scene, NULL, 0, 1, rgb, &err), err);
    assert_memory_equal(rgb, w.rgb + 3 * 3 * PIXELS, sizeof rgb);
    assert_vpd_ok(vpd_scene_step(scene, 40, &err), err);
    assert_vpd_ok(vpd_scene_recorded(scene, world_place("data.h5"), 1, 1, later, &err), err);
    assert_memory_not_equal(rgb, later, sizeof rgb);
    assert_vpd_error(vpd_scene_recorded(scene, NULL, 40, 1, later, &err), VPD_BAD_INPUT, err, "ends before step 40");
    vpd_scene_free(scene);
    vpd_model_close(model);
}

// ---- threads

typedef struct Worker {
    vpd_scene *scene; // shared, or NULL: a model of its own
    int threads, failures;
    float last[3 * 300];
    uint8_t rgb[3 * WORLD_H * WORLD_W];
} Worker;

static void *work(void *owner) {
    Worker *w = owner;
    vpd_error err = {0};
    vpd_open_options options = {.struct_size = sizeof options, .device = "cpu", .threads = w->threads};
    vpd_model *model = NULL;
    vpd_scene *scene = NULL;
    vpd_view view = {.struct_size = sizeof view};
    vpd_picture picture = {.struct_size = sizeof picture, .rgb = w->rgb};
    vpd_particle_arrays p = {.struct_size = sizeof p};
    for (int i = 0; i < 3; i++) {
        vpd_status status = VPD_OK;
        if (w->scene) status = vpd_scene_copy(w->scene, &scene, &err);
        else status = vpd_model_open(world_place("model.h5"), &options, &model, &err);
        if (status == VPD_OK && !w->scene)
            status = vpd_scene_episode(model, world_place("data.h5"), "000002", WORLD_START, &scene, &err);
        if (status == VPD_OK) status = vpd_scene_step(scene, 4, &err);
        if (status == VPD_OK) status = vpd_scene_camera(scene, 4, 0, &view, &err);
        if (status == VPD_OK) status = vpd_scene_render(scene, 4, &view, &picture, &err);
        if (status == VPD_OK) status = vpd_scene_get_particles(scene, 4, &p, &err);
        if (status == VPD_OK) memcpy(w->last, p.positions, 3 * p.count * sizeof(float));
        w->failures += status != VPD_OK;
        vpd_scene_free(scene);
        vpd_model_close(model);
        scene = NULL, model = NULL;
    }
    return NULL;
}

static void together(Worker *workers, int count) {
    pthread_t thread[4];
    for (int i = 0; i < count; i++) assert_int_equal(pthread_create(&thread[i], NULL, work, workers + i), 0);
    for (int i = 0; i < count; i++) assert_int_equal(pthread_join(thread[i], NULL), 0);
}

// With a model each. A thread may hold the lock of GCC 12's ASan while another forks (datasets/h5_probe.c), and the
// child would wait: under ASan they follow each other.
static void together_with_models(Worker *workers, int count) {
#ifdef __SANITIZE_ADDRESS__
    for (int i = 0; i < count; i++) together(workers + i, 1);
#else
    together(workers, count);
#endif
}

static void several_threads(void **state) {
    (void)state;
    static Worker alone, workers[4];
    for (int threads = 1; threads <= 2; threads++) {
        memset(&alone, 0, sizeof alone);
        memset(workers, 0, sizeof workers);
        alone.threads = workers[0].threads = workers[1].threads = threads;
        together(&alone, 1);
        together_with_models(workers, 2);
        for (int i = 0; i < 2; i++) {
            assert_int_equal(workers[i].failures, 0);
            assert_memory_equal(workers[i].last, alone.last, sizeof alone.last);
            assert_memory_equal(workers[i].rgb, alone.rgb, sizeof alone.rgb);
        }
    }
    // One model for four: they wait for one another.
    vpd_model *model = world_open_model("model.h5", 2);
    vpd_scene *scene = world_episode(model);
    for (int i = 0; i < 4; i++) workers[i].scene = scene, workers[i].failures = 0;
    together(workers, 4);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(workers[i].failures, 0);
        assert_memory_equal(workers[i].last, alone.last, sizeof alone.last);
        assert_memory_equal(workers[i].rgb, alone.rgb, sizeof alone.rgb);
    }
    vpd_scene_free(scene);
    vpd_model_close(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models),      cmocka_unit_test(as_the_program),  cmocka_unit_test(frames_in_memory),
        cmocka_unit_test(steps_go_on), cmocka_unit_test(edits),           cmocka_unit_test(pictures),
        cmocka_unit_test(recorded),    cmocka_unit_test(several_threads),
    };
    return cmocka_run_group_tests(tests, world_make, world_remove);
}
