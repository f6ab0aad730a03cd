// SPDX-License-Identifier: Apache-2.0
// Stop signals in processes of their own: a child installs stop, another thread of nobody's takes the signals.
#include "base/clock.h"
#include "base/stop.h"
#include "tests/test.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1};
enum { NUMBERS = sizeof numbers / sizeof *numbers };

static void nap(double seconds) {
    struct timespec time = {(time_t)seconds, (long)(1e9 * (seconds - (double)(time_t)seconds))};
    nanosleep(&time, NULL);
}

// The waiting thread needs a moment; a minute means never.
static int wait_for_request(void) {
    for (double end = clock_now() + 60; !stop_requested() && clock_now() < end;) nap(0.001);
    return stop_requested();
}

// Runs `child` in a process of its own; its exit status, or minus the signal that ended it.
static int in_child(int (*child)(int), int argument) {
    int result;
    pid_t pid = fork();
    if (pid == 0) _exit(child(argument));
    assert_int_equal(waitpid(pid, &result, 0), pid);
    return WIFEXITED(result) ? WEXITSTATUS(result) : -WTERMSIG(result);
}

static int one_signal(int i) {
    static const char *const texts[] = {"stopped by SIGINT", "stopped by SIGTERM", "stopped by SIGHUP",
                                        "stopped by SIGUSR1"};
    Error err;
    if (stop_install(&err) != STATUS_OK || stop_requested()) return 1;
    kill(getpid(), numbers[i]);
    if (wait_for_request() != numbers[i]) return 2;
    if (stop_error(&err) != STATUS_INTERRUPTED || strcmp(err.text, texts[i]) != 0) return 3;
    kill(getpid(), numbers[i]); // at once: the same request, as "timeout" sends it
    nap(0.05);
    stop_clear();
    return stop_requested() ? 4 : 0;
}

static void test_flag(void **state) {
    (void)state;
    for (int i = 0; i < NUMBERS; i++) assert_int_equal(in_child(one_signal, i), 0);
}

// Of two threads the flag of one is its own.
static void *look_without(void *out) {
    *(int *)out = stop_requested();
    return NULL;
}

static void test_also(void **state) {
    atomic_bool flag = false;
    pthread_t other;
    Error err;
    int there = -1;
    (void)state;
    stop_also(&flag);
    assert_int_equal(stop_requested(), 0);
    flag = true;
    assert_int_equal(stop_requested(), STOP_ASKED);
    assert_status_error(stop_error(&err), STATUS_INTERRUPTED, err, "stopped on request");
    assert_int_equal(pthread_create(&other, NULL, look_without, &there), 0);
    pthread_join(other, NULL);
    assert_int_equal(there, 0);
    stop_also(NULL);
    assert_int_equal(stop_requested(), 0);
}

// A loop that never looks at the flag still ends at the second signal, whichever it is.
static int two_signals(int i) {
    if (stop_install(NULL) != STATUS_OK) return 1;
    kill(getpid(), SIGTERM);
    if (wait_for_request() != SIGTERM) return 2;
    nap(1.5 * STOP_AGAIN_SECONDS);
    kill(getpid(), numbers[i]);
    nap(60);
    return 3;
}

static void test_second_signal(void **state) {
    (void)state;
    for (int i = 0; i < NUMBERS; i++) assert_int_equal(in_child(two_signals, i), -numbers[i]);
}

static int hangup_under_nohup(int ignored) {
    signal(SIGHUP, ignored ? SIG_IGN : SIG_DFL);
    if (stop_install(NULL) != STATUS_OK) return 1;
    kill(getpid(), SIGHUP);
    if (!ignored) return wait_for_request() == SIGHUP ? 0 : 2;
    kill(getpid(), SIGTERM); // taken later than SIGHUP would have been
    return wait_for_request() == SIGTERM ? 0 : 3;
}

static void test_nohup(void **state) {
    (void)state;
    for (int ignored = 0; ignored <= 1; ignored++) assert_int_equal(in_child(hangup_under_nohup, ignored), 0);
}

// ---- in a host's process

static void *ask(void *none) {
    stop_watched();
    return none;
}

static int watched(int other_thread) {
    sigset_t signals;
    pthread_t thread;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    stop_watched(); // nothing is under way
    if (stop_requested()) return 1;
    stop_watch_begin(&signals);
    if (stop_requested()) return 2;
    if (!other_thread) kill(getpid(), SIGINT);
    else if (pthread_create(&thread, NULL, ask, NULL) || pthread_join(thread, NULL)) return 3;
    if (wait_for_request() != (other_thread ? STOP_ASKED : SIGINT)) return 4;
    stop_watch_end();
    if (stop_requested()) return 5;
    if (other_thread) return 0;
    pthread_sigmask(SIG_UNBLOCK, &signals, NULL); // it was left for the host, which has no handler here
    return 6;
}

static void test_watch(void **state) {
    (void)state;
    assert_int_equal(in_child(watched, 0), -SIGINT);
    assert_int_equal(in_child(watched, 1), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_flag), cmocka_unit_test(test_second_signal),
                                       cmocka_unit_test(test_nohup), cmocka_unit_test(test_watch),
                                       cmocka_unit_test(test_also)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
