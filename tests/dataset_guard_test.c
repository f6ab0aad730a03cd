// SPDX-License-Identifier: Apache-2.0
// Files from strangers: each broken in one way, each refused with one sentence that says where and what. Nothing is
// written to, and what stays legal is still read.
#include "base/file.h"
#include "datasets/h5_write.h"
#include "tests/dataset_scene.h"
#include "tests/dataset_work_folder.h"

#include <sys/stat.h>

static void write_good(void) {
    Error err = {0};
    Scene scene = scene_make(3, 3, 6, 8, 0);
    scene_finish(&scene);
    assert_status_ok(scene_write(path, &scene, 2, &err), err);
    scene_free(&scene);
}

// ---- ways to break a file: each gets the open file and its first episode

typedef struct Broken {
    hid_t file, episode;
} Broken;

typedef void Break(Broken b);

static void drop(hid_t where, const char *name) {
    if (H5Lexists(where, name, H5P_DEFAULT) > 0) H5Ldelete(where, name, H5P_DEFAULT);
}

static void drop_attribute(hid_t where, const char *name) {
    if (H5Aexists(where, name) > 0) H5Adelete(where, name);
}

static void replace_array(hid_t where, const char *name, H5Kind kind, int rank, const size_t *dims,
                          const void *values) {
    drop(where, name);
    h5_write_array(where, name, kind, rank, dims, values);
}

static void replace_text(hid_t where, const char *name, const char *text) {
    drop_attribute(where, name);
    h5_write_text(where, name, text);
}

// One element of a stored array of doubles.
static void poke(hid_t where, const char *name, size_t at, double value) {
    double values[4096];
    hid_t array = H5Dopen2(where, name, H5P_DEFAULT);
    H5Dread(array, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    values[at] = value;
    H5Dwrite(array, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    H5Dclose(array);
}

static const double ZEROS[8192];
#define DIMS(...) ((const size_t[]){__VA_ARGS__})

static void format_missing(Broken b) { drop_attribute(b.file, "format"); }
static void format_other(Broken b) { replace_text(b.file, "format", "kubric"); }
static void version_two(Broken b) {
    drop_attribute(b.file, "format_version");
    h5_write_u32s(b.file, "format_version", (const uint32_t[]){2, 0}, 2);
}
static void version_text(Broken b) { replace_text(b.file, "format_version", "1.0"); }
static void convention_opengl(Broken b) { replace_text(b.file, "camera_convention", "opengl"); }
static void unit_millimetres(Broken b) { replace_text(b.file, "length_unit", "mm"); }
static void missing_depth_odd(Broken b) { replace_text(b.file, "missing_depth", "fog"); }
static void no_episodes_group(Broken b) { drop(b.file, "episodes"); }
static void no_episodes(Broken b) { drop(b.file, "episodes"), h5_close_id(h5_create_group(b.file, "episodes")); }
static void split_missing(Broken b) { drop_attribute(b.episode, "split"); }
static void split_odd(Broken b) { replace_text(b.episode, "split", "validation"); }
static void split_number(Broken b) { drop_attribute(b.episode, "split"), h5_write_double(b.episode, "split", 1); }
static void scene_control(Broken b) { replace_text(b.episode, "scene", "a\x1b[31m"); }
static void scene_long(Broken b) {
    char text[2000];
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = 0;
    replace_text(b.episode, "scene", text);
}
static void rgb_missing(Broken b) { drop(b.episode, "rgb"); }
static void rgb_group(Broken b) { drop(b.episode, "rgb"), h5_close_id(h5_create_group(b.episode, "rgb")); }
static void rgb_u16(Broken b) { replace_array(b.episode, "rgb", H5_U16, 5, DIMS(3, 3, 6, 8, 3), ZEROS); }
static void rgb_signed(Broken b) { replace_array(b.episode, "rgb", H5_I8, 5, DIMS(3, 3, 6, 8, 3), ZEROS); }
static void rgb_rgba(Broken b) { replace_array(b.episode, "rgb", H5_U8, 5, DIMS(3, 3, 6, 8, 4), ZEROS); }
static void rgb_flat(Broken b) { replace_array(b.episode, "rgb", H5_U8, 4, DIMS(3, 3, 6, 8), ZEROS); }
static void depth_small(Broken b) { replace_array(b.episode, "depth", H5_F32, 4, DIMS(3, 3, 3, 4), ZEROS); }
static void depth_f64(Broken b) { replace_array(b.episode, "depth", H5_F64, 4, DIMS(3, 3, 6, 8), ZEROS); }
static void depth_unscaled(Broken b) { replace_array(b.episode, "depth", H5_U16, 4, DIMS(3, 3, 6, 8), ZEROS); }
static void scale_depth(Broken b, H5Kind kind, double scale) {
    replace_array(b.episode, "depth", kind, 4, DIMS(3, 3, 6, 8), ZEROS);
    hid_t depth = H5Dopen2(b.episode, "depth", H5P_DEFAULT);
    h5_write_double(depth, "scale", scale);
    H5Dclose(depth);
}
static void scale_negative(Broken b) { scale_depth(b, H5_U16, -0.001); }
static void scale_nan(Broken b) { scale_depth(b, H5_U16, NAN); }
static void scale_units(Broken b) { scale_depth(b, H5_U16, 1000); }
static void scale_on_f32(Broken b) { scale_depth(b, H5_F32, 0.001); }
static void mask_small(Broken b) { replace_array(b.episode, "mask", H5_U16, 4, DIMS(3, 3, 6, 7), ZEROS); }
static void mask_u8(Broken b) { replace_array(b.episode, "mask", H5_U8, 4, DIMS(3, 3, 6, 8), ZEROS); }
static void intrinsics_few(Broken b) { replace_array(b.episode, "intrinsics", H5_F64, 3, DIMS(2, 3, 3), ZEROS); }
static void intrinsics_f32(Broken b) { replace_array(b.episode, "intrinsics", H5_F32, 3, DIMS(3, 3, 3), ZEROS); }
static void intrinsics_nan(Broken b) { poke(b.episode, "intrinsics", 2, NAN); }
static void focal_negative(Broken b) { poke(b.episode, "intrinsics", 9, -100); }
static void focal_zero(Broken b) { poke(b.episode, "intrinsics", 4, 0); }
static void intrinsics_transposed(Broken b) { poke(b.episode, "intrinsics", 6, 32); }
static void pose_nan(Broken b) { poke(b.episode, "world_from_camera", 3, NAN); }
static void pose_infinite(Broken b) { poke(b.episode, "world_from_camera", 16 + 7, INFINITY); }
static void pose_mirrored(Broken b) {
    const double flipped[16] = {1, 0, 0, 0, 0, -1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
    for (size_t i = 0; i < 16; i++) poke(b.episode, "world_from_camera", 32 + i, flipped[i]);
}
static void pose_scaled(Broken b) {
    const double scaled[16] = {2, 0, 0, 0, 0, 2, 0, 0, 0, 0, 2, 0, 0, 0, 0, 1};
    for (size_t i = 0; i < 16; i++) poke(b.episode, "world_from_camera", i, scaled[i]);
}
static void pose_column_major(Broken b) {
    const double transposed[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0.5, 1, 2, 1};
    for (size_t i = 0; i < 16; i++) poke(b.episode, "world_from_camera", i, transposed[i]);
}
static void pose_last_row(Broken b) { poke(b.episode, "world_from_camera", 15, 2); }
static void pose_frames(Broken b) { replace_array(b.episode, "world_from_camera", H5_F64, 4, DIMS(2, 3, 4, 4), ZEROS); }
static void time_missing(Broken b) { drop(b.episode, "time"); }
static void time_short(Broken b) { replace_array(b.episode, "time", H5_F64, 1, DIMS(2), ZEROS); }
static void time_still(Broken b) { replace_array(b.episode, "time", H5_F64, 1, DIMS(3), ZEROS); }
static void time_nan(Broken b) { poke(b.episode, "time", 1, NAN); }
static void bounds_swapped(Broken b) { poke(b.episode, "bounds", 0, 5); }
static void heldout(Broken b, const int32_t *views, size_t count) {
    drop_attribute(b.episode, "heldout_views");
    h5_write_i32s(b.episode, "heldout_views", views, count);
}
static void heldout_far(Broken b) { heldout(b, (const int32_t[]){3}, 1); }
static void heldout_below(Broken b) { heldout(b, (const int32_t[]){-1}, 1); }
static void heldout_twice(Broken b) { heldout(b, (const int32_t[]){1, 1}, 2); }
static void heldout_all(Broken b) { heldout(b, (const int32_t[]){0, 1, 2}, 3); }
static void heldout_many(Broken b) { heldout(b, (const int32_t[]){0, 1, 2, 0}, 4); }
static void heldout_real(Broken b) {
    drop_attribute(b.episode, "heldout_views"), h5_write_double(b.episode, "heldout_views", 1);
}
static void actions_short(Broken b) { replace_array(b.episode, "actions", H5_F32, 2, DIMS(2, 2), ZEROS); }
static void actions_nan(Broken b) {
    const float values[6] = {0, 0, 0, NAN, 0, 0};
    replace_array(b.episode, "actions", H5_F32, 2, DIMS(3, 2), values);
}
static void objects_short(Broken b) {
    replace_array(b.episode, "state/object_position", H5_F64, 3, DIMS(2, 1, 3), ZEROS);
}
static void objects_nan(Broken b) { poke(b.episode, "state/object_position", 4, NAN); }
static void quaternions_few(Broken b) {
    replace_array(b.episode, "state/object_quaternion", H5_F64, 3, DIMS(3, 2, 4), ZEROS);
}

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
static void rgb_wide(Broken b) { replace_array(b.episode, "rgb", H5_U8, 5, DIMS(1, 1, 1, 17000, 3), ZEROS); }
static void rgb_big_chunk(Broken b) {
    hid_t plist = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(plist, 5, (hsize_t[]){1, 1, 16384, 16384, 3}), H5Pset_deflate(plist, 4);
    replace_rgb(b, plist, (hsize_t[]){3, 3, 16384, 16384, 3});
}

typedef struct GuardCase {
    Break *edit;
    const char *words;
} GuardCase;

static const GuardCase CASES[] = {
    {format_missing, "a.h5: expected a data set (format \"vpd-dataset\"), found an HDF5 file of another program"},
    {format_other, "a.h5: expected a data set (format \"vpd-dataset\"), found format \"kubric\""},
    {version_two, "expected format_version 1.x, found 2.0"},
    {version_text, "expected attribute format_version to hold whole numbers"},
    {convention_opengl, "expected attribute camera_convention \"opencv\", found \"opengl\"; the camera looks along +z"},
    {unit_millimetres, "expected attribute length_unit \"m\", found \"mm\"; convert depth, the translations"},
    {missing_depth_odd, "expected attribute missing_depth \"sky\" or \"unknown\", found \"fog\""},
    {no_episodes_group, "a.h5:/episodes: expected a group, found nothing"},
    {no_episodes, "a.h5:/episodes: expected at least one episode, found none"},
    {split_missing, "a.h5:/episodes/000000: expected the attribute split, found none"},
    {split_odd, "expected attribute split \"train\", \"val\" or \"test\", found \"validation\""},
    {split_number, "expected attribute split to be one text"},
    {scene_control, "expected plain text in attribute scene, found control characters"},
    {scene_long, "expected attribute scene of at most 511 bytes, found 1999"},
    {rgb_missing, "a.h5:/episodes/000000/rgb: expected an array, found nothing of that name"},
    {rgb_group, "a.h5:/episodes/000000/rgb: expected an array, found another kind of object"},
    {rgb_u16, "000000/rgb: expected u8 [F,V,H,W,3], found u16 [3,3,6,8,3]; the order is frames, views, rows"},
    {rgb_signed, "found i8 [3,3,6,8,3]"},
    {rgb_rgba, "found u8 [3,3,6,8,4]"},
    {rgb_flat, "found u8 [3,3,6,8]"},
    {depth_small, "000000/depth: expected u16 or f32 [F,V,H,W] = [3,3,6,8], found f32 [3,3,3,4]"},
    {depth_f64, "found f64 [3,3,6,8]"},
    {depth_unscaled, "000000/depth: expected the attribute scale, found none; write the metres per unit there"},
    {scale_negative, "expected attribute scale in metres per unit, above 0 and at most 1, found -0.001"},
    {scale_nan, "expected attribute scale in metres per unit"},
    {scale_units, "above 0 and at most 1, found 1000"},
    {scale_on_f32, "expected f32 metres without a scale, found scale 0.001"},
    {mask_small, "000000/mask: expected u16 [F,V,H,W] = [3,3,6,8], found u16 [3,3,6,7]"},
    {mask_u8, "found u8 [3,3,6,8]"},
    {intrinsics_few, "000000/intrinsics: expected f64 [V,3,3] = [3,3,3], found f64 [2,3,3]"},
    {intrinsics_f32, "found f32 [3,3,3]"},
    {intrinsics_nan, "intrinsics: expected finite numbers, found nan at element 2"},
    {focal_negative, "expected positive focal lengths, found -100"},
    {focal_zero, "expected positive focal lengths"},
    {intrinsics_transposed, "found another form in view 0; is it transposed?"},
    {pose_nan, "expected finite numbers, found nan in row 0, column 3 of frame 0, view 0"},
    {pose_infinite, "expected finite numbers, found inf in row 1, column 3 of frame 0, view 1"},
    {pose_mirrored, "expected a rotation with determinant +1, found -1.000 in frame 0, view 2: the camera is mirrored"},
    {pose_scaled, "R orthonormal within 0.005, found an error of 3 in frame 0, view 0"},
    {pose_column_major, "in the last row, found 0.5 1 2 1 in frame 0, view 0; is the matrix transposed?"},
    {pose_last_row, "expected 0 0 0 1 in the last row, found 0 0 0 2 in frame 0, view 0"},
    {pose_frames, "world_from_camera: expected f64 [V,4,4] or [F,V,4,4] = [3,4,4], found f64 [2,3,4,4]"},
    {time_missing, "000000/time: expected an array"},
    {time_short, "time: expected f64 [F] = [3], found f64 [2]"},
    {time_still, "time: expected strictly increasing seconds, found 0 after 0 at frame 1"},
    {time_nan, "time: expected finite numbers"},
    {bounds_swapped, "bounds: expected [lower, upper] corners"},
    {heldout_far, "expected heldout_views below the 3 views, found 3"},
    {heldout_below, "expected heldout_views below the 3 views, found -1"},
    {heldout_twice, "expected each of heldout_views once, found 1 twice"},
    {heldout_all, "expected a view that is not held out, found all 3"},
    {heldout_many, "expected attribute heldout_views to hold at most 3 numbers, found 4"},
    {heldout_real, "expected attribute heldout_views to hold whole numbers"},
    {actions_short, "actions: expected f32 [F,A] = [3,A], found f32 [2,2]"},
    {actions_nan, "actions: expected finite numbers, found nan in frame 1"},
    {objects_short, "state/object_position: expected f32 or f64 [F,O,3] = [3,O,3], found f64 [2,1,3]"},
    {objects_nan, "object_position: expected finite numbers"},
    {quaternions_few, "object_quaternion: expected f32 or f64 [F,O,4] = [3,1,4], found f64 [3,2,4]"},
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

static void apply(Break *edit) {
    h5_lock();
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT), episode = H5Gopen2(file, "/episodes/000000", H5P_DEFAULT);
    edit((Broken){file, episode});
    H5Gclose(episode), H5Fclose(file);
    h5_unlock();
}

static void test_broken_files(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        Error err = {0};
        Dataset *dataset = NULL;
        write_good();
        apply(CASES[i].edit);
        assert_status_error(dataset_open(path, &dataset, &err), STATUS_BAD_INPUT, err, CASES[i].words);
        assert_null(dataset);
        assert_non_null(strstr(err.text, folder)); // every sentence names the file
        assert_null(strchr(err.text, '\n'));
    }
}

// ---- what is legal though unusual

static void minor_newer(Broken b) {
    drop_attribute(b.file, "format_version");
    h5_write_u32s(b.file, "format_version", (const uint32_t[]){1, 7}, 2);
}
static void fixed_text(Broken b) {
    char padded[16] = "train   ";
    hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    H5Tset_size(type, 16), H5Tset_strpad(type, H5T_STR_NULLPAD);
    drop_attribute(b.episode, "split");
    hid_t attribute = H5Acreate2(b.episode, "split", type, space, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(attribute, type, padded);
    H5Aclose(attribute), H5Sclose(space), H5Tclose(type);
}
static void strange_extras(Broken b) {
    h5_write_text(b.episode, "note", "anything");
    h5_write_text(b.episode, "properties/colour", "red");
    H5Lcreate_soft("/nowhere", b.episode, "shortcut", H5P_DEFAULT, H5P_DEFAULT);
    h5_close_id(h5_create_group(b.file, "more"));
}
static void bounds_at_root(Broken b) {
    drop(b.episode, "bounds");
    h5_write_array(b.file, "bounds", H5_F64, 2, DIMS(2, 3), ((double[]){-3, -3, -3, 3, 3, 3}));
}

static void test_legal_files(void **state) {
    (void)state;
    Break *const edits[] = {minor_newer, fixed_text, strange_extras, bounds_at_root};
    for (size_t i = 0; i < sizeof edits / sizeof edits[0]; i++) {
        Error err = {0};
        Dataset *dataset;
        write_good();
        apply(edits[i]);
        assert_status_ok(dataset_open(path, &dataset, &err), err);
        assert_int_equal(dataset_episode(dataset, 0)->split, SPLIT_TRAIN);
        assert_true(dataset_episode(dataset, 0)->bounds[3] == (edits[i] == bounds_at_root ? 3 : 1));
        dataset_close(dataset);
    }
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

// The suite itself: an unbroken file must be accepted, or every refusal above means nothing.
static void leave_alone(Broken b) { (void)b; }

static void test_planted_error(void **state) {
    (void)state;
    Error err = {0};
    Dataset *dataset;
    write_good();
    apply(leave_alone);
    assert_status_ok(dataset_open(path, &dataset, &err), err);
    dataset_close(dataset);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_broken_files), TEST(test_legal_files),   TEST(test_foreign_files), TEST(test_truncated),
        TEST(test_half_written), TEST(test_newer_library), TEST(test_library_holes), TEST(test_planted_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
