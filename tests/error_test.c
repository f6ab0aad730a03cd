// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"
#include "base/error.h"
#include "base/json.h"
#include "base/version.h"
#include "tests/test.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

static void test_set_and_prefix(void **state) {
    (void)state;
    Error err = {0};
    assert_int_equal(error_set(&err, STATUS_BAD_INPUT, "expected %d, found %d", 1, 2), STATUS_BAD_INPUT);
    assert_int_equal(err.status, STATUS_BAD_INPUT);
    assert_int_equal(error_prefix(&err, "%s:%d", "a.yaml", 7), STATUS_BAD_INPUT);
    assert_string_equal(err.text, "a.yaml:7: expected 1, found 2");
    assert_int_equal(error_set(NULL, STATUS_FAILED, "nobody reads this"), STATUS_FAILED);
    assert_int_not_equal(error_prefix(NULL, "a"), STATUS_OK);
}

// A name from a stranger's file can neither begin a line of its own nor steer a terminal.
static void test_control_characters(void **state) {
    (void)state;
    Error err = {0};
    error_set(&err, STATUS_BAD_INPUT, "found \"%s\"",
              "a\nvpd: done\r\033[2J\x7F \xC2\x9B"
              "1m \xC3\xA9\t.");
    assert_string_equal(err.text, "found \"a?vpd: done??[2J? ??1m \xC3\xA9\t.\"");
    error_prefix(&err, "b\n%s", "\033c");
    assert_int_equal(strncmp(err.text, "b??c: found", 11), 0);
}

// A text that was cut inside a character is whole characters again.
static void test_no_half_characters(void **state) {
    (void)state;
    static const struct {
        const char *given, *wanted;
    } cases[] = {{"a\xC3\xA4\xC3", "a\xC3\xA4?"},
                 {"\xE2\x82\xAC\xE2\x82", "\xE2\x82\xAC??"},
                 {"\xF0\x9F\x98\x80\xF0\x9F\x98.", "\xF0\x9F\x98\x80???."},
                 {"\xA4 \xFF \xC3(", "? ? ?("},                             // no character begins so
                 {"\xC0\x80 \xED\xA0\x80 \xF4\x90\x80\x80", "?? ??? ????"}, // overlong, a surrogate, beyond the last
                 {"\x1B[2J\t\xC2\x85", "?[2J\t??"}};
    Error err = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        error_set(&err, STATUS_BAD_INPUT, "%s", cases[i].given);
        assert_string_equal(err.text, cases[i].wanted);
        json_t *words = json_string(err.text);
        assert_non_null(words);
        json_decref(words);
    }
    char words[3000];
    for (size_t i = 0; i < 1000; i++) memcpy(words + 3 * i, "\xE2\x82\xAC", 3);
    words[sizeof words - 1] = 0;
    error_set(&err, STATUS_FAILED, "%s", words);
    assert_string_equal(err.text + sizeof err.text - 4, "\xE2\x82\xAC"); // 341 of three bytes each
    error_set(&err, STATUS_FAILED, " %s", words);
    assert_string_equal(err.text + sizeof err.text - 3, "??");
    error_prefix(&err, "%.2s", "a\xC3\xA4");
    assert_int_equal(strncmp(err.text, "a?:  \xE2", 6), 0);
}

// However long the words, the text ends and the prefix stays.
static void test_long_text(void **state) {
    (void)state;
    Error err = {0};
    char words[3000];
    memset(words, 'x', sizeof words);
    words[sizeof words - 1] = 0;
    error_set(&err, STATUS_FAILED, "%s", words);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
    error_prefix(&err, "first");
    assert_int_equal(strncmp(err.text, "first: xxx", 10), 0);
    error_prefix(&err, "%s", words);
    assert_true(strlen(err.text) < sizeof err.text);
}

// CHECK ends the process in release builds too, and shows both operands.
static void test_check_aborts(void **state) {
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[1], 2);
        CHECK_EQ(3, 3);
        CHECK_EQ(3 + 1, 5);
        _exit(0);
    }
    close(ends[1]);
    char text[300] = "";
    assert_true(read(ends[0], text, sizeof text - 1) > 0);
    close(ends[0]);
    int result;
    assert_int_equal(waitpid(pid, &result, 0), pid);
    assert_true(WIFSIGNALED(result) && WTERMSIG(result) == SIGABRT);
    assert_non_null(strstr(text, "4 != 5"));
}

static void test_sizes(void **state) {
    (void)state;
    size_t out = 7;
    assert_true(size_mul(3, 5, &out) && out == 15);
    assert_false(size_mul(SIZE_MAX / 2, 3, &out));
    assert_true(size_add(SIZE_MAX - 1, 1, &out) && out == SIZE_MAX);
    assert_false(size_add(SIZE_MAX, 1, &out));
}

static void test_version(void **state) {
    (void)state;
    assert_true(strlen(version_number()) >= 5 && strlen(version_compiler()) > 4);
    assert_true(strcmp(version_commit(), "unknown") == 0 || strlen(version_commit()) >= 12);
}

// The comparison all tests share: NaN is close to nothing.
static void test_close_refuses_nan(void **state) {
    (void)state;
    assert_true(test_close(1.0, 1.05, 0.1, 0));
    assert_true(test_close(100, 101, 0, 0.1));
    assert_false(test_close(1.0, 1.2, 0.1, 0));
    assert_false(test_close(NAN, 1, 10, 0) || test_close(1, NAN, 10, 0) || test_close(NAN, NAN, 10, 0));
    assert_false(test_close(INFINITY, INFINITY, 10, 1));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_set_and_prefix),
        cmocka_unit_test(test_control_characters),
        cmocka_unit_test(test_no_half_characters),
        cmocka_unit_test(test_long_text),
        cmocka_unit_test(test_check_aborts),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_version),
        cmocka_unit_test(test_close_refuses_nan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
