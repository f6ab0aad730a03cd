// SPDX-License-Identifier: Apache-2.0
// Times edits of a file: medians in seconds of reading and of each edit.
//   cmake --build BUILD --target bench_edit && BUILD/bench_edit FILE.h5 REPEAT EDIT..
#include "base/clock.h"
#include "base/sort.h"
#include "edit/edit.h"

#include <stdlib.h>

enum { REPEAT_MAX = 99 };

static int fail(const Error *err) {
    fprintf(stderr, "bench_edit: %s\n", err->text);
    return 1;
}

static double median(double *seconds, int count) {
    sort_doubles(seconds, (size_t)count);
    return seconds[count / 2];
}

static Status time_reading(const char *path, int repeat, Error *err) {
    double seconds[REPEAT_MAX];
    Status status = STATUS_OK;
    for (int r = 0; r < repeat && status == STATUS_OK; r++) {
        RolloutFile file;
        double start = clock_now();
        status = rollout_file_read(path, &file, err);
        seconds[r] = clock_now() - start;
        if (status == STATUS_OK) rollout_file_free(&file);
    }
    if (status == STATUS_OK) printf("%8.3f  reading\n", median(seconds, repeat));
    return status;
}

static Status time_edit(const RolloutFile *file, const char *text, Device *device, int repeat, Error *err) {
    double seconds[REPEAT_MAX];
    EditList *list = edit_list_create();
    Status status = list ? edit_list_add(list, "--do", text, err) : error_set(err, STATUS_FAILED, "out of memory");
    for (int r = 0; r < repeat && status == STATUS_OK; r++) {
        RolloutFile copy;
        EditReport report = {0};
        status = rollout_file_copy(file, &copy, err);
        if (status == STATUS_OK) status = edit_apply(list, device, NULL, 0, &copy, &report, err);
        seconds[r] = report.edit_seconds;
        rollout_file_free(&copy);
    }
    if (status == STATUS_OK) printf("%8.3f  %s\n", median(seconds, repeat), text);
    edit_list_free(list);
    return status;
}

int main(int argc, char **argv) {
    int repeat = argc > 2 ? atoi(argv[2]) : 0;
    Error err = {0};
    RolloutFile file = {0};
    Device *device = NULL;
    if (repeat < 1 || repeat > REPEAT_MAX) {
        fprintf(stderr, "bench_edit FILE.h5 REPEAT EDIT..; REPEAT from 1 to %d\n", REPEAT_MAX);
        return 2;
    }
    Status status = time_reading(argv[1], repeat, &err);
    if (status == STATUS_OK) status = rollout_file_read(argv[1], &file, &err);
    if (status == STATUS_OK) status = device_open("cpu", 0, &device, &err);
    for (int i = 3; i < argc && status == STATUS_OK; i++) status = time_edit(&file, argv[i], device, repeat, &err);
    device_close(device);
    rollout_file_free(&file);
    return status == STATUS_OK ? 0 : fail(&err);
}
