// SPDX-License-Identifier: Apache-2.0
// "Calls on one model and its scenes wait for one another": a call looks at the scene when its turn has come, not
// before. The test stands between libvpd.so and the C library's mutexes. When a call asks for the model's lock,
// `meanwhile` runs first, as if another thread had had the lock until then. For that it sees the structs of api/api.h,
// but calls nothing behind vpd.h.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "api/api.h"
#include "tests/api/world.h"

#include <dlfcn.h>
#include <pthread.h>

enum { STEPS = 4, MOST_STEPS = 1 << 20 }; // of expected.h5; of a scene

static vpd_model *model;
static vpd_scene *scene, *other;
static void (*meanwhile)(void); // once
static int asked, references;   // how often the model's lock was taken; its references when it was given back

typedef int MutexCall(pthread_mutex_t *mutex);

static MutexCall *real_call(const char *name) {
    MutexCall *call = NULL;
    void *symbol = dlsym(RTLD_NEXT, name);
    memcpy(&call, &symbol, sizeof call);
    if (!call) abort();
    return call;
}

int pthread_mutex_lock(pthread_mutex_t *mutex) {
    static MutexCall *next;
    if (!next) next = real_call("pthread_mutex_lock");
    if (model && mutex == &model->lock) {
        void (*change)(void) = meanwhile;
        asked++;
        meanwhile = NULL;
        if (change) change();
    }
    return next(mutex);
}

int pthread_mutex_unlock(pthread_mutex_t *mutex) {
    static MutexCall *next;
    if (!next) next = real_call("pthread_mutex_unlock");
    if (model && mutex == &model->lock) references = model->references;
    return next(mutex);
}

// ---- what others do

static void rewind_scene(void) { scene->file.steps = 0; }
static void rewind_other(void) { other->file.steps = 0; }
static void fill_scene(void) { scene->file.steps = MOST_STEPS; }
static void lose_particle(void) { scene->file.sets[0].N--; }
static void lose_camera(void) { scene->file.V--; }

static void put_back(size_t particles, int cameras) {
    scene->file.steps = other->file.steps = STEPS;
    scene->file.sets[0].N = particles;
    scene->file.V = cameras;
}

// The call, behind `change`, is refused with these words.
#define REFUSED(change, call, words)                                                                                   \
    do {                                                                                                               \
        vpd_error err = {0};                                                                                           \
        meanwhile = change;                                                                                            \
        vpd_status status = (call);                                                                                    \
        meanwhile = NULL;                                                                                              \
        put_back(particles, cameras);                                                                                  \
        if (status != VPD_BAD_INPUT || !strstr(err.text, words))                                                       \
            fail_msg("%s behind %s: status %d, \"%s\"; expected \"%s\"", #call, #change, (int)status, err.text,        \
                     words);                                                                                           \
    } while (0)

static void arguments_are_checked_in_turn(void **state) {
    static const char gone[] = "step 4: the scene has the steps 0 to 0", move[] = "move: {all: true, by: [0.1, 0, 0]}";
    static uint8_t rgb[3 * WORLD_H * WORLD_W];
    const size_t particles = world_particles(scene, STEPS).count;
    const int cameras = scene->file.V;
    vpd_view view = world_view(scene, 0), seen = view;
    vpd_picture picture = {.struct_size = sizeof picture, .rgb = rgb};
    vpd_particle_arrays arrays = {.struct_size = sizeof arrays};
    float *places = calloc(3 * particles, sizeof *places);
    uint16_t *labels = calloc(particles, sizeof *labels);
    (void)state;
    assert_true(places && labels);
    REFUSED(fill_scene, vpd_scene_step(scene, 1, &err), "a scene holds at most 1048576");
    REFUSED(rewind_scene, vpd_scene_rewind(scene, STEPS, &err), gone);
    REFUSED(rewind_scene, vpd_scene_set_positions(scene, STEPS, places, particles, &err), gone);
    REFUSED(lose_particle, vpd_scene_set_positions(scene, 0, places, particles, &err), "positions: expected those of");
    REFUSED(rewind_scene, vpd_scene_edit(scene, STEPS, move, NULL, NULL, &err), gone);
    REFUSED(rewind_scene, vpd_scene_append(scene, STEPS, other, 0, NULL, NULL, NULL, &err), gone);
    REFUSED(rewind_other, vpd_scene_append(scene, 0, other, STEPS, NULL, NULL, NULL, &err), gone);
    REFUSED(lose_particle, vpd_scene_set_labels(scene, labels, particles, NULL, &err), "labels: expected those of");
    REFUSED(rewind_scene, vpd_scene_render(scene, STEPS, &view, &picture, &err), gone);
    REFUSED(rewind_scene, vpd_scene_recorded(scene, NULL, STEPS, 0, rgb, &err), gone);
    REFUSED(lose_camera, vpd_scene_recorded(scene, NULL, 0, cameras - 1, rgb, &err), "camera 2: the scene has 2");
    REFUSED(rewind_scene, vpd_scene_camera(scene, STEPS, 0, &seen, &err), gone);
    REFUSED(lose_camera, vpd_scene_camera(scene, 0, cameras - 1, &seen, &err), "camera 2: the scene has 2");
    REFUSED(rewind_scene, vpd_scene_get_particles(scene, STEPS, &arrays, &err), gone);
    free(places);
    free(labels);
}

static void facts_are_read_in_turn(void **state) {
    vpd_scene_facts facts = {.struct_size = sizeof facts};
    vpd_error err = {0};
    (void)state;
    meanwhile = rewind_scene;
    assert_vpd_ok(vpd_scene_get_facts(scene, &facts, &err), err);
    assert_int_equal(facts.steps, 0);
    scene->file.steps = STEPS;
}

// Every new scene is counted before the lock is given back.
static void references_are_counted_in_turn(void **state) {
    vpd_scene *made[4] = {NULL};
    vpd_error err = {0};
    (void)state;
    asked = 0;
    assert_vpd_ok(vpd_scene_copy(scene, &made[0], &err), err);
    assert_int_equal(references, model->references);
    assert_vpd_ok(vpd_scene_truth(made[0], world_place("data.h5"), &made[1], &err), err);
    assert_int_equal(references, model->references);
    assert_vpd_ok(vpd_scene_read(model, world_place("expected.h5"), &made[2], &err), err);
    assert_int_equal(references, model->references);
    assert_vpd_ok(vpd_scene_episode(model, world_place("data.h5"), "000002", WORLD_START, &made[3], &err), err);
    assert_int_equal(references, model->references);
    assert_int_equal(references, 7); // model, scene, other and these
    assert_int_equal(asked, 4);
    for (int i = 0; i < 4; i++) vpd_scene_free(made[i]);
    assert_int_equal(references, 3);
}

static int open_all(void **state) {
    vpd_error err = {0};
    if (world_make(state)) return 1;
    model = world_open_model("model.h5", 1);
    assert_vpd_ok(vpd_scene_read(model, world_place("expected.h5"), &scene, &err), err);
    assert_vpd_ok(vpd_scene_read(model, world_place("expected.h5"), &other, &err), err);
    assert_int_equal(scene->file.steps, STEPS);
    return 0;
}

static int close_all(void **state) {
    vpd_model *closed = model;
    vpd_scene_free(scene);
    vpd_scene_free(other);
    model = NULL; // it is freed in the end
    vpd_model_close(closed);
    return world_remove(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_are_checked_in_turn),
        cmocka_unit_test(facts_are_read_in_turn),
        cmocka_unit_test(references_are_counted_in_turn),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
