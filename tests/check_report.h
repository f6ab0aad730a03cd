// SPDX-License-Identifier: Apache-2.0
// What "data check" says of the data set of a test.
#ifndef VPD_TESTS_CHECK_REPORT_H
#define VPD_TESTS_CHECK_REPORT_H

#include "datasets/check.h"
#include "tests/dataset_scene.h"
#include "tests/dataset_work_folder.h"

// Of the file at `path`.
static inline CheckReport check_file(void) {
    Error err = {0};
    CheckReport report;
    Dataset *dataset = open_good(path);
    assert_status_ok(dataset_check(dataset, NULL, &report, &err), err);
    dataset_close(dataset);
    return report;
}

// Writes the scene there first.
static inline CheckReport check_scene(Scene *scene) {
    Error err = {0};
    assert_status_ok(scene_write(path, scene, 1, &err), err);
    return check_file();
}

static inline bool mentions(const CheckReport *report, const char *words) {
    for (int i = 0; i < report->finding_count; i++)
        if (strstr(report->findings[i].text, words)) return true;
    return false;
}

#endif
