// SPDX-License-Identifier: Apache-2.0
// Start frames where motion changes: a ball that turns back is found, and drawn.
#include "train/contacts.h"

#include "model/lengths.h"
#define Scene MovieScene // model/vpd.h has a Scene of its own
#include "tests/dataset_scene.h"
#undef Scene

#include <unistd.h>

enum { FRAMES = 10, TURNS = 5 };

static MotionField field(size_t count) {
    Error err = {0};
    MotionField out;
    assert_status_ok(motion_field_create(count, &out, &err), err);
    return out;
}

static void change_is_against_the_nearest_that_moved(void **state) {
    (void)state;
    enum { POINTS = 3 };
    MotionField before = field(POINTS), now = field(POINTS);
    // Two bodies go along x; the third point is floor.
    for (size_t i = 0; i < 2; i++) {
        before.position[3 * i + 1] = (real)i;
        before.motion[3 * i] = (real)(0.1 * (double)(i + 1));
        now.position[3 * i] = before.motion[3 * i];
        now.position[3 * i + 1] = (real)i;
        now.motion[3 * i] = before.motion[3 * i];
    }
    before.position[8] = now.position[8] = -1;
    assert_close(contacts_between(&before, &now), 0, 1e-12, 0);
    now.motion[3] = (real)-0.2; // the second turns back: .4 m per frame less
    assert_close(contacts_between(&before, &now), 0.16, 1e-6, 0);
    now.motion[3] = 0; // what stands is not counted, nor is the floor behind it
    assert_close(contacts_between(&before, &now), 0, 1e-12, 0);
    before.motion[0] = before.motion[3] = 0; // nothing moved before: nothing to compare with
    assert_close(contacts_between(&before, &now), 0, 1e-12, 0);
    motion_field_free(&before);
    motion_field_free(&now);
}

static void ball_that_turns_back(const char *path) {
    Error err = {0};
    MovieScene scene = scene_make(FRAMES, 3, 40, 40, 0);
    for (int f = 0; f < FRAMES; f++) scene.position[3 * f] = f <= TURNS ? -0.3 + 0.1 * f : -0.3 + 0.1 * (2 * TURNS - f);
    scene_finish(&scene);
    assert_status_ok(scene_write(path, &scene, 1, &err), err);
    scene_free(&scene);
}

static void starts_are_where_it_turns(void **state) {
    (void)state;
    enum { ITEMS = 12 };
    const char *const options[] = {"data.extent=2",   "renderer.radius=0.05", "train.contact_starts=1",
                                   "train.rollout=1", "train.rollout_from=0", "train.steps=12"};
    Error err = {0};
    char path[] = "/tmp/vpd_contacts_XXXXXX.h5";
    int file = mkstemps(path, 3);
    assert_true(file >= 0);
    close(file);
    ball_that_turns_back(path);
    Config config;
    config_defaults(&config);
    assert_status_ok(config_set(&config, sizeof options / sizeof *options, options, &err), err);
    snprintf(config.data.path, sizeof config.data.path, "%s", path);
    assert_status_ok(config_resolve(&config, &err), err);
    Device *device = NULL;
    Vpd *model = NULL;
    TrainData data;
    Tape tape;
    MotionCache cache;
    assert_status_ok(device_open("cpu", 2, &device, &err), err);
    assert_status_ok(lengths_derive(&config, device, 0, NULL, &err), err);
    assert_status_ok(vpd_create(&config, device, &model, &err), err);
    assert_status_ok(train_data_open(&config, NULL, &data, &err), err);
    tape_init(&tape, device);
    int frames_of = FRAMES;
    MotionSource source = {1, &frames_of, 3 * 40 * 40, 0};
    assert_status_ok(motion_cache_open(&cache, NULL, model, &source, NULL, &err), err);
    assert_status_ok(contacts_measure(&data, &tape, model, &cache, NULL, &err), err);
    const double *added = data.episodes[0].contacts;
    for (int f = 0; f < FRAMES; f++) {
        double here = added[f + 1] - added[f], turn = added[TURNS + 1] - added[TURNS];
        assert_true(f == TURNS ? here > 1 : here <= 0.05 * turn); // some 250 points, .2 m per frame each
    }
    // With the share at 1 every start is the frame before the turn, as the model sees two frames.
    assert_status_ok(train_data_start(&data, 0, &err), err);
    int turns = 0;
    for (int i = 0; i < ITEMS; i++) {
        const Frames *frames;
        const TrainEpisode *episode;
        assert_status_ok(train_data_next(&data, &frames, &episode, &err), err);
        turns += frames->first + 1 == TURNS;
    }
    assert_in_range(turns, ITEMS - 2, ITEMS);
    motion_cache_close(&cache);
    tape_free(&tape);
    train_data_close(&data);
    vpd_free(model);
    device_close(device);
    unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(change_is_against_the_nearest_that_moved),
        cmocka_unit_test(starts_are_where_it_turns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
