// SPDX-License-Identifier: Apache-2.0
#include "datasets/file_stamp.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

static int64_t nanoseconds(struct statx_timestamp time) { return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec; }

// Of the file at `place`, from the open folder or file `from`; `path` is for errors.
static Status take_stamp(int from, const char *place, int flags, const char *path, FileStamp *out, Error *err) {
    struct statx info;
    *out = (FileStamp){0};
    if (statx(from, place, flags, STATX_BASIC_STATS | STATX_BTIME, &info) != 0)
        return file_error(err, path, "read", errno);
    *out = (FileStamp){.bytes = (int64_t)info.stx_size,
                       .modified = nanoseconds(info.stx_mtime),
                       .changed = nanoseconds(info.stx_ctime),
                       .made = info.stx_mask & STATX_BTIME ? nanoseconds(info.stx_btime) : 0,
                       .number = info.stx_ino};
    return STATUS_OK;
}

Status file_stamp(const char *path, FileStamp *out, Error *err) {
    return take_stamp(AT_FDCWD, path, 0, path, out, err);
}

// A copy can have the size and the time of modification of what it replaces.
bool file_stamp_same(const FileStamp *a, const FileStamp *b) {
    bool same_file = a->number == b->number && a->made == b->made;
    return a->bytes == b->bytes && a->modified == b->modified && (a->changed == b->changed || same_file);
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
    FileStamp now;
    Status status = take_stamp(fd, "", AT_EMPTY_PATH, file->path, &now, err);
    return status ? status : compare(file, &now, err);
}
