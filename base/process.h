// SPDX-License-Identifier: Apache-2.0
// One child process, started without a shell: its standard input is a pipe from us or empty, its standard output is
// thrown away, what it writes to standard error is kept to explain a failure.
#ifndef VPD_BASE_PROCESS_H
#define VPD_BASE_PROCESS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

typedef struct Process {
    pid_t pid;        // 0: none
    int input;        // our end of the pipe, -1 when there is none
    int messages;     // unlinked file with its standard error, -1 when there is none
    char program[64]; // argv[0], for errors
} Process;

// Whether there is such a program in PATH.
bool process_find(const char *program);

// argv ends with NULL; argv[0] is looked up in PATH. A missing program is STATUS_BAD_INPUT.
Status process_start(Process *process, const char *const argv[], bool pipe_input, Error *err);

// Writes all bytes to the child's input; fails (no SIGPIPE) when the child has gone: process_finish says why. A stop
// request ends the wait for a slow child, here and in process_finish, which then ends the child too.
Status process_write(Process *process, const void *bytes, size_t count, Error *err);

// Closes the pipe and waits. A status other than 0, or a signal, is STATUS_FAILED with the child's last line of output.
Status process_finish(Process *process, Error *err);

// Ends the child and forgets it; does nothing to a finished or zero-initialised Process. For cleanup after an error.
void process_abandon(Process *process);

#endif
