// SPDX-License-Identifier: Apache-2.0
// A process that saves is killed, and disks are full, at every step of a save: afterwards the old checkpoint loads or
// the new one. The calls that change a file system are replaced here, so that each can be the last one, or fail.
#include "tests/test.h"

#include "base/clock.h"
#include "base/random.h"
#include "tests/checkpoint_model.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

// What happens at call number `at`, counted from 0.
typedef enum FaultKind { FAULT_NONE, FAULT_KILL, FAULT_FAIL } FaultKind;
static struct {
    FaultKind kind;
    int at, code, calls; // errno of a failure; calls so far
} fault;

// True when this call must fail.
static bool reach_fault(void) {
    if (fault.kind == FAULT_NONE || fault.calls++ != fault.at) return false;
    if (fault.kind == FAULT_KILL) kill(getpid(), SIGKILL);
    errno = fault.code;
    return true;
}

ssize_t write(int fd, const void *bytes, size_t count) {
    // Killed or full, half of it is there.
    if (fault.kind != FAULT_NONE && fault.calls == fault.at) syscall(SYS_write, fd, bytes, count / 2);
    return reach_fault() ? -1 : syscall(SYS_write, fd, bytes, count);
}
int fsync(int fd) { return reach_fault() ? -1 : (int)syscall(SYS_fsync, fd); }
int rename(const char *from, const char *to) {
    return reach_fault() ? -1 : (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}
int unlink(const char *path) { return reach_fault() ? -1 : (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0); }
int close(int fd) {
    bool fails = reach_fault();
    int result = (int)syscall(SYS_close, fd);
    return fails ? -1 : result;
}
int open(const char *path, int flags, ...) {
    va_list args;
    va_start(args, flags);
    mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
    va_end(args);
    return reach_fault() ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

typedef struct Setting {
    char folder[64];
    Model model;
    Error err;
} Setting;

static int set_up(void **state) {
    Setting *s = calloc(1, sizeof *s);
    test_make_folder(s->folder);
    model_create(&s->model, false);
    *state = s;
    return 0;
}

static int tear_down(void **state) {
    Setting *s = *state;
    model_free(&s->model);
    test_remove_folder(s->folder);
    free(s);
    return 0;
}

static Status save(Setting *s, long step) {
    CheckpointMeta meta = model_meta(step);
    model_set(&s->model, (float)step);
    return checkpoint_save_in(s->folder, &s->model.set, &s->model.blocks, &meta, true, 1, &s->err);
}

// The step of the checkpoint that is found; it must be whole.
static long load(Setting *s) {
    CheckpointFound found;
    CheckpointMeta meta;
    assert_status_ok(checkpoint_find_latest(s->folder, &found, &s->err), s->err);
    assert_string_equal(found.note, "");
    assert_status_ok(checkpoint_resume(found.path, &s->model.set, &s->model.blocks, &meta, &s->err), s->err);
    assert_int_equal(model_all_wrong(&s->model, (float)meta.step), 0);
    return meta.step;
}

// Saves `step` in a child with this fault; returns how the child ended.
static int save_in_child(Setting *s, long step, FaultKind kind, int at, int code) {
    int how = 0;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        fault.kind = kind, fault.at = at, fault.code = code;
        _exit((int)save(s, step));
    }
    assert_int_equal(waitpid(child, &how, 0), child);
    return how;
}

static size_t count_drafts(const char *folder) {
    FileList list;
    Error err;
    size_t drafts = 0;
    assert_status_ok(file_list(folder, &list, &err), err);
    for (size_t i = 0; i < list.count; i++) drafts += strstr(list.names[i], ".tmp") != NULL;
    file_list_free(&list);
    return drafts;
}

static void killed_at_every_call(void **state) {
    Setting *s = *state;
    int points = 0, old = 0;
    for (long step = 2;; step++, points++) {
        assert_status_ok(save(s, step - 1), s->err);
        int how = save_in_child(s, step, FAULT_KILL, points, 0);
        long found = load(s);
        assert_true(found == step || found == step - 1);
        old += found == step - 1;
        if (WIFEXITED(how)) { // past the last call
            assert_int_equal(WEXITSTATUS(how), 0);
            assert_int_equal(found, step);
            break;
        }
        assert_true(WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL);
    }
    print_message("killed at %d points; the old checkpoint was found after %d\n", points, old);
    assert_true(points >= 30 && old >= 10 && old < points);
    assert_int_equal(count_drafts(s->folder), 0); // the next save has swept up
}

// As a batch system does it: at any time, in a row of saves.
static void killed_at_any_time(void **state) {
    Setting *s = *state;
    long step = 1;
    double begin = clock_now();
    assert_status_ok(save(s, step), s->err);
    uint32_t three_saves = 1000 + (uint32_t)(3e6 * (clock_now() - begin)); // microseconds
    for (uint32_t round = 0; round < 40; round++) {
        int how;
        fflush(NULL);
        pid_t child = fork();
        if (child == 0) {
            for (long i = step + 1; i < step + 100000 && save(s, i) == STATUS_OK; i++) {}
            _exit(1);
        }
        usleep(random_below((RandomKey){.purpose = RANDOM_TEST}, round, three_saves));
        kill(child, SIGKILL);
        assert_int_equal(waitpid(child, &how, 0), child);
        assert_true(WIFSIGNALED(how));
        long found = load(s);
        assert_true(found >= step);
        step = found;
    }
    assert_true(step > 1);
}

// Each call that can fail does so once: the save fails or its result is whole, no draft stays, the folder loads.
static void every_call_fails_once(void **state) {
    Setting *s = *state;
    int failures = 0;
    for (int at = 0;; at++) {
        long step = 2 + 2 * at;
        assert_status_ok(save(s, step - 1), s->err);
        fault.kind = FAULT_FAIL, fault.at = at, fault.code = ENOSPC, fault.calls = 0;
        Status status = save(s, step);
        fault.kind = FAULT_NONE;
        assert_true(status == STATUS_OK || status == STATUS_FAILED);
        if (status != STATUS_OK) assert_non_null(strstr(s->err.text, "No space left on device"));
        failures += status != STATUS_OK;
        long found = load(s);
        assert_true(found == step || (found == step - 1 && status == STATUS_FAILED));
        assert_true(count_drafts(s->folder) <= 1); // unlink may be what failed
        if (fault.calls <= at) break;
    }
    assert_true(failures >= 15);
}

// A full disk as the kernel reports it: files may grow to 8 KiB.
static void a_full_disk(void **state) {
    Setting *s = *state;
    assert_status_ok(save(s, 1), s->err);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        const struct rlimit small = {8192, 8192};
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &small);
        Status status = save(s, 2);
        _exit(status == STATUS_FAILED && strstr(s->err.text, "step_00000002.h5: cannot write: File too large") ? 0 : 1);
    }
    int how;
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
    assert_int_equal(load(s), 1);
    assert_int_equal(count_drafts(s->folder), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(killed_at_every_call, set_up, tear_down),
        cmocka_unit_test_setup_teardown(killed_at_any_time, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_call_fails_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_full_disk, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
