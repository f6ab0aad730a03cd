// SPDX-License-Identifier: Apache-2.0
// Times edits of a file: medians in seconds of reading, of finding the owners of past particles and motion points for a
// file without them, and of each edit.
//   cmake --build BUILD --target bench_edit && BUILD/bench_edit FILE.h5 REPEAT NOISE EDIT..
// NOISE: largest random displacement of past particles in metres, as a sensor has, before owners are found.
#include "base/clock.h"
#include "base/sort.h"
#include "edit/edit.h"
#include "files/rollout_ties.h"

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

static void forget_ties(RolloutFile *file) {
    for (int k = 0; k < file->set_count; k++) {
        free(file->sets[k].ties);
        file->sets[k].ties = NULL;
    }
    free(file->motion_owner);
    file->motion_owner = NULL;
}

static void shake(float *x, size_t count, float noise) {
    uint32_t bits = 2463534242u;
    for (size_t i = 0; x && i < count; i++) {
        bits ^= bits << 13, bits ^= bits >> 17, bits ^= bits << 5;
        x[i] += noise * ((float)(bits >> 8) / (1 << 23) - 1);
    }
}

// Removes owners and past labels from the file, and adds noise.
static void remove_owners(RolloutFile *file, float noise) {
    forget_ties(file);
    for (int k = 1; k < file->set_count; k++) {
        RolloutSet *set = &file->sets[k];
        shake(set->positions, 3 * set->N, noise);
        free(set->labels);
        set->labels = NULL;
    }
}

static Status time_ties(const RolloutFile *file, float noise, Device *device, int repeat, Error *err) {
    double seconds[REPEAT_MAX];
    RolloutFile copy;
    Status status = rollout_file_copy(file, &copy, err);
    if (status == STATUS_OK) remove_owners(&copy, noise);
    for (int r = 0; r < repeat && status == STATUS_OK; r++) {
        double start = clock_now();
        status = rollout_tie(&copy, device, err);
        seconds[r] = clock_now() - start;
        forget_ties(&copy);
    }
    if (status == STATUS_OK) printf("%8.3f  owners of a file without them\n", median(seconds, repeat));
    rollout_file_free(&copy);
    return status;
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
    Status status = list ? edit_list_add(list, text, err) : error_set(err, STATUS_FAILED, "out of memory");
    for (int r = 0; r < repeat && status == STATUS_OK; r++) {
        RolloutFile copy;
        EditReport report = {0};
        status = rollout_file_copy(file, &copy, err);
        if (status == STATUS_OK) status = edit_apply(list, device, NULL, 0, &copy, &report, err);
        seconds[r] = report.tie_seconds + report.edit_seconds;
        rollout_file_free(&copy);
    }
    if (status == STATUS_OK) printf("%8.3f  %s\n", median(seconds, repeat), text);
    edit_list_free(list);
    return status;
}

int main(int argc, char **argv) {
    int repeat = argc > 3 ? atoi(argv[2]) : 0;
    Error err = {0};
    RolloutFile file = {0};
    Device *device = NULL;
    if (repeat < 1 || repeat > REPEAT_MAX) {
        fprintf(stderr, "bench_edit FILE.h5 REPEAT NOISE EDIT..; REPEAT from 1 to %d\n", REPEAT_MAX);
        return 2;
    }
    Status status = time_reading(argv[1], repeat, &err);
    if (status == STATUS_OK) status = rollout_file_read(argv[1], &file, &err);
    if (status == STATUS_OK) status = device_open("cpu", 0, &device, &err);
    if (status == STATUS_OK) status = time_ties(&file, strtof(argv[3], NULL), device, repeat, &err);
    for (int i = 4; i < argc && status == STATUS_OK; i++) status = time_edit(&file, argv[i], device, repeat, &err);
    device_close(device);
    rollout_file_free(&file);
    return status == STATUS_OK ? 0 : fail(&err);
}
