// SPDX-License-Identifier: Apache-2.0
// Data sets that are broken in one way each, and what is said about them.
#ifndef VPD_TESTS_DATASET_BREAK_H
#define VPD_TESTS_DATASET_BREAK_H

#include "datasets/h5_write.h"
#include "tests/dataset_scene.h"
#include "tests/dataset_work_folder.h"

static void write_good(void) {
    Error err = {0};
    Scene scene = scene_make(3, 3, 6, 8, 0);
    scene_finish(&scene);
    assert_status_ok(scene_write(path, &scene, 2, &err), err);
    scene_free(&scene);
}

// A way to break a file gets the open file and its first episode.
typedef struct Broken {
    hid_t file, episode;
} Broken;

typedef void Break(Broken b);

static void drop(hid_t where, const char *name) {
    if (H5Lexists(where, name, H5P_DEFAULT) > 0) H5Ldelete(where, name, H5P_DEFAULT);
}

static void apply(Break *edit) {
    h5_lock();
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT), episode = H5Gopen2(file, "/episodes/000000", H5P_DEFAULT);
    edit((Broken){file, episode});
    H5Gclose(episode), H5Fclose(file);
    h5_unlock();
}

// A way to break a file, and words of the sentence that refuses it.
typedef struct GuardCase {
    Break *edit;
    const char *words;
} GuardCase;

static void assert_refused(const GuardCase *cases, size_t count) {
    for (size_t i = 0; i < count; i++) {
        Error err = {0};
        Dataset *dataset = NULL;
        write_good();
        apply(cases[i].edit);
        assert_status_error(dataset_open(path, &dataset, &err), STATUS_BAD_INPUT, err, cases[i].words);
        assert_null(dataset);
        assert_non_null(strstr(err.text, folder)); // every sentence names the file
        assert_null(strchr(err.text, '\n'));
    }
}

// An unbroken file must be accepted, or every refusal means nothing.
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

#endif
