// SPDX-License-Identifier: Apache-2.0
#include "base/file.h"
#include "base/process.h"
#include "tests/test.h"

#include <signal.h>

static bool holds(const char *path, const char *wanted) {
    char *text;
    size_t length;
    Error err;
    if (file_read_all(path, 1 << 24, &text, &length, &err) != STATUS_OK) return false;
    bool same = strcmp(text, wanted) == 0;
    free(text);
    return same;
}

// More than a pipe holds goes through whole; the program's name and arguments are never seen by a shell.
static void test_pipe(void **state) {
    (void)state;
    enum { SIZE = 1000000 };
    char folder[64], path[96], *bytes = malloc(SIZE + 1);
    Error err;
    Process process;
    test_make_folder(folder);
    snprintf(path, sizeof path, "%s/$(id); x", folder);
    for (int i = 0; i < SIZE; i++) bytes[i] = (char)('a' + i % 23);
    bytes[SIZE] = 0;
    const char *const argv[] = {"tee", path, NULL};
    assert_status_ok(process_start(&process, argv, true, &err), err);
    assert_status_ok(process_write(&process, bytes, SIZE / 2, &err), err);
    assert_status_ok(process_write(&process, bytes + SIZE / 2, SIZE - SIZE / 2, &err), err);
    assert_status_ok(process_finish(&process, &err), err);
    assert_true(holds(path, bytes));
    bytes[SIZE - 1]++; // the comparison would see one wrong byte
    assert_false(holds(path, bytes));
    process_abandon(&process);
    free(bytes);
    test_remove_folder(folder);
}

static void test_empty_input(void **state) {
    (void)state;
    Error err;
    Process process;
    const char *const argv[] = {"cat", NULL};
    alarm(10); // a child that waits for our terminal would hang
    assert_status_ok(process_start(&process, argv, false, &err), err);
    assert_status_ok(process_finish(&process, &err), err);
    alarm(0);
}

static void test_failures(void **state) {
    (void)state;
    Error err;
    Process process;
    const char *const missing[] = {"no-such-program-here", NULL};
    assert_status_error(process_start(&process, missing, true, &err), STATUS_BAD_INPUT, err,
                        "no-such-program-here: no such program");
    assert_int_equal(process.pid, 0);
    const char *const talks[] = {"sh", "-c", "echo first >&2; printf 'the \\033[1mreason\\n\\n' >&2; exit 3", NULL};
    assert_status_ok(process_start(&process, talks, false, &err), err);
    assert_status_error(process_finish(&process, &err), STATUS_FAILED, err, "sh: exit status 3: the ?[1mreason");
    assert_status_error(process_finish(&process, &err), STATUS_FAILED, err, "not running");
    const char *const dies[] = {"sh", "-c", "kill -9 $$", NULL};
    assert_status_ok(process_start(&process, dies, false, &err), err);
    assert_status_error(process_finish(&process, &err), STATUS_FAILED, err, "ended by signal 9");
}

// A child that goes away early is an error for the writer, not the end of the process by SIGPIPE.
static void test_broken_pipe(void **state) {
    (void)state;
    static char bytes[1 << 20];
    Error err;
    Process process;
    signal(SIGPIPE, SIG_DFL);
    const char *const argv[] = {"false", NULL};
    assert_status_ok(process_start(&process, argv, true, &err), err);
    assert_status_error(process_write(&process, bytes, sizeof bytes, &err), STATUS_FAILED, err, "cannot write to it");
    assert_status_error(process_finish(&process, &err), STATUS_FAILED, err, "false: exit status 1");
}

static void test_abandon(void **state) {
    (void)state;
    Error err;
    Process process = {0};
    process_abandon(&process);
    const char *const argv[] = {"sleep", "1000", NULL};
    assert_status_ok(process_start(&process, argv, true, &err), err);
    pid_t pid = process.pid;
    assert_int_equal(kill(pid, 0), 0);
    process_abandon(&process);
    assert_int_equal(kill(pid, 0), -1); // gone, and waited for
    process_abandon(&process);
}

static void test_find(void **state) {
    (void)state;
    assert_true(process_find("sh"));
    assert_true(process_find("/bin/sh"));
    assert_false(process_find("no-such-program-here"));
    assert_false(process_find("/bin/no-such-program"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pipe),        cmocka_unit_test(test_empty_input), cmocka_unit_test(test_failures),
        cmocka_unit_test(test_broken_pipe), cmocka_unit_test(test_abandon),     cmocka_unit_test(test_find),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
