// SPDX-License-Identifier: Apache-2.0
// HDF5 before 2.2 believes that a chunk's bytes give a whole chunk and reads on behind them where they do not:
// datasets/h5_chunk.h counts them first.
#include "datasets/h5_write.h"
#include "tests/dataset_scene.h"
#include "tests/dataset_work_folder.h"

#include <zlib.h>

// A sound file with something else in its first episode.
typedef void Edit(hid_t episode);

static void write_edited(Edit *edit) {
    Error err = {0};
    Scene scene = scene_make(3, 3, 24, 32, 0);
    scene_finish(&scene);
    assert_status_ok(scene_write(path, &scene, 1, &err), err);
    scene_free(&scene);
    h5_lock();
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT), episode = H5Gopen2(file, "episodes/000000", H5P_DEFAULT);
    edit(episode);
    assert_true(H5Gclose(episode) >= 0 && H5Fclose(file) >= 0);
    h5_unlock();
}

// An array in one chunk, of which the file holds `size` zeros: deflated, or said to have gone through no filter.
static void write_chunk(hid_t where, const char *name, hid_t type, int rank, const hsize_t *dims, size_t size,
                        bool deflated) {
    uLongf packed = compressBound(size);
    Bytef *bytes = calloc(1, packed), *zeros = calloc(1, size);
    hid_t plist = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(rank, dims, NULL);
    if (H5Lexists(where, name, H5P_DEFAULT) > 0) H5Ldelete(where, name, H5P_DEFAULT);
    H5Pset_chunk(plist, rank, dims), H5Pset_deflate(plist, 1);
    hid_t array = H5Dcreate2(where, name, type, space, H5P_DEFAULT, plist, H5P_DEFAULT);
    if (deflated) compress(bytes, &packed, zeros, size);
    H5Dwrite_chunk(array, H5P_DEFAULT, deflated ? 0 : 1, (hsize_t[]){0, 0, 0, 0}, deflated ? packed : size, bytes);
    H5Dclose(array), H5Sclose(space), H5Pclose(plist);
    free(bytes), free(zeros);
}

// Too large for the child process to read (datasets/h5_probe.c).
enum { ACTIONS = 2000, ACTIONS_BYTES = 3 * ACTIONS * 4 };
static void actions_chunk(hid_t episode, size_t size, bool deflated) {
    write_chunk(episode, "actions", H5T_IEEE_F32LE, 2, (hsize_t[]){3, ACTIONS}, size, deflated);
}
static void chunk_inflates_short(hid_t episode) { actions_chunk(episode, ACTIONS_BYTES - 1, true); }
static void chunk_inflates_long(hid_t episode) { actions_chunk(episode, ACTIONS_BYTES + 1, true); }
static void chunk_skips_filters(hid_t episode) { actions_chunk(episode, 100, false); }
static void chunk_of_depth_short(hid_t episode) {
    write_chunk(episode, "depth", H5T_IEEE_F32LE, 4, (hsize_t[]){3, 3, 24, 32}, 20000, true);
}

// Sound chunks of all kinds: one that goes beyond the end and past the filters, one past the filters, one deflated.
static void times_in_chunks(hid_t episode) {
    hid_t plist = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(1, (hsize_t[]){3}, NULL);
    H5Ldelete(episode, "time", H5P_DEFAULT);
    H5Pset_chunk(plist, 1, (hsize_t[]){2}), H5Pset_shuffle(plist), H5Pset_deflate(plist, 1), H5Pset_fletcher32(plist);
    H5Pset_chunk_opts(plist, H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS);
    hid_t array = H5Dcreate2(episode, "time", H5T_IEEE_F64BE, space, H5P_DEFAULT, plist, H5P_DEFAULT);
    H5Dwrite(array, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, ((double[]){0, 1, 7}));
    H5Dclose(array), H5Sclose(space), H5Pclose(plist);
}
static void actions_past_filters(hid_t episode) { actions_chunk(episode, ACTIONS_BYTES, false); }
static void actions_deflated(hid_t episode) { actions_chunk(episode, ACTIONS_BYTES, true); }

static void test_wrong_chunks(void **state) {
    (void)state;
    Edit *const edits[] = {chunk_inflates_short, chunk_inflates_long, chunk_skips_filters};
    for (size_t i = 0; i < sizeof edits / sizeof edits[0]; i++) {
        Error err = {0};
        Dataset *dataset;
        write_edited(edits[i]);
        assert_status_error(dataset_open(path, &dataset, &err), STATUS_BAD_INPUT, err,
                            "000000/actions: a chunk has the wrong number of bytes; the file is damaged");
        assert_null(dataset);
    }
}

static void test_sound_chunks(void **state) {
    (void)state;
    Edit *const edits[] = {times_in_chunks, actions_past_filters, actions_deflated};
    for (size_t i = 0; i < sizeof edits / sizeof edits[0]; i++) {
        Error err = {0};
        Dataset *dataset;
        write_edited(edits[i]);
        assert_status_ok(dataset_open(path, &dataset, &err), err);
        assert_true(dataset_episode(dataset, 0)->time[2] == (edits[i] == times_in_chunks ? 7 : 0.2));
        assert_int_equal(dataset_episode(dataset, 0)->A, edits[i] == times_in_chunks ? 2 : ACTIONS);
        dataset_close(dataset);
    }
}

static void test_short_chunk_of_images(void **state) {
    (void)state;
    Error err = {0};
    Dataset *dataset;
    Frames frames = {0};
    write_edited(chunk_of_depth_short);
    assert_status_ok(dataset_open(path, &dataset, &err), err);
    assert_status_error(dataset_read_frames(dataset, (FrameRequest){.count = 1}, &frames, &err), STATUS_BAD_INPUT, err,
                        "000000/depth: the image of frame 0, view 0 cannot be read");
    frames_free(&frames);
    dataset_close(dataset);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_wrong_chunks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_sound_chunks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_short_chunk_of_images, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
