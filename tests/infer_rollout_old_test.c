// SPDX-License-Identifier: Apache-2.0
// Rollout files of formats 1.0 and 1.1 (tests/reference/rollout_1), which a model without bodies made: they open, get
// bodies, go on and are edited; what is wrong with their clouds is named.
#include "datasets/h5.h"
#include "edit/edit.h"
#include "infer/rollout.h"
#include "infer/session.h"
#include "tests/test.h"

#define FOLDER "tests/reference/rollout_1/"

static void old_path(char *path, int minor) { snprintf(path, 512, FOLDER "rollout_1_%d.h5", minor); }

static RolloutFile read_old(int minor) {
    RolloutFile file;
    Error err;
    char path[512];
    old_path(path, minor);
    assert_status_ok(rollout_file_read(path, &file, &err), err);
    return file;
}

typedef struct World {
    Session session;
    RolloutWorkspace workspace;
} World;

static void open_world(World *world) {
    SessionOptions options = {.checkpoint = FOLDER "model.h5", .device = "cpu", .threads = 1};
    Error err;
    *world = (World){0};
    assert_status_ok(session_open(&world->session, &options, &err), err);
    rollout_workspace_init(&world->workspace, world->session.model);
}

static void close_world(World *world) {
    rollout_workspace_free(&world->workspace);
    session_close(&world->session);
}

// A model with bodies, whose particles have D features.
static void open_bodies(World *world, int D) {
    Config config;
    Error err;
    char features[32];
    open_world(world);
    snprintf(features, sizeof features, "model.D=%d", D);
    const char *const pairs[] = {features};
    config = world->session.meta.config;
    assert_status_ok(config_set(&config, 1, pairs, &err), err);
    assert_status_ok(config_resolve(&config, &err), err);
    rollout_workspace_free(&world->workspace);
    vpd_free(world->session.model);
    world->session.model = NULL;
    assert_status_ok(vpd_create(&config, world->session.device, &world->session.model, &err), err);
    rollout_workspace_init(&world->workspace, world->session.model);
}

// Every moving particle has a body, which falls as the motion field said.
static void assert_falls(const RolloutFile *file, const uint8_t *moving) {
    const RolloutSet *now = &file->sets[0];
    double down = 0, count = 0;
    assert_true(now->body && now->before && file->set_count == 1 && !file->sets[1].positions);
    assert_true(!file->has_motion && !file->motion.position && !file->motion_owner && !rollout_lacks_motion(file));
    for (size_t i = 0; i < now->N; i++) {
        assert_true((now->body[i] >= 0) == now->moving[i] && now->moving[i] <= moving[i]);
        if (!now->moving[i]) assert_memory_equal(now->before + 3 * i, now->positions + 3 * i, 12);
        else down += (double)now->before[3 * i + 2] - (double)now->positions[3 * i + 2], count++;
    }
    assert_true(count > 8 && down / count > 0.005);
}

static void become_bodies(void **state) {
    (void)state;
    World world;
    Error err;
    RolloutFile old = read_old(0);
    int D = (int)old.sets[0].D;
    open_bodies(&world, D);
    for (int minor = 0; minor < 2; minor++) {
        RolloutFile file = read_old(minor);
        assert_status_ok(rollout_simulate(&world.workspace, &file, 0, NULL, &err), err);
        assert_falls(&file, old.sets[0].moving);
        size_t steps = file.steps;
        assert_status_ok(rollout_simulate(&world.workspace, &file, 2, NULL, &err), err);
        assert_int_equal(file.steps, steps + 2);
        rollout_file_free(&file);
    }
    RolloutFile file = read_old(0);
    free(file.sets[0].moving), file.sets[0].moving = NULL;
    assert_status_error(rollout_convert(&world.workspace, &file, &err), STATUS_BAD_INPUT, err, "found no moving flags");
    assert_true(!file.sets[0].body && file.set_count == 2);
    rollout_file_free(&file);
    close_world(&world);
    open_bodies(&world, D + 1);
    assert_status_error(rollout_simulate(&world.workspace, &old, 0, NULL, &err), STATUS_BAD_INPUT, err,
                        "a model with another encoder made it");
    close_world(&world);
    rollout_file_free(&old);
}

static Status edit(RolloutFile *file, const char *text, size_t step, Error *err) {
    Device *device = NULL;
    EditReport report;
    EditList *list = edit_list_create();
    Status status = edit_list_add(list, text, err);
    if (status == STATUS_OK) status = device_open("cpu", 1, &device, err);
    if (status == STATUS_OK) status = edit_apply(list, device, NULL, step, file, &report, err);
    device_close(device);
    edit_list_free(list);
    return status;
}

static void are_edited(void **state) {
    (void)state;
    static const char up[] = "move: {all: true, by: [0, 0, 0.5]}";
    World world;
    Error err;
    open_world(&world);
    for (int minor = 0; minor < 2; minor++) {
        RolloutFile file = read_old(minor), plain = read_old(minor);
        assert_status_error(edit(&file, up, 0, &err), STATUS_BAD_INPUT, err, "--steps 0 -o NEW.h5\" converts it");
        assert_status_ok(rollout_convert(&world.workspace, &file, &err), err);
        assert_status_ok(rollout_convert(&world.workspace, &plain, &err), err);
        assert_status_ok(edit(&file, up, 0, &err), err);
        plain.steps = 0;
        assert_status_ok(rollout_simulate(&world.workspace, &file, 1, NULL, &err), err);
        assert_status_ok(rollout_simulate(&world.workspace, &plain, 1, NULL, &err), err);
        for (size_t i = 0; i < 3 * file.sets[0].N; i++)
            assert_close(file.positions[i], plain.positions[i] + (i % 3 == 2 ? 0.5 : 0), 1e-5, 0);
        rollout_file_free(&file);
        rollout_file_free(&plain);
    }
    close_world(&world);
}

// Motion is found, and then its owners are not; nothing of it stays, and it is found again.
static void are_tried_again(void **state) {
    (void)state;
    World world;
    Error err;
    open_world(&world);
    RolloutFile file = read_old(0);
    size_t N = file.sets[1].N;
    file.sets[1].N = (size_t)INT32_MAX + 1;
    assert_status_error(rollout_convert(&world.workspace, &file, &err), STATUS_BAD_INPUT, err,
                        "expected at most 2^31 - 1 particles");
    assert_true(rollout_lacks_motion(&file) && !file.has_motion && !file.motion.position && !file.motion_owner);
    file.sets[1].N = N;
    assert_status_ok(rollout_convert(&world.workspace, &file, &err), err);
    assert_true(!rollout_lacks_motion(&file) && file.sets[0].body);
    rollout_file_free(&file);
    close_world(&world);
}

// A copy of the file in which an array of a cloud is gone or has other rows.
static void spoil(const char *path, const char *name, hid_t type, int rank, const hsize_t *dims) {
    char from[512], command[1200];
    old_path(from, 1);
    snprintf(command, sizeof command, "cp %s %s", from, path);
    assert_int_equal(system(command), 0);
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    assert_true(file >= 0 && H5Ldelete(file, name, H5P_DEFAULT) >= 0);
    if (rank > 0) {
        hid_t space = H5Screate_simple(rank, dims, NULL);
        hid_t array = H5Dcreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        assert_true(array >= 0);
        H5Dclose(array);
        H5Sclose(space);
    }
    H5Fclose(file);
}

static void wrong_clouds(void **state) {
    (void)state;
    char folder[64], path[128];
    Error err;
    RolloutFile file;
    test_make_folder(folder);
    snprintf(path, sizeof path, "%s/bad.h5", folder);
    spoil(path, "past/cloud_colour", H5T_NATIVE_UINT8, 0, NULL);
    assert_status_error(rollout_file_read(path, &file, &err), STATUS_BAD_INPUT, err, "/past/cloud_colour: expected");
    spoil(path, "now/cloud_colour", H5T_NATIVE_UINT8, 2, (hsize_t[]){9, 3});
    assert_status_error(rollout_file_read(path, &file, &err), STATUS_BAD_INPUT, err, "/now/cloud_colour: expected u8");
    spoil(path, "now/cloud_moving", H5T_NATIVE_FLOAT, 1, (hsize_t[]){1479});
    assert_status_error(rollout_file_read(path, &file, &err), STATUS_BAD_INPUT, err, "/now/cloud_moving: expected u8");
    spoil(path, "now/cloud_moving", H5T_NATIVE_UINT8, 0, NULL); // none moves then
    assert_status_ok(rollout_file_read(path, &file, &err), err);
    assert_true(file.clouds[0].count == 1479 && !file.clouds[0].moving);
    rollout_file_free(&file);
    // Without the points of the frame before there is no motion, and so no first step.
    World world;
    open_world(&world);
    spoil(path, "past/cloud_positions", H5T_NATIVE_FLOAT, 0, NULL);
    assert_status_ok(rollout_file_read(path, &file, &err), err);
    file.steps = 0;
    assert_status_error(rollout_simulate(&world.workspace, &file, 1, NULL, &err), STATUS_BAD_INPUT, err,
                        "found no motion field");
    assert_false(file.has_motion);
    rollout_file_free(&file);
    close_world(&world);
    test_remove_folder(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(are_edited), cmocka_unit_test(become_bodies),
                                       cmocka_unit_test(are_tried_again), cmocka_unit_test(wrong_clouds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
