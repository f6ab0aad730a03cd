// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"
#include "base/log.h"
#include "base/progress.h"
#include "tests/test.h"

static void test_clock_format(void **state) {
    (void)state;
    static const struct {
        double seconds;
        const char *text;
    } cases[] = {{0, "0.0 s"},         {1.25, "1.2 s"},      {9.94, "9.9 s"},     {9.96, "10 s"},
                 {59.4, "59 s"},       {59.6, "1 min 00 s"}, {245, "4 min 05 s"}, {3599.6, "1 h 00 min"},
                 {7800, "2 h 10 min"}, {273600, "3 d 4 h"},  {-1, "?"},           {NAN, "?"},
                 {INFINITY, "?"},      {1e300, "?"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[32];
        clock_format(cases[i].seconds, text, sizeof text);
        assert_string_equal(text, cases[i].text);
    }
    double a = clock_now(), b = clock_now();
    assert_true(b >= a);
}

static void expect_line(const Progress *progress, double now, const char *detail, const char *wanted) {
    char line[256];
    progress_format(progress, now, detail, line, sizeof line);
    assert_string_equal(line, wanted);
}

static void test_line(void **state) {
    (void)state;
    Progress p = {.what = "train", .unit = "steps", .total = 2000, .done = 500, .started = 100};
    expect_line(&p, 200, "loss 0.02", "train  500/2000  25%  5 steps/s  5 min 00 s left  loss 0.02");
    p.done = 20; // slow: seconds per step
    expect_line(&p, 200, NULL, "train  20/2000   1%  5 s/step  2 h 45 min left");
    p.first = 20; // resumed there: nothing done yet, so no rate
    expect_line(&p, 200, NULL, "train  20/2000   1%  ? steps/s  ? left");
    p.first = 0, p.done = 2000;
    expect_line(&p, 200, "", "train  2000/2000 100%  20 steps/s  1 min 40 s");
    p.done = 2001; // beyond the end: no negative time
    expect_line(&p, 200, NULL, "train  2001/2000 100%  20 steps/s  1 min 40 s");
    p.total = 0;
    expect_line(&p, 200, NULL, "train  2001 steps  20 steps/s  1 min 40 s");
}

// Into a file there are plain lines, few of them, and without escape sequences.
static void test_plain_lines(void **state) {
    (void)state;
    char *text = NULL;
    size_t length;
    FILE *out = tmpfile();
    Log log = log_open(out, false);
    assert_false(log.terminal);
    Progress p;
    progress_start(&p, &log, "read", "files", 0, 100000);
    for (size_t i = 0; i < 100000; i++) progress_update(&p, i, NULL);
    progress_end(&p, "a\033b");
    text = calloc(1, 4096);
    rewind(out);
    length = fread(text, 1, 4095, out);
    assert_true(length > 0);
    int lines = 0;
    for (size_t i = 0; i < length; i++) lines += text[i] == '\n';
    assert_in_range(lines, 1, 2); // 100000 updates take less than two intervals of 5 s
    assert_null(strchr(text, '\033'));
    assert_null(strchr(text, '\r'));
    assert_non_null(strstr(text, "a?b"));
    free(text);
    fclose(out);
}

// The last of all is said once, by progress_end.
static void test_one_last_line(void **state) {
    (void)state;
    char text[128] = "";
    FILE *out = tmpfile();
    Log log = log_open(out, false);
    Progress p;
    progress_start(&p, &log, "read", "files", 0, 2);
    p.interval = 0; // every update is shown
    progress_update(&p, 2, NULL);
    progress_end(&p, NULL);
    rewind(out);
    assert_non_null(fgets(text, sizeof text, out));
    assert_non_null(strstr(text, "read  2/2 100%"));
    assert_null(fgets(text, sizeof text, out));
    fclose(out);
}

static void test_silent(void **state) {
    (void)state;
    FILE *out = tmpfile();
    Log quiet = log_open(out, true);
    Progress p;
    progress_start(&p, &quiet, "read", "files", 0, 10);
    progress_update(&p, 5, NULL);
    progress_end(&p, NULL);
    progress_start(&p, NULL, "read", "files", 0, 10);
    progress_end(&p, NULL);
    log_note(&quiet, "not shown");
    log_note(NULL, "not shown");
    log_warning(NULL, "not shown");
    assert_int_equal(ftell(out), 0);
    log_warning(&quiet, "shown %d", 7);
    char text[64] = "";
    rewind(out);
    assert_non_null(fgets(text, sizeof text, out));
    assert_string_equal(text, "warning: shown 7\n");
    fclose(out);
}

static void test_clean(void **state) {
    (void)state;
    char text[] = "a\033[31mb\x7f\xc2\x9b"
                  "c\r\n\tünï";
    log_clean(text);
    assert_string_equal(text, "a?[31mb???c?\n\tünï");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clock_format),  cmocka_unit_test(test_line),   cmocka_unit_test(test_plain_lines),
        cmocka_unit_test(test_one_last_line), cmocka_unit_test(test_silent), cmocka_unit_test(test_clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
