// SPDX-License-Identifier: Apache-2.0
#include "base/process.h"

#include "base/log.h"
#include "base/stop.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { WAIT_MILLISECONDS = 50 }; // between two checks for a stop request

bool process_find(const char *program) {
    if (strchr(program, '/')) return access(program, X_OK) == 0;
    const char *folders = getenv("PATH");
    for (const char *at = folders ? folders : "/usr/bin:/bin"; *at;) {
        char path[4096];
        int length = (int)strcspn(at, ":");
        if (snprintf(path, sizeof path, "%.*s/%s", length, at, program) < (int)sizeof path && access(path, X_OK) == 0)
            return true;
        at += length + (at[length] == ':');
    }
    return false;
}

static void close_fd(int *fd) {
    if (*fd >= 0) close(*fd);
    *fd = -1;
}

// Default signal actions and mask for the new program.
static int plain_signals(posix_spawnattr_t *attributes) {
    sigset_t defaults, none;
    sigemptyset(&none);
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    int code = posix_spawnattr_setsigdefault(attributes, &defaults);
    if (!code) code = posix_spawnattr_setsigmask(attributes, &none);
    // Its own process group: Ctrl-C at the terminal asks us to stop, and we end the child in our own time.
    if (!code) code = posix_spawnattr_setpgroup(attributes, 0);
    short flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP;
    return code ? code : posix_spawnattr_setflags(attributes, flags);
}

// `input` -1: empty. Returns an errno.
static int spawn(Process *process, const char *const argv[], int input) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int code = posix_spawn_file_actions_init(&actions);
    if (code) return code;
    if ((code = posix_spawnattr_init(&attributes))) goto actions_done;
    code = input >= 0 ? posix_spawn_file_actions_adddup2(&actions, input, 0)
                      : posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    if (!code) code = posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    if (!code) code = posix_spawn_file_actions_adddup2(&actions, process->messages, 2);
    if (!code) code = plain_signals(&attributes);
    // posix_spawn does not write to argv.
    if (!code) code = posix_spawnp(&process->pid, argv[0], &actions, &attributes, (char *const *)argv, environ);
    posix_spawnattr_destroy(&attributes);
actions_done:
    posix_spawn_file_actions_destroy(&actions);
    return code;
}

Status process_start(Process *process, const char *const argv[], bool pipe_input, Error *err) {
    int ends[2] = {-1, -1};
    *process = (Process){.input = -1};
    snprintf(process->program, sizeof process->program, "%s", argv[0]);
    process->messages = memfd_create("messages", MFD_CLOEXEC);
    int code = process->messages < 0 || (pipe_input && pipe2(ends, O_CLOEXEC)) ? errno : 0;
    if (!code) code = spawn(process, argv, ends[0]);
    close_fd(&ends[0]);
    if (!code && ends[1] >= 0 && fcntl(ends[1], F_SETFL, O_NONBLOCK)) code = errno;
    if (!code) {
        process->input = ends[1];
        return STATUS_OK;
    }
    close_fd(&ends[1]);
    close_fd(&process->messages);
    process->pid = 0;
    if (code == ENOENT)
        return error_set(err, STATUS_BAD_INPUT, "%s: no such program in PATH; install it", process->program);
    return error_set(err, STATUS_FAILED, "%s: cannot start: %s", process->program, strerror(code));
}

// write() with SIGPIPE held back in this thread, as a library must not change what the process does with signals.
static ssize_t write_without_signal(int fd, const void *bytes, size_t count) {
    sigset_t pipe_set, pending, old;
    sigemptyset(&pipe_set);
    sigaddset(&pipe_set, SIGPIPE);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &pipe_set, &old);
    ssize_t n = write(fd, bytes, count);
    int code = errno;
    // Linux raises it after a part was written, too.
    bool raised = n < (ssize_t)count && !sigismember(&pending, SIGPIPE);
    if (raised) sigtimedwait(&pipe_set, NULL, &(struct timespec){0, 0});
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    errno = code;
    return n;
}

Status process_write(Process *process, const void *bytes, size_t count, Error *err) {
    const char *next = bytes;
    while (count) {
        struct pollfd ready = {.fd = process->input, .events = POLLOUT};
        if (stop_requested()) return stop_error(err);
        if (poll(&ready, 1, WAIT_MILLISECONDS) == 0) continue;
        ssize_t n = write_without_signal(process->input, next, count);
        if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (n < 0)
            return error_set(err, STATUS_FAILED, "%s: cannot write to it: %s", process->program, strerror(errno));
        next += n;
        count -= (size_t)n;
    }
    return STATUS_OK;
}

// The last non-empty line that the child wrote to standard error.
static void last_message(const Process *process, char *out, size_t size) {
    char tail[1024];
    off_t end = lseek(process->messages, 0, SEEK_END);
    off_t start = end > (off_t)sizeof tail - 1 ? end - (off_t)sizeof tail + 1 : 0;
    ssize_t n = pread(process->messages, tail, sizeof tail - 1, start);
    if (n < 0) n = 0;
    while (n && (tail[n - 1] == '\n' || tail[n - 1] == '\r' || tail[n - 1] == ' ')) n--;
    tail[n] = 0;
    char *line = strrchr(tail, '\n');
    snprintf(out, size, "%.*s", (int)size - 1, line ? line + 1 : tail);
    log_clean(out);
}

// Waits; the wait status, or -1.
static int reap(Process *process) {
    int result = -1;
    while (waitpid(process->pid, &result, 0) < 0 && errno == EINTR) {}
    process->pid = 0;
    return result;
}

// Ends the child at a stop request, else returns when it has ended by itself.
static void wait_for_end(const Process *process) {
    for (siginfo_t info = {0}; !stop_requested();) {
        struct timespec pause = {.tv_nsec = 1000000L * WAIT_MILLISECONDS / 5};
        if (waitid(P_PID, (id_t)process->pid, &info, WEXITED | WNOHANG | WNOWAIT) || info.si_pid) return;
        nanosleep(&pause, NULL);
    }
    kill(process->pid, SIGKILL);
}

Status process_finish(Process *process, Error *err) {
    if (process->pid == 0) return error_set(err, STATUS_FAILED, "%s: it is not running", process->program);
    char message[300];
    close_fd(&process->input);
    wait_for_end(process);
    int result = reap(process);
    last_message(process, message, sizeof message);
    close_fd(&process->messages);
    if (result == 0) return STATUS_OK;
    if (stop_requested()) return stop_error(err);
    const char *colon = *message ? ": " : "";
    if (result > 0 && WIFSIGNALED(result))
        return error_set(err, STATUS_FAILED, "%s: ended by signal %d%s%s", process->program, WTERMSIG(result), colon,
                         message);
    return error_set(err, STATUS_FAILED, "%s: exit status %d%s%s", process->program, WEXITSTATUS(result), colon,
                     message);
}

void process_abandon(Process *process) {
    if (process->pid == 0) return;
    close_fd(&process->input);
    kill(process->pid, SIGKILL);
    reap(process);
    close_fd(&process->messages);
}
