// SPDX-License-Identifier: Apache-2.0
// make_world FOLDER: the files that tests of the library need, which cannot make them since they see api/vpd.h alone.
//   data.h5      three episodes of a ball over a floor (tests/infer_world.h)
//   model.h5     a tiny model that moves things; other.h5 one with 7 features; diverged.h5 with weights that are no
//                numbers
//   frames.bin   rgb, depth, mask, intrinsics, world_from_camera, time of frames 2, 3 of views 0, 1
//   expected.h5  4 steps from frame 3 of episode 000002, as `vpd rollout` writes it; raw.h5: the same by raw weights
//   expected_edit.h5  its step 2, edited as `vpd edit` does
//   recording/   frame 0 of the ball as three pictures in the layout "hololens", depth in millimetres
#include "base/file.h"
#include "base/image.h"
#include "edit/edit.h"
#include "infer/session.h"
#include "tests/infer_world.h"

enum { START = 3, STEPS = 4 };

static const char *folder;

static const char *place(const char *name) {
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void save(const World *world, const char *name) {
    Error err = {0};
    CheckpointMeta meta = {.config = world->model->config, .step = 7, .best_score = NAN, .time_step = WORLD_STEP};
    CheckpointBlocks blocks = {0};
    assert_status_ok(checkpoint_save(place(name), &world->model->parameters, &blocks, &meta, &err), err);
}

static void put(FILE *file, const void *data, size_t bytes) { assert_int_equal(fwrite(data, 1, bytes, file), bytes); }

static void save_frames(const World *world) {
    FILE *file = fopen(place("frames.bin"), "wb");
    Frames f = {0};
    Error err = {0};
    FrameRequest request = {.episode = 2, .first = START - 1, .count = 2, .views = (int[]){0, 1}, .view_count = 2};
    assert_non_null(file);
    assert_status_ok(dataset_read_frames(world->dataset, request, &f, &err), err);
    size_t pixels = (size_t)f.F * (size_t)f.V * (size_t)f.H * (size_t)f.W, images = (size_t)f.F * (size_t)f.V;
    put(file, f.rgb, 3 * pixels);
    put(file, f.depth, pixels * sizeof *f.depth);
    put(file, f.mask, pixels * sizeof *f.mask);
    put(file, f.intrinsics, 9 * (size_t)f.V * sizeof(double));
    put(file, f.world_from_camera, 16 * images * sizeof(double));
    put(file, f.time, (size_t)f.F * sizeof(double));
    assert_int_equal(fclose(file), 0);
    frames_free(&f);
}

static void save_rollout(World *world, bool raw, const char *name) {
    Session session = {0};
    RolloutFile r;
    Error err = {0};
    SessionOptions options = {.checkpoint = place("model.h5"), .device = "cpu", .threads = 1, .raw = raw};
    assert_status_ok(session_open(&session, &options, &err), err);
    assert_status_ok(world_rollout(world, 2, START, STEPS, &r, &err), err);
    session_sign(&session, &r);
    assert_status_ok(rollout_file_write(&r, place(name), &err), err);
    rollout_file_free(&r);
    session_close(&session);
}

// What `vpd edit --step 2` makes of it, with the edits of edit_test.c.
static void save_edited(const char *from, const char *name) {
    static const char *const edits[] = {"move: {label: object 0, by: [0.1, 0, 0.2]}",
                                        "copy: {label: 1, by: [0.3, 0, 0], as: twin}",
                                        "remove: {height: {below: -50}, if_empty: skip}"};
    RolloutFile file;
    Device *device = NULL;
    EditReport report;
    Error err = {0};
    EditList *list = edit_list_create();
    assert_non_null(list);
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++)
        assert_status_ok(edit_list_add(list, "--do", edits[i], &err), err);
    assert_status_ok(rollout_file_read(place(from), &file, &err), err);
    assert_status_ok(device_open("cpu", 1, &device, &err), err);
    assert_status_ok(edit_apply(list, device, NULL, 2, &file, &report, &err), err);
    assert_status_ok(rollout_file_write(&file, place(name), &err), err);
    device_close(device);
    edit_list_free(list);
    rollout_file_free(&file);
}

static void save_numbers(FILE *file, const double *values, int count, int row) {
    for (int i = 0; i < count; i++) fprintf(file, "%.17g%s", values[i], (i + 1) % row ? " " : "\n");
}

// The K of the layout has whole-number pixel centres.
static void save_recording(const World *world) {
    const EpisodeInfo *info = dataset_episode(world->dataset, 0);
    size_t pixels = (size_t)info->H * (size_t)info->W;
    char name[64];
    double K[9];
    Error err = {0};
    assert_status_ok(file_make_folders(place("recording/images"), &err), err);
    assert_status_ok(file_make_folders(place("recording/depth"), &err), err);
    FILE *lens = fopen(place("recording/K.txt"), "w"), *poses = fopen(place("recording/poses.txt"), "w");
    assert_true(lens && poses);
    memcpy(K, info->intrinsics, sizeof K);
    K[2] -= 0.5, K[5] -= 0.5;
    save_numbers(lens, K, 9, 3);
    for (int v = 0; v < info->V; v++) {
        Image rgb = {info->H, info->W, 3, PIXEL_U8, world->scene.rgb + 3 * pixels * (size_t)v}, depth;
        assert_status_ok(image_create(info->H, info->W, 1, PIXEL_U16, &depth, &err), err);
        for (size_t i = 0; i < pixels; i++)
            ((uint16_t *)depth.pixels)[i] = (uint16_t)lrintf(1000 * world->scene.depth[pixels * (size_t)v + i]);
        snprintf(name, sizeof name, "recording/images/%05d.png", v);
        assert_status_ok(image_write_png(&rgb, place(name), &err), err);
        snprintf(name, sizeof name, "recording/depth/%05d.png", v);
        assert_status_ok(image_write_png(&depth, place(name), &err), err);
        save_numbers(poses, episode_pose(info, 0, v), 16, 16);
        image_free(&depth);
    }
    assert_int_equal(fclose(lens), 0);
    assert_int_equal(fclose(poses), 0);
}

int main(int argc, char **argv) {
    World world;
    Error err = {0};
    if (argc != 2) return 2;
    folder = argv[1];
    world_open(&world, WORLD_PLAIN);
    assert_status_ok(scene_write(place("data.h5"), &world.scene, WORLD_PLAIN.episodes, &err), err);
    world_model(&world, (const char *[]){"model.D=7", NULL}, false);
    save(&world, "other.h5");
    world_model(&world, NULL, true);
    save(&world, "model.h5");
    save_frames(&world);
    save_recording(&world);
    save_rollout(&world, false, "expected.h5");
    save_rollout(&world, true, "raw.h5");
    save_edited("expected.h5", "expected_edit.h5");
    for (size_t i = 0; i < world.model->parameters.size; i++) world.model->parameters.values[i] = 3e38f;
    save(&world, "diverged.h5");
    world_close(&world);
    return 0;
}
