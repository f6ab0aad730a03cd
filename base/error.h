// SPDX-License-Identifier: Apache-2.0
// Errors are values: a function that meets the outside world returns a Status and fills a caller-owned Error with one
// sentence that names file and object, what was expected, what was found and what to do.
#ifndef VPD_BASE_ERROR_H
#define VPD_BASE_ERROR_H

#ifdef __cplusplus
extern "C" {
#endif

typedef enum Status {
    STATUS_OK = 0,
    STATUS_FAILED = 1,     // the machine failed: disk full, no memory, a child process died
    STATUS_BAD_INPUT = 2,  // the user's file, option or value is wrong
    STATUS_INTERRUPTED = 3 // a signal asked to stop; work up to here is saved (the program exits with 1)
} Status;

typedef struct Error {
    Status status;
    char text[1024];
} Error;

// Replaces control characters by '?', except those in `keep`, and bytes that are no UTF-8, such as half a character
// that a format like "%.64s" has left. error_fill and error_prefix call it, so an error is always one line that is
// harmless for a terminal and that JSON can hold, whatever names or texts of files it quotes.
void error_clean(char *text, const char *keep);

// Fills `err` (may be NULL) and returns `status`, so that callers write `return error_set(err, STATUS_FAILED, ...)`. A
// macro, so that compilers see which status is returned (and do not warn about outputs that stay unset after an error).
#define error_set(err, status, ...) (error_fill((err), (status), __VA_ARGS__), error_status(status))

void error_fill(Error *err, Status status, const char *format, ...) __attribute__((format(printf, 3, 4)));
// "out of memory for WHAT": `return error_no_memory(err, "%zu rays", count)`. The first text is a literal.
#define error_no_memory(err, ...) error_set(err, STATUS_FAILED, "out of memory for " __VA_ARGS__)

static inline Status error_status(Status status) { return status; }

// Puts "prefix: " before the text of an error that is already set; returns its status.
Status error_prefix(Error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

#ifdef __cplusplus
}
#endif

#endif
