// SPDX-License-Identifier: Apache-2.0
#include "train/run_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HOST_SIZE = 256, OWNER_SIZE = HOST_SIZE + 32 };

typedef struct Owner {
    long pid; // 0: no owner
    char host[HOST_SIZE];
} Owner;

static Owner myself(void) {
    Owner me = {.pid = (long)getpid()};
    if (gethostname(me.host, sizeof me.host)) snprintf(me.host, sizeof me.host, "unknown");
    me.host[HOST_SIZE - 1] = 0;
    return me;
}

// A file with other content counts as no owner.
static Owner read_owner(int fd) {
    Owner owner = {0};
    char text[OWNER_SIZE];
    ssize_t length = pread(fd, text, sizeof text - 1, 0);
    text[length > 0 ? length : 0] = 0;
    if (sscanf(text, "%ld %255s", &owner.pid, owner.host) != 2 || owner.pid <= 0) owner = (Owner){0};
    return owner;
}

static Status write_owner(int fd, const char *path, const Owner *owner, Error *err) {
    char text[OWNER_SIZE];
    int length = snprintf(text, sizeof text, "%ld %s\n", owner->pid, owner->host);
    if (ftruncate(fd, 0) == 0 && pwrite(fd, text, (size_t)length, 0) == length) return STATUS_OK;
    return file_error(err, path, "write", errno);
}

static Status refuse(const char *folder, const Owner *owner, const char *what, Error *err) {
    if (owner->pid == 0)
        return error_set(
            err, STATUS_BAD_INPUT,
            "%s: another process is training in this folder; wait until it has ended, or choose another train.out",
            folder);
    return error_set(err, STATUS_BAD_INPUT,
                     "%s: process %ld on host %s is training in this folder; %s, or choose another train.out", folder,
                     owner->pid, owner->host, what);
}

// For file systems without locks: whether a process of another host still runs is unknown.
static Status judge_by_name(const char *folder, const Owner *owner, const Owner *me, Error *err) {
    bool here = !strcmp(owner->host, me->host);
    if (owner->pid == 0 || (here && kill((pid_t)owner->pid, 0) != 0 && errno == ESRCH)) return STATUS_OK;
    return refuse(folder, owner, here ? "wait until it has ended" : "when it has ended, remove the file \"lock\" there",
                  err);
}

static Status take_lock(int fd, const char *folder, const Owner *owner, const Owner *me, const Log *log, Error *err) {
    int rc = flock(fd, LOCK_EX | LOCK_NB);
    if (rc == 0 && owner->pid && strcmp(owner->host, me->host) != 0)
        log_warning(log,
                    "%s: a run of process %ld on host %s did not end properly; make sure that it has stopped if "
                    "this file system is mounted with nolock",
                    folder, owner->pid, owner->host);
    if (rc == 0) return STATUS_OK;
    if (errno == EWOULDBLOCK || errno == EACCES) return refuse(folder, owner, "wait until it has ended", err);
    return judge_by_name(folder, owner, me, err);
}

static int open_lock(const char *path, bool *made) {
    const int flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW;
    int fd = open(path, flags | O_EXCL, 0666);
    *made = fd >= 0;
    return fd < 0 && errno == EEXIST ? open(path, flags, 0666) : fd;
}

// Whether the owner removed the file (run_folder_drop) after this process opened it. A lock on a removed file protects
// nothing.
static bool is_removed(int fd) {
    struct stat info;
    return fstat(fd, &info) == 0 && info.st_nlink == 0;
}

static Status lock(RunFolder *folder, const Log *log, Error *err) {
    char path[FILE_PATH_SIZE];
    Owner me = myself();
    Status status = file_join(path, sizeof path, folder->path, "lock", err);
    if (status != STATUS_OK) return status;
    int fd = open_lock(path, &folder->lock_made);
    if (fd < 0) return file_error(err, path, "write", errno);
    Owner owner = read_owner(fd);
    status = take_lock(fd, folder->path, &owner, &me, log, err);
    if (status == STATUS_OK && is_removed(fd))
        status =
            error_set(err, STATUS_BAD_INPUT, "%s: another process has just left this folder; try again", folder->path);
    if (status == STATUS_OK) status = write_owner(fd, path, &me, err);
    if (status == STATUS_OK) folder->lock = fd + 1;
    else close(fd);
    return status;
}

Status run_folder_name(RunFolder *folder, const char *path, Error *err) {
    *folder = (RunFolder){0};
    snprintf(folder->path, sizeof folder->path, "%s", path);
    Status status = file_join(folder->checkpoints, sizeof folder->checkpoints, path, "checkpoints", err);
    return status == STATUS_OK ? file_join(folder->pictures, sizeof folder->pictures, path, "pictures", err) : status;
}

Status run_folder_open(RunFolder *folder, const char *path, const Log *log, Error *err) {
    Status status = run_folder_name(folder, path, err);
    folder->made = !file_exists(path);
    if (status == STATUS_OK) status = file_make_folders(path, err);
    return status == STATUS_OK ? lock(folder, log, err) : status;
}

// Failures are ignored: a folder and an empty file remain. A folder with other files is kept.
void run_folder_drop(RunFolder *folder) {
    char path[FILE_PATH_SIZE];
    Error ignored;
    bool ours = folder->lock && folder->lock_made;
    if (ours && !file_join(path, sizeof path, folder->path, "lock", &ignored) && !unlink(path) && folder->made)
        rmdir(folder->path);
    run_folder_close(folder);
}

// The empty file is kept, because other processes may have it open.
void run_folder_close(RunFolder *folder) {
    if (folder->lock) {
        // if this fails, the name of a dead process remains, which is harmless
        int failed = ftruncate(folder->lock - 1, 0);
        (void)failed;
        close(folder->lock - 1);
    }
    *folder = (RunFolder){0};
}
