// SPDX-License-Identifier: Apache-2.0
// What every unit test includes: cmocka, and comparisons that NaN never passes.
#ifndef VPD_TESTS_TEST_H
#define VPD_TESTS_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/error.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// |a - b| <= absolute + relative * |b|; false when either is NaN or infinite.
static inline bool test_close(double a, double b, double absolute, double relative) {
    return isfinite(a) && isfinite(b) && fabs(a - b) <= absolute + relative * fabs(b);
}

#define assert_close(a, b, absolute, relative)                                                                         \
    do {                                                                                                               \
        double close_a = (double)(a), close_b = (double)(b);                                                           \
        if (!test_close(close_a, close_b, absolute, relative))                                                         \
            fail_msg("%s = %.9g is not close to %s = %.9g", #a, close_a, #b, close_b);                                 \
    } while (0)

// The call must succeed; its error's sentence is shown when it does not. `err` is the Error it filled.
#define assert_status_ok(call, err)                                                                                    \
    do {                                                                                                               \
        if ((call) != STATUS_OK) fail_msg("%s: %s", #call, (err).text);                                                \
    } while (0)

// The call must fail with this status, and the error must hold `words`.
#define assert_status_error(call, wanted, err, words)                                                                  \
    do {                                                                                                               \
        (err).text[0] = 0;                                                                                             \
        Status got_status = (call);                                                                                    \
        if (got_status != (wanted) || !strstr((err).text, words))                                                      \
            fail_msg("%s: status %d, \"%s\"; expected status %d, \"%s\"", #call, (int)got_status, (err).text,          \
                     (int)(wanted), words);                                                                            \
    } while (0)

// A new empty folder for one test; the caller removes it with test_remove_folder.
static inline void test_make_folder(char out[64]) {
    snprintf(out, 64, "/tmp/vpd_test_XXXXXX");
    if (!mkdtemp(out)) fail_msg("cannot make %s", out);
}

static inline void test_remove_folder(const char *folder) {
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command) != 0) fail_msg("cannot remove %s", folder);
}

// Whether a log holds the words, or is empty; it is empty then.
static inline bool test_said(FILE *log, const char *words) {
    char text[4000] = "";
    rewind(log);
    text[fread(text, 1, sizeof text - 1, log)] = 0;
    rewind(log);
    assert_int_equal(ftruncate(fileno(log), 0), 0);
    return *words ? strstr(text, words) != NULL : !*text;
}

#endif
