// SPDX-License-Identifier: Apache-2.0
#include "base/stop.h"
#include "tests/test.h"

#include <signal.h>
#include <sys/wait.h>

static void test_flag(void **state) {
    (void)state;
    static const int numbers[] = {SIGINT, SIGTERM, SIGUSR1};
    static const char *const names[] = {"stopped by SIGINT", "stopped by SIGTERM", "stopped by SIGUSR1"};
    Error err;
    assert_status_ok(stop_install(&err), err);
    for (int i = 0; i < 3; i++) {
        stop_clear();
        assert_int_equal(stop_requested(), 0);
        raise(numbers[i]);
        assert_int_equal(stop_requested(), numbers[i]);
        assert_status_error(stop_error(&err), STATUS_INTERRUPTED, err, names[i]);
    }
    stop_clear();
}

// A loop that never polls still ends at the second Ctrl-C, but not at the first.
static void test_second_interrupt(void **state) {
    (void)state;
    for (int signals = 1; signals <= 2; signals++) {
        pid_t pid = fork();
        if (pid == 0) {
            if (stop_install(NULL) != STATUS_OK) _exit(9);
            for (int i = 0; i < signals; i++) raise(SIGINT);
            _exit(stop_requested() == SIGINT ? 5 : 6);
        }
        int result;
        assert_int_equal(waitpid(pid, &result, 0), pid);
        if (signals == 1) assert_true(WIFEXITED(result) && WEXITSTATUS(result) == 5);
        else assert_true(WIFSIGNALED(result) && WTERMSIG(result) == SIGINT);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_flag), cmocka_unit_test(test_second_interrupt)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
