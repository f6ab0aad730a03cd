// SPDX-License-Identifier: Apache-2.0
#include "datasets/file_stamp.h"

#include "base/file.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

static int64_t nanoseconds(struct timespec time) { return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec; }

static FileStamp stamp_of(const struct stat *info) {
    return (FileStamp){(int64_t)info->st_size, nanoseconds(info->st_mtim), nanoseconds(info->st_ctim),
                       (uint64_t)info->st_ino};
}

Status file_stamp(const char *path, FileStamp *out, Error *err) {
    struct stat info;
    *out = (FileStamp){0};
    if (stat(path, &info) != 0) return file_error(err, path, "read", errno);
    *out = stamp_of(&info);
    return STATUS_OK;
}

// A copy can have the size and the time of modification of what it replaces.
bool file_stamp_same(const FileStamp *a, const FileStamp *b) {
    return a->bytes == b->bytes && a->modified == b->modified && (a->changed == b->changed || a->number == b->number);
}

static Status compare(const DataFile *file, const FileStamp *now, Error *err) {
    if (file_stamp_same(now, &file->stamp)) return STATUS_OK;
    return error_set(err, STATUS_BAD_INPUT,
                     "%s: expected the file that was opened (%lld bytes), found one that was changed later (%lld "
                     "bytes); start again",
                     file->path, (long long)file->stamp.bytes, (long long)now->bytes);
}

Status file_stamp_check(const DataFile *file, Error *err) {
    FileStamp now;
    Status status = file_stamp(file->path, &now, err);
    return status ? status : compare(file, &now, err);
}

Status file_stamp_check_open(const DataFile *file, int fd, Error *err) {
    struct stat info;
    if (fstat(fd, &info) != 0) return file_error(err, file->path, "read", errno);
    const FileStamp now = stamp_of(&info);
    return compare(file, &now, err);
}
