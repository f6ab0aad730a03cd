// SPDX-License-Identifier: Apache-2.0
// A folder for each test of a program, and a data set's path in it.
#ifndef VPD_TESTS_DATASET_WORK_FOLDER_H
#define VPD_TESTS_DATASET_WORK_FOLDER_H

#include "datasets/dataset.h"
#include "tests/test.h"

static char folder[64], path[128];

static int set_up(void **state) {
    (void)state;
    test_make_folder(folder);
    snprintf(path, sizeof path, "%s/a.h5", folder);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    test_remove_folder(folder);
    return 0;
}

static inline Dataset *open_good(const char *name) {
    Error err = {0};
    Dataset *dataset;
    assert_status_ok(dataset_open(name, &dataset, &err), err);
    return dataset;
}

#endif
