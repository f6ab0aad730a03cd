// SPDX-License-Identifier: Apache-2.0
// The child process that reads an HDF5 file first (datasets/h5_probe.c): one that waits for ever, as for a lock that
// another thread held when it began, ends after half a minute, and a second one is asked.
#include "datasets/h5_private.h"

#include "tests/test.h"

#include <sys/mman.h>
#include <unistd.h>

typedef struct Asked {
    const char *path;
    int *children; // in memory that the children share
    int waiting;   // of the children, how many wait
} Asked;

static hid_t open_or_wait(const void *owner) {
    const Asked *asked = owner;
    if (++*asked->children <= asked->waiting) pause(); // until the alarm
    return H5Fopen(asked->path, H5F_ACC_RDONLY, H5P_DEFAULT);
}

static Status ask(int waiting, int *children, Error *err) {
    static const char path[] = "probe.h5";
    *children = 0;
    H5Fclose(H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
    Status status = h5_probe(path, 1, open_or_wait, &(Asked){path, children, waiting}, err);
    unlink(path);
    return status;
}

static void a_child_that_waits_is_followed_by_another(void **state) {
    (void)state;
    Error err = {0};
    int *children = mmap(NULL, sizeof *children, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(children != MAP_FAILED);
    assert_status_ok(ask(0, children, &err), err);
    assert_int_equal(*children, 1);
    assert_status_ok(ask(1, children, &err), err);
    assert_int_equal(*children, 2);
    assert_status_error(ask(2, children, &err), STATUS_BAD_INPUT, err, "does not finish");
    munmap(children, sizeof *children);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_child_that_waits_is_followed_by_another)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
