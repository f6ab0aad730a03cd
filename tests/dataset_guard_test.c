// SPDX-License-Identifier: Apache-2.0
// Data sets that break one rule of the format each: refused with one sentence that says where and what. What is unusual
// but legal is read.
#include "tests/dataset_break.h"

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
    h5_write_version(b.file, 2, 0);
}
static void version_text(Broken b) { replace_text(b.file, "format_version", "1.0"); }
static void convention_opengl(Broken b) { replace_text(b.file, "camera_convention", "opengl"); }
static void unit_millimetres(Broken b) { replace_text(b.file, "length_unit", "mm"); }
static void missing_depth_odd(Broken b) { replace_text(b.file, "missing_depth", "fog"); }
static void no_episodes_group(Broken b) { drop(b.file, "episodes"); }
static void no_episodes(Broken b) { drop(b.file, "episodes"), h5_close_id(h5_create_group(b.file, "episodes")); }
static void convention_missing(Broken b) { drop_attribute(b.file, "camera_convention"); }
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
static void rgb_no_frames(Broken b) { replace_array(b.episode, "rgb", H5_U8, 5, DIMS(0, 3, 6, 8, 3), ZEROS); }
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
static void quaternion_zero(Broken b) {
    for (size_t i = 4; i < 8; i++) poke(b.episode, "state/object_quaternion", i, 0);
}

static const GuardCase CASES[] = {
    {format_missing, "a.h5: expected a data set (format \"vpd-dataset\"), found an HDF5 file of another program"},
    {format_other, "a.h5: expected a data set (format \"vpd-dataset\"), found format \"kubric\""},
    {version_two, "expected format_version 1.x, found 2.0"},
    {version_text, "expected attribute format_version to hold whole numbers"},
    {convention_opengl, "expected attribute camera_convention \"opencv\", found \"opengl\"; the camera looks along +z"},
    {convention_missing, "expected attribute camera_convention \"opencv\", found none; the camera looks along +z"},
    {rgb_no_frames, "000000/rgb: expected u8 [F,V,H,W,3], found u8 [0,3,6,8,3]"},
    {unit_millimetres, "expected attribute length_unit \"m\", found \"mm\"; convert depth, the translations"},
    {missing_depth_odd, "expected attribute missing_depth \"sky\" or \"unknown\", found \"fog\""},
    {no_episodes_group, "a.h5:/episodes: expected a group, found no object"},
    {no_episodes, "a.h5:/episodes: expected at least one episode, found none"},
    {split_missing, "a.h5:/episodes/000000: expected attribute split \"train\", \"val\" or \"test\", found none"},
    {split_odd, "expected attribute split \"train\", \"val\" or \"test\", found \"validation\""},
    {split_number, "expected attribute split to be one text"},
    {scene_control, "expected plain text in attribute scene, found control characters"},
    {scene_long, "expected attribute scene of at most 511 bytes, found 1999"},
    {rgb_missing, "a.h5:/episodes/000000/rgb: expected an array, found no object of that name"},
    {rgb_group, "a.h5:/episodes/000000/rgb: expected an array, found another kind of object"},
    {rgb_u16,
     "000000/rgb: expected u8 [F,V,H,W,3], found u16 [3,3,6,8,3]; the order is frames, views, rows, columns and the "
     "three colours last"},
    {rgb_signed, "found i8 [3,3,6,8,3]"},
    {rgb_rgba, "found u8 [3,3,6,8,4]"},
    {rgb_flat, "found u8 [3,3,6,8]"},
    {depth_small, "000000/depth: expected u16 or f32 [F,V,H,W] = [3,3,6,8], found f32 [3,3,3,4]"},
    {depth_f64, "found f64 [3,3,6,8]"},
    {depth_unscaled,
     "000000/depth: expected the attribute scale, found none; write the metres per unit there, 0.001 for "
     "depth in millimetres"},
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
    {pose_column_major,
     "expected 0 0 0 1 in the last row, found 0.5 1 2 1 in frame 0, view 0; is the matrix transposed?"},
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
    {quaternion_zero, "object_quaternion: expected quaternions of length 1, found length 0 in frame 1, object 0"},
};

static void test_broken_files(void **state) {
    (void)state;
    assert_refused(CASES, sizeof CASES / sizeof CASES[0]);
}

// ---- what is legal though unusual

static void minor_newer(Broken b) {
    drop_attribute(b.file, "format_version");
    h5_write_version(b.file, 1, 7);
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

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_broken_files),
        TEST(test_legal_files),
        TEST(test_planted_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
