// SPDX-License-Identifier: Apache-2.0
// Writer and reader: what goes in comes out, whatever the layout and the folder.
#include "base/file.h"
#include "base/random.h"
#include "datasets/dataset_private.h"
#include "datasets/h5_write.h"
#include "datasets/pixels.h"
#include "tests/dataset_scene.h"
#include "tests/dataset_work_folder.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

// Every array of a read against the scene it was written from; u16 depth is off by half a unit at most.
static void check_frames(const Scene *scene, const Frames *frames) {
    const EpisodeInfo *info = &scene->info;
    size_t pixels = (size_t)info->H * (size_t)info->W;
    for (int i = 0; i < frames->F * frames->V; i++) {
        int f = frames->first + i / frames->V * frames->stride, v = frames->views[i % frames->V];
        size_t from = ((size_t)f * (size_t)info->V + (size_t)v) * pixels, to = (size_t)i * pixels;
        assert_memory_equal(frames->rgb + 3 * to, scene->rgb + 3 * from, 3 * pixels);
        if (frames->mask) assert_memory_equal(frames->mask + to, scene->mask + from, 2 * pixels);
        for (size_t p = 0; p < pixels; p++)
            assert_close(frames->depth[to + p], scene->depth[from + p],
                         info->depth_is_u16 ? 0.51 * info->depth_scale : 0, 0);
        assert_memory_equal(frames->world_from_camera + 16 * i, episode_pose(info, f, v), 16 * sizeof(double));
        assert_memory_equal(frames->intrinsics + 9 * (i % frames->V), info->intrinsics + 9 * v, 9 * sizeof(double));
        assert_true(frames->time[i / frames->V] == scene->time[f]);
        assert_memory_equal(frames->actions + 2 * (i / frames->V), scene->actions + 2 * f, 2 * sizeof(float));
        assert_memory_equal(frames->object_position + 3 * (i / frames->V), scene->position + 3 * f, 3 * sizeof(double));
        assert_memory_equal(frames->object_quaternion + 4 * (i / frames->V), scene->quaternion + 4 * f,
                            4 * sizeof(double));
    }
}

static void round_trip(int F, int V, int H, int W, int flags, bool u16, bool mask) {
    Error err = {0};
    Scene scene = scene_make(F, V, H, W, flags);
    Frames frames = {0};
    scene.info.depth_is_u16 = u16;
    scene.info.depth_scale = u16 ? 1.0 / 4096 : 1;
    scene.info.has_mask = mask;
    scene_finish(&scene);
    assert_status_ok(scene_write(path, &scene, 2, &err), err);
    Dataset *dataset = open_good(path);
    const EpisodeInfo *info = dataset_episode(dataset, 1);
    assert_int_equal(dataset_episode_count(dataset), 2);
    assert_int_equal(info->F, F);
    assert_int_equal(info->V, V);
    assert_int_equal(info->split, SPLIT_VAL);
    assert_int_equal(info->has_mask, mask);
    assert_int_equal(info->moving_cameras, (flags & SCENE_MOVING) != 0);
    assert_string_equal(info->scene, "ball");
    assert_int_equal(info->heldout_count, V > 2);
    assert_true(info->even_time);
    assert_close(info->time_step, F > 1 ? 0.1 : 0, 1e-9, 0);
    assert_status_ok(dataset_read_frames(dataset, (FrameRequest){.episode = 1, .count = F}, &frames, &err), err);
    assert_true((frames.mask != NULL) == mask);
    check_frames(&scene, &frames);
    const void *rgb = frames.rgb; // warm: the same memory again
    int views[1] = {V - 1};
    FrameRequest part = {
        .episode = 1, .first = F > 2, .count = F > 2 ? (F - 1) / 2 : 1, .stride = 2, .views = views, .view_count = 1};
    assert_status_ok(dataset_read_frames(dataset, part, &frames, &err), err);
    check_frames(&scene, &frames);
    assert_true((uintptr_t)frames.rgb <= (uintptr_t)rgb);
    frames_free(&frames);
    dataset_close(dataset);
    scene_free(&scene);
}

static void test_round_trip(void **state) {
    (void)state;
    round_trip(5, 3, 16, 24, 0, true, true);
    round_trip(5, 3, 16, 24, SCENE_MOVING, false, true);
    round_trip(1, 1, 1, 1, 0, false, false);
    round_trip(1, 90, 7, 13, SCENE_MOVING, true, false);
    round_trip(6, 2, 33, 31, 0, false, true);
}

static void test_info(void **state) {
    (void)state;
    Error err = {0};
    int found[2];
    Scene scene = scene_make(2, 3, 4, 5, 0);
    Property properties[] = {{"gravity", 9.81}, {"mass", 2}};
    scene_finish(&scene);
    scene.info.properties = properties;
    scene.info.property_count = 2;
    assert_status_ok(scene_write(path, &scene, 4, &err), err);
    Dataset *dataset = open_good(path);
    const DatasetInfo *info = dataset_info(dataset);
    assert_string_equal(info->name, "scene");
    assert_string_equal(info->licence, "CC0-1.0");
    assert_string_equal(info->generator, "vpd");
    assert_int_equal(info->missing_depth, MISSING_SKY);
    assert_int_equal(dataset_find_split(dataset, SPLIT_TRAIN, found, 2), 2);
    assert_int_equal(found[0], 0);
    assert_int_equal(found[1], 3);
    const EpisodeInfo *episode = dataset_episode(dataset, 2);
    assert_true(episode_view_is_heldout(episode, 2) && !episode_view_is_heldout(episode, 0));
    assert_int_equal(episode->property_count, 2);
    assert_string_equal(episode->properties[0].name, "gravity");
    assert_true(episode->properties[1].value == 2 && episode->bounds[3] == 1);
    dataset_close(dataset);
    scene_free(&scene);
}

// A recording with its first frame at 0 and the others so many seconds later, whose usual step is `step`.
static void check_times(int F, const double *later, bool even, double step) {
    Error err = {0};
    Scene scene = scene_make(F, 1, 4, 5, 0);
    scene.time[0] = 0;
    for (int f = 1; f < F; f++) scene.time[f] = later[f - 1];
    scene_finish(&scene);
    assert_status_ok(scene_write(path, &scene, 1, &err), err);
    Dataset *dataset = open_good(path);
    assert_true(dataset_episode(dataset, 0)->even_time == even);
    assert_close(dataset_episode(dataset, 0)->time_step, step, 1e-9, 0);
    dataset_close(dataset);
    scene_free(&scene);
}

// 60 frames a second by a clock of milliseconds.
static void test_clock(void **state) {
    (void)state;
    check_times(6, (const double[]){0.017, 0.033, 0.05, 0.067, 0.083}, true, 0.0166);
}

// Frames are missing, and the clock is not exact.
static void test_gaps(void **state) {
    (void)state;
    check_times(7, (const double[]){0.1, 0.21, 0.41, 0.5, 0.8, 0.9}, false, 0.1);
}

static void test_folder(void **state) {
    (void)state;
    Error err = {0};
    char second[128], stranger[128];
    Scene a = scene_make(2, 2, 4, 5, 0), b = scene_make(3, 1, 6, 5, SCENE_MOVING);
    Frames frames = {0};
    scene_finish(&a);
    scene_finish(&b);
    snprintf(second, sizeof second, "%s/b.hdf5", folder);
    snprintf(stranger, sizeof stranger, "%s/notes.txt", folder);
    fclose(fopen(stranger, "w"));
    assert_status_ok(scene_write(path, &a, 2, &err), err);
    assert_status_ok(scene_write(second, &b, 1, &err), err);
    Dataset *dataset = open_good(folder);
    assert_int_equal(dataset_info(dataset)->file_count, 2);
    assert_int_equal(dataset_episode_count(dataset), 3);
    assert_status_ok(dataset_read_frames(dataset, (FrameRequest){.episode = 2, .count = 3}, &frames, &err), err);
    check_frames(&b, &frames);
    frames_free(&frames);
    dataset_close(dataset);
    scene_free(&a);
    scene_free(&b);
}

static void test_bad_requests(void **state) {
    (void)state;
    Error err = {0};
    int views[1] = {2};
    Scene scene = scene_make(4, 2, 4, 5, 0);
    Frames frames = {0};
    scene_finish(&scene);
    assert_status_ok(scene_write(path, &scene, 1, &err), err);
    Dataset *dataset = open_good(path);
    assert_status_error(dataset_read_frames(dataset, (FrameRequest){.first = 1, .count = 4}, &frames, &err),
                        STATUS_BAD_INPUT, err, "expected frames within 0 to 3");
    assert_status_error(dataset_read_frames(dataset, (FrameRequest){.count = 2, .stride = 4}, &frames, &err),
                        STATUS_BAD_INPUT, err, "expected frames within 0 to 3");
    assert_status_error(
        dataset_read_frames(dataset, (FrameRequest){.count = 1, .views = views, .view_count = 1}, &frames, &err),
        STATUS_BAD_INPUT, err, "expected views within 0 to 1");
    frames_free(&frames);
    dataset_close(dataset);
    scene_free(&scene);
}

// Writes the pixels of a scene in another layout over those of the file.
static void rewrite(const char *name, H5Kind kind, const Scene *scene, const void *values, hid_t type,
                    const hsize_t *chunk, bool deflate) {
    const EpisodeInfo *info = &scene->info;
    hsize_t dims[5] = {(hsize_t)info->F, (hsize_t)info->V, (hsize_t)info->H, (hsize_t)info->W, 3};
    int rank = kind == H5_U8 ? 5 : 4;
    h5_lock();
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT), plist = H5Pcreate(H5P_DATASET_CREATE);
    hid_t group = H5Gopen2(file, "/episodes/000000", H5P_DEFAULT), space = H5Screate_simple(rank, dims, NULL);
    if (chunk) H5Pset_chunk(plist, rank, chunk);
    if (deflate) H5Pset_fletcher32(plist), H5Pset_deflate(plist, 6);
    assert_true(H5Ldelete(group, name, H5P_DEFAULT) >= 0);
    hid_t array = H5Dcreate2(group, name, type, space, H5P_DEFAULT, plist, H5P_DEFAULT);
    assert_true(H5Dwrite(array, h5_kind_memory_type(kind), H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    H5Dclose(array), H5Sclose(space), H5Pclose(plist), H5Gclose(group), H5Fclose(file);
    h5_unlock();
}

// Contiguous, odd chunks, other filter orders and the other byte order are slower, not wrong.
static void test_layouts(void **state) {
    (void)state;
    Error err = {0};
    Scene scene = scene_make(3, 2, 10, 12, 0);
    Frames frames = {0};
    scene_finish(&scene);
    assert_status_ok(scene_write(path, &scene, 1, &err), err);
    rewrite("rgb", H5_U8, &scene, scene.rgb, H5T_STD_U8LE, NULL, false);
    rewrite("depth", H5_F32, &scene, scene.depth, H5T_IEEE_F32BE, (hsize_t[]){1, 1, 10, 12}, true);
    rewrite("mask", H5_U16, &scene, scene.mask, H5T_STD_U16LE, (hsize_t[]){2, 2, 7, 5}, true);
    Dataset *dataset = open_good(path);
    assert_status_ok(dataset_read_frames(dataset, (FrameRequest){.count = 3}, &frames, &err), err);
    check_frames(&scene, &frames);
    dataset_close(dataset);
    rewrite("rgb", H5_U8, &scene, scene.rgb, H5T_STD_U8LE, (hsize_t[]){1, 1, 10, 12, 3},
            true); // checksum below deflate
    rewrite("depth", H5_F32, &scene, scene.depth, H5T_IEEE_F32LE, (hsize_t[]){1, 1, 10, 12}, true);
    dataset = open_good(path);
    assert_status_ok(dataset_read_frames(dataset, (FrameRequest){.count = 3}, &frames, &err), err);
    check_frames(&scene, &frames);
    dataset_close(dataset);
    frames_free(&frames);
    scene_free(&scene);
}

// Non-finite depth counts as missing; a negative one is refused.
static void test_depth_values(void **state) {
    (void)state;
    Error err = {0};
    Scene scene = scene_make(2, 1, 4, 5, 0);
    Frames frames = {0};
    scene_finish(&scene);
    scene.depth[3] = NAN;
    scene.depth[4] = INFINITY;
    scene.depth[20 + 7] = -0.5f;
    assert_status_ok(scene_write(path, &scene, 1, &err), err);
    Dataset *dataset = open_good(path);
    assert_status_ok(dataset_read_frames(dataset, (FrameRequest){.count = 1}, &frames, &err), err);
    assert_true(frames.depth[3] == 0 && frames.depth[4] == 0);
    assert_status_error(dataset_read_frames(dataset, (FrameRequest){.count = 2}, &frames, &err), STATUS_BAD_INPUT, err,
                        "found -0.5 in frame 1, view 0, row 1, column 2");
    frames_free(&frames);
    dataset_close(dataset);
    scene_free(&scene);
}

// Flips one byte of the file at a time inside the chunk area: the checksum must notice each one that is read.
static void test_damage(void **state) {
    (void)state;
    Error err = {0};
    Scene scene = scene_make(1, 1, 16, 16, 0);
    Frames frames = {0};
    scene_finish(&scene);
    for (int i = 0; i < 16 * 16 * 3; i++)
        scene.rgb[i] = (uint8_t)random4((RandomKey){1, RANDOM_TEST, 0, 0}, (uint64_t)i).v[0];
    assert_status_ok(scene_write(path, &scene, 1, &err), err);
    h5_lock();
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT),
          array = H5Dopen2(file, "/episodes/000000/rgb", H5P_DEFAULT);
    haddr_t address;
    hsize_t size, offset[5] = {0};
    unsigned mask;
    herr_t rc = H5Dget_chunk_info_by_coord(array, offset, &mask, &address, &size);
    H5Dclose(array), H5Fclose(file);
    h5_unlock();
    assert_true(rc >= 0);
    for (hsize_t at = 0; at < size; at += 37) {
        FILE *raw = fopen(path, "r+b");
        fseek(raw, (long)(address + at), SEEK_SET);
        int byte = fgetc(raw);
        fseek(raw, (long)(address + at), SEEK_SET);
        fputc(byte ^ 4, raw);
        fclose(raw);
        Dataset *dataset = open_good(path);
        assert_status_error(dataset_read_frames(dataset, (FrameRequest){.count = 1}, &frames, &err), STATUS_BAD_INPUT,
                            err, "rgb: the image of frame 0, view 0 does not match its checksum");
        dataset_close(dataset);
        raw = fopen(path, "r+b");
        fseek(raw, (long)(address + at), SEEK_SET);
        fputc(byte, raw);
        fclose(raw);
    }
    frames_free(&frames);
    scene_free(&scene);
}

// A write that dies or is given up leaves what was there before.
static void test_crash_safety(void **state) {
    (void)state;
    Error err = {0};
    Scene scene = scene_make(2, 2, 8, 8, 0);
    WriterOptions options = {0};
    DatasetWriter *writer;
    scene_finish(&scene);
    assert_status_ok(scene_write(path, &scene, 1, &err), err);
    assert_status_ok(dataset_writer_open(path, &options, &writer, &err), err);
    assert_status_ok(scene_put(writer, &scene, &err), err);
    dataset_writer_discard(writer);
    Dataset *dataset = open_good(path);
    assert_int_equal(dataset_episode_count(dataset), 1);
    dataset_close(dataset);
    // An episode that lacks an image is no episode.
    assert_status_ok(dataset_writer_open(path, &options, &writer, &err), err);
    assert_status_ok(dataset_writer_begin_episode(writer, &scene.info, &err), err);
    assert_status_error(dataset_writer_end_episode(writer, &err), STATUS_BAD_INPUT, err,
                        "frame 0, view 0 of episode 0");
    dataset_writer_discard(writer);
    // Nor is a camera that readers would refuse.
    scene.K[0] = -scene.K[0];
    assert_status_error(scene_write(path, &scene, 1, &err), STATUS_BAD_INPUT, err, "expected positive focal lengths");
    scene.K[0] = -scene.K[0];
    dataset = open_good(path);
    dataset_close(dataset);
    scene_free(&scene);
}

// In a child, with files cut off at 20 kB as a full disk would: the save fails with a sentence, the old file stays.
static int write_on_full_disk(Scene *scene) {
    Error err = {0};
    struct rlimit limit = {20000, 20000};
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
    if (scene_write(path, scene, 3, &err) != STATUS_FAILED) return 1;
    if (!strstr(err.text, "a.h5: cannot be written") || !strstr(err.text, "disk full")) return 2;
    return 0;
}

static void test_full_disk(void **state) {
    (void)state;
    Error err = {0};
    Scene scene = scene_make(6, 3, 64, 64, 0);
    scene_finish(&scene);
    assert_status_ok(scene_write(path, &scene, 1, &err), err);
    pid_t child = fork();
    if (child == 0) _exit(write_on_full_disk(&scene));
    int status;
    assert_true(waitpid(child, &status, 0) == child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    Dataset *dataset = open_good(path);
    assert_int_equal(dataset_episode_count(dataset), 1);
    dataset_close(dataset);
    FileList left = {0}; // nor is a temporary file left behind
    assert_status_ok(file_list(folder, &left, &err), err);
    assert_int_equal(left.count, 1);
    file_list_free(&left);
    scene_free(&scene);
}

// SIGKILL at any moment of a save: the old file or the new one is there, whole.
static void test_killed(void **state) {
    (void)state;
    Error err = {0};
    Scene scene = scene_make(4, 3, 24, 32, 0);
    scene_finish(&scene);
    assert_status_ok(scene_write(path, &scene, 1, &err), err);
    for (int i = 0; i < 12; i++) {
        pid_t child = fork();
        if (child == 0) {
            for (int count = 1; scene_write(path, &scene, 1 + count % 3, NULL) == STATUS_OK; count++) {}
            _exit(1);
        }
        usleep(5000 + 2700 * (useconds_t)i);
        assert_int_equal(kill(child, SIGKILL), 0);
        int status;
        assert_true(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
        dataset_close(open_good(path));
    }
    scene_free(&scene);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_round_trip), TEST(test_info),         TEST(test_clock),     TEST(test_gaps),
        TEST(test_folder),     TEST(test_bad_requests), TEST(test_layouts),   TEST(test_depth_values),
        TEST(test_damage),     TEST(test_crash_safety), TEST(test_full_disk), TEST(test_killed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
