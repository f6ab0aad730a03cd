// SPDX-License-Identifier: Apache-2.0
#include "datasets/file_stamp.h"

#include "base/file.h"

#include <errno.h>
#include <sys/stat.h>

static int64_t nanoseconds(struct timespec time) { return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec; }

Status file_stamp(const char *path, FileStamp *out, Error *err) {
    struct stat info;
    *out = (FileStamp){0};
    if (stat(path, &info) != 0) return file_error(err, path, "read", errno);
    *out = (FileStamp){(int64_t)info.st_size, nanoseconds(info.st_mtim), nanoseconds(info.st_ctim)};
    return STATUS_OK;
}

// A file that is opened for each read may have been replaced meanwhile.
Status file_stamp_check(const DataFile *file, Error *err) {
    FileStamp now;
    Status status = file_stamp(file->path, &now, err);
    if (status || (now.bytes == file->stamp.bytes && now.modified == file->stamp.modified)) return status;
    return error_set(err, STATUS_BAD_INPUT,
                     "%s: expected the file that was opened (%lld bytes), found one that was written later (%lld "
                     "bytes); start again",
                     file->path, (long long)file->stamp.bytes, (long long)now.bytes);
}
