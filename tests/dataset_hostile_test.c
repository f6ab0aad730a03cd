// SPDX-License-Identifier: Apache-2.0
// Files from strangers: links, storage and sizes that a data set must not have, files of other kinds, damaged and cut
// ones. Each is refused with one sentence.
#include "base/file.h"
#include "tests/dataset_break.h"

#include <sys/stat.h>

static void soft_rgb(Broken b) {
    drop(b.episode, "rgb"), H5Lcreate_soft("/episodes/000001/rgb", b.episode, "rgb", 0, 0);
}
static void external_rgb(Broken b) {
    drop(b.episode, "rgb"), H5Lcreate_external("/etc/passwd", "/rgb", b.episode, "rgb", 0, 0);
}
static void soft_episode(Broken b) { H5Lcreate_soft("/episodes/000000", b.file, "/episodes/000002", 0, 0); }
static void odd_name(Broken b) { H5Gclose(H5Gcreate2(b.file, "/episodes/a\nb", 0, 0, 0)); }

static const hsize_t RGB_DIMS[5] = {3, 3, 6, 8, 3}, RGB_CHUNK[5] = {1, 1, 6, 8, 3};

// rgb again, made with another property list; nothing is written into it.
static void replace_rgb(Broken b, hid_t plist, const hsize_t *dims) {
    drop(b.episode, "rgb");
    hid_t space = H5Screate_simple(5, dims, NULL);
    H5Dclose(H5Dcreate2(b.episode, "rgb", H5T_STD_U8LE, space, H5P_DEFAULT, plist, H5P_DEFAULT));
    H5Sclose(space), H5Pclose(plist);
}

static void rgb_virtual(Broken b) {
    hid_t plist = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(5, RGB_DIMS, NULL);
    H5Pset_virtual(plist, space, "/etc/passwd", "rgb", space);
    H5Sclose(space);
    replace_rgb(b, plist, RGB_DIMS);
}
static void rgb_external_storage(Broken b) {
    hid_t plist = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_external(plist, "/etc/passwd", 0, 3 * 3 * 6 * 8 * 3);
    replace_rgb(b, plist, RGB_DIMS);
}
static void rgb_other_filter(Broken b) {
    hid_t plist = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(plist, 5, RGB_CHUNK), H5Pset_scaleoffset(plist, H5Z_SO_INT, 2);
    replace_rgb(b, plist, RGB_DIMS);
}
// A filter that HDF5 would look for among plug-ins, which are code from a stranger.
static void rgb_plugin_filter(Broken b) {
    hid_t plist = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(plist, 5, RGB_CHUNK), H5Pset_filter(plist, 32001, H5Z_FLAG_OPTIONAL, 0, NULL);
    replace_rgb(b, plist, RGB_DIMS);
}
static void rgb_never_written(Broken b) { replace_rgb(b, H5Pcreate(H5P_DATASET_CREATE), RGB_DIMS); }
static void rgb_huge(Broken b) {
    hid_t plist = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(plist, 5, (hsize_t[]){1, 1, 1024, 1024, 3}), H5Pset_deflate(plist, 4);
    replace_rgb(b, plist, (hsize_t[]){1000000, 4, 1024, 1024, 3});
}
static void rgb_overflow(Broken b) {
    hid_t plist = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(plist, 5, RGB_CHUNK);
    replace_rgb(b, plist, (hsize_t[]){(hsize_t)1 << 40, (hsize_t)1 << 20, 6, 8, 3});
}
static void rgb_wide(Broken b) {
    drop(b.episode, "rgb");
    h5_write_array(b.episode, "rgb", H5_U8, 5, (const size_t[]){1, 1, 1, 17000, 3}, (const uint8_t[3 * 17000]){0});
}
static void rgb_big_chunk(Broken b) {
    hid_t plist = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(plist, 5, (hsize_t[]){1, 1, 16384, 16384, 3}), H5Pset_deflate(plist, 4);
    replace_rgb(b, plist, (hsize_t[]){3, 3, 16384, 16384, 3});
}

static const GuardCase CASES[] = {
    {soft_rgb, "000000/rgb: expected an object of this file (hard link), found a soft link"},
    {external_rgb, "found an external or user-defined link"},
    {soft_episode, "a.h5:/episodes/000002: expected an object of this file, found a soft or external link"},
    {odd_name, "expected episode names of letters, digits"},
    {rgb_virtual, "expected data stored in this file, found a virtual layout"},
    {rgb_external_storage, "expected data stored in this file, found external storage"},
    {rgb_other_filter, "expected the filters shuffle, deflate and fletcher32 only, found filter 6"},
    {rgb_plugin_filter, "expected the filters shuffle, deflate and fletcher32 only, found filter 32001"},
    {rgb_never_written, "was it cut short or never filled?"},
    {rgb_huge, "declares 12582912000000 bytes but the file"},
    {rgb_overflow, "found u8 ["},
    {rgb_wide, "sides of 16384 pixels, found 1, 17000 x 1"},
    {rgb_big_chunk, "expected chunks of at most 268435456 bytes"},
};

static void test_storage(void **state) {
    (void)state;
    assert_refused(CASES, sizeof CASES / sizeof CASES[0]);
}

// ---- files that are no data set at all

static void write_bytes(const char *bytes, size_t count) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    fclose(file);
}

static void refuse(const char *name, const char *words) {
    Error err = {0};
    Dataset *dataset;
    assert_status_error(dataset_open(name, &dataset, &err), STATUS_BAD_INPUT, err, words);
}

static void test_foreign_files(void **state) {
    (void)state;
    char pipe_path[128];
    refuse("/nonexistent/a.h5", "/nonexistent/a.h5: cannot");
    refuse(folder, "expected a data set or a folder of them (.h5), found a folder without .h5 files");
    write_bytes("", 0);
    refuse(path, "expected an HDF5 file, found an empty file");
    write_bytes("\x89PNG\r\n\x1a\nrest", 12);
    refuse(path, "expected an HDF5 file, found a PNG");
    write_bytes("\x89HDF\r\n\x1a\n", 8);
    refuse(path, "expected an HDF5 file");
    snprintf(pipe_path, sizeof pipe_path, "%s/pipe.h5", folder);
    assert_int_equal(mkfifo(pipe_path, 0600), 0);
    refuse(pipe_path, "pipe.h5");
}

static void test_truncated(void **state) {
    (void)state;
    struct stat info;
    write_good();
    assert_int_equal(stat(path, &info), 0);
    for (off_t size = info.st_size - 1; size > 8; size -= info.st_size / 23) {
        write_good();
        assert_int_equal(truncate(path, size), 0);
        refuse(path, "expected an HDF5 file, found one that is damaged or cut short");
    }
}

// A file whose last images were never written opens, and says so when they are asked for.
static void half_written(Broken b) {
    const float images[2 * 48] = {1};
    hid_t plist = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(4, RGB_DIMS, NULL);
    hid_t memory = H5Screate_simple(4, (hsize_t[]){1, 1, 6, 8}, NULL);
    drop(b.episode, "depth");
    H5Pset_chunk(plist, 4, RGB_CHUNK), H5Pset_deflate(plist, 1);
    hid_t array = H5Dcreate2(b.episode, "depth", H5T_IEEE_F32LE, space, H5P_DEFAULT, plist, H5P_DEFAULT);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, (hsize_t[]){0, 0, 0, 0}, NULL, (hsize_t[]){1, 1, 6, 8}, NULL);
    H5Dwrite(array, H5T_NATIVE_FLOAT, memory, space, H5P_DEFAULT, images);
    H5Dclose(array), H5Sclose(memory), H5Sclose(space), H5Pclose(plist);
}

// Sets one byte of the file: where `pattern` (-1: any) ends.
static void set_byte(const int *pattern, size_t count, uint8_t value) {
    char *bytes;
    size_t size, at;
    Error err = {0};
    assert_status_ok(file_read_all(path, (size_t)1 << 24, &bytes, &size, &err), err);
    for (at = 0; at + count <= size; at++) {
        size_t i = 0;
        while (i < count && (pattern[i] < 0 || pattern[i] == (uint8_t)bytes[at + i])) i++;
        if (i == count) break;
    }
    assert_true(at + count <= size);
    bytes[at + count - 1] = (char)value;
    assert_status_ok(file_write_bytes(path, bytes, size, &err), err);
    free(bytes);
}

// What a newer library writes has versions that this one does not know; that is not called damage alone.
static void test_newer_library(void **state) {
    (void)state;
    Dataset *dataset;
    Error err = {0};
    const int superblock[] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n', -1};
    const int layout[] = {8, 0, -1, -1, -1, 0, 0, 0, 3, 2}; // message 8: version 3, in chunks
    write_good();
    set_byte(superblock, 9, 9);
    assert_status_error(dataset_open(path, &dataset, &err), STATUS_BAD_INPUT, err, "found one of a newer HDF5");
    assert_non_null(strstr(err.text, "h5repack --high=1 OLD.h5 NEW.h5"));
    // An array as HDF5 writes it by default, without checksums of its description.
    const hsize_t sides[2] = {4, 4};
    hid_t id = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), plist = H5Pcreate(H5P_DATASET_CREATE);
    hid_t space = H5Screate_simple(2, sides, NULL);
    H5Pset_chunk(plist, 2, sides);
    H5Dclose(H5Dcreate2(id, "rgb", H5T_STD_U8LE, space, H5P_DEFAULT, plist, H5P_DEFAULT));
    H5Sclose(space), H5Pclose(plist), H5Fclose(id);
    set_byte(layout, 9, 9);
    H5Place file;
    H5Array array;
    assert_status_ok(h5_open_file(path, &file, &err), err);
    assert_status_error(h5_open_array(&file, "rgb", true, &(H5Expect){.kinds = H5_U8, .rank = 2}, &array, NULL, &err),
                        STATUS_BAD_INPUT, err, "a.h5:/rgb: expected a file that HDF5");
    h5_close(&file);
}

static void test_half_written(void **state) {
    (void)state;
    Error err = {0};
    Dataset *dataset;
    Frames frames = {0};
    int view = 0;
    write_good();
    apply(half_written);
    assert_status_ok(dataset_open(path, &dataset, &err), err);
    FrameRequest first = {.count = 1, .views = &view, .view_count = 1};
    assert_status_ok(dataset_read_frames(dataset, first, &frames, &err), err);
    assert_status_error(dataset_read_frames(dataset, (FrameRequest){.count = 1}, &frames, &err), STATUS_BAD_INPUT, err,
                        "000000/depth: the image of frame 0, view 1 is not there");
    frames_free(&frames);
    dataset_close(dataset);
}

// Files that bring down HDF5 1.10.8 itself: it crashes on the first and never ends on the second.
static void test_library_holes(void **state) {
    (void)state;
    refuse("tests/reference/hostile/hdf5_crashes.h5", "hdf5_crashes.h5: expected an HDF5 file, found one");
    refuse("tests/reference/hostile/hdf5_finds_no_end.h5", "hdf5_finds_no_end.h5: expected an HDF5 file, found one");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_storage),       TEST(test_foreign_files), TEST(test_truncated),     TEST(test_half_written),
        TEST(test_newer_library), TEST(test_library_holes), TEST(test_planted_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
