// SPDX-License-Identifier: Apache-2.0
#include "base/file.h"

#include "base/file_kind.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// ---- reading

static Status check_regular(const char *path, const struct stat *info, size_t max_bytes, Error *err) {
    if (S_ISDIR(info->st_mode))
        return error_set(err, STATUS_BAD_INPUT, "%s: expected a file, found %s", path, file_kind(path));
    if (!S_ISREG(info->st_mode))
        return error_set(err, STATUS_BAD_INPUT, "%s: expected a regular file, found a device, pipe or socket", path);
    if ((unsigned long long)info->st_size > max_bytes)
        return error_set(err, STATUS_BAD_INPUT, "%s: expected at most %zu bytes, found %lld", path, max_bytes,
                         (long long)info->st_size);
    return STATUS_OK;
}

Status file_open(const char *path, size_t max_bytes, int *fd, size_t *bytes, Error *err) {
    struct stat info;
    // O_NONBLOCK: opening a pipe that nobody writes to must not wait.
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (*fd < 0) return file_error(err, path, "open", errno);
    Status status =
        fstat(*fd, &info) ? file_error(err, path, "open", errno) : check_regular(path, &info, max_bytes, err);
    if (status != STATUS_OK) {
        close(*fd);
        *fd = -1;
    } else if (bytes) {
        *bytes = (size_t)info.st_size;
    }
    return status;
}

Status file_check(const char *path, size_t max_bytes, Error *err) {
    int fd;
    Status status = file_open(path, max_bytes, &fd, NULL, err);
    if (fd >= 0) close(fd);
    return status;
}

// Reads `size` bytes or up to the end of the file; returns the number read, or -1.
static ssize_t read_fully(int fd, char *out, size_t size) {
    size_t done = 0;
    while (done < size) {
        ssize_t n = read(fd, out + done, size - done);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return -1;
        if (n == 0) break;
        done += (size_t)n;
    }
    return (ssize_t)done;
}

Status file_read_all(const char *path, size_t max_bytes, char **text, size_t *length, Error *err) {
    int fd;
    size_t size = 0;
    Status status = file_open(path, max_bytes, &fd, &size, err);
    *text = NULL;
    if (status != STATUS_OK) return status;
    char *memory = malloc(size + 1);
    ssize_t got = memory ? read_fully(fd, memory, size) : -1;
    if (got < 0) {
        status = file_error(err, path, "read", memory ? errno : ENOMEM);
        free(memory);
    } else {
        memory[got] = 0; // fewer than `size` if the file is shortened meanwhile
        *text = memory;
        *length = (size_t)got;
    }
    close(fd);
    return status;
}

// ---- writing

// A folder, device or pipe must not be replaced, nor a read-only file.
static Status check_target(const char *path, Error *err) {
    struct stat info;
    if (stat(path, &info)) return errno == ENOENT ? STATUS_OK : file_error(err, path, "write", errno);
    if (!S_ISREG(info.st_mode))
        return error_set(err, STATUS_BAD_INPUT, "%s: cannot write: it exists and is no regular file", path);
    return access(path, W_OK) ? file_error(err, path, "write", errno) : STATUS_OK;
}

Status file_draft_begin(FileDraft *draft, const char *path, Error *err) {
    enum { TRIES = 1000 };
    draft->temporary[0] = 0;
    Status status = check_target(path, err);
    if (status == STATUS_OK) status = file_make_parent(path, err);
    if (status != STATUS_OK) return status;
    int code = EEXIST;
    // A killed process may have left its temporary file, and process numbers are reused.
    for (int i = 0; i < TRIES && code == EEXIST; i++) {
        int n = snprintf(draft->temporary, sizeof draft->temporary, "%s.%ld-%d.tmp", path, (long)getpid(), i);
        int fd = n < (int)sizeof draft->temporary
                     ? open(draft->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)
                     : -1;
        code = n >= (int)sizeof draft->temporary ? ENAMETOOLONG : fd < 0 ? errno : 0;
        if (fd >= 0) close(fd);
    }
    if (code == 0) {
        snprintf(draft->path, sizeof draft->path, "%s", path);
        return STATUS_OK;
    }
    draft->temporary[0] = 0;
    return file_error(err, path, "write", code);
}

static int sync_path(const char *path, int flags) {
    int fd = open(path, flags | O_CLOEXEC);
    if (fd < 0) return errno;
    // Some file systems cannot sync a folder; that is no failure of the save.
    int code = fsync(fd) && errno != EINVAL && errno != EROFS ? errno : 0;
    close(fd);
    return code;
}

Status file_draft_commit(FileDraft *draft, Error *err) {
    char folder[FILE_PATH_SIZE];
    Status status = file_folder(folder, draft->path, err);
    int code = status == STATUS_OK ? sync_path(draft->temporary, O_RDONLY) : 0;
    if (status == STATUS_OK && code == 0 && rename(draft->temporary, draft->path)) code = errno;
    if (code) status = file_error(err, draft->path, "write", code);
    if (status != STATUS_OK) {
        file_draft_abandon(draft);
        return status;
    }
    draft->temporary[0] = 0;
    code = sync_path(folder, O_RDONLY | O_DIRECTORY);
    return code ? file_error(err, draft->path, "write", code) : STATUS_OK;
}

void file_draft_abandon(FileDraft *draft) {
    if (draft->temporary[0]) unlink(draft->temporary);
    draft->temporary[0] = 0;
}

Status file_write_atomic(const char *path, FileWriter *write, void *context, Error *err) {
    FileDraft draft;
    Status status = file_draft_begin(&draft, path, err);
    if (status != STATUS_OK) return status;
    status = write(draft.temporary, context, err);
    if (status == STATUS_OK) return file_draft_commit(&draft, err);
    file_draft_abandon(&draft);
    return status;
}

typedef struct Stream {
    const char *path; // the final one, for errors
    StreamWriter *write;
    void *context;
} Stream;

static Status write_stream(const char *temporary, void *context, Error *err) {
    const Stream *stream = context;
    errno = 0;
    FILE *file = fopen(temporary, "wb");
    if (!file) return file_error(err, stream->path, "write", errno);
    bool good = stream->write(file, stream->context) && !ferror(file);
    int code = errno;
    if (fclose(file) != 0 && good) good = false, code = errno;
    return good ? STATUS_OK : file_error(err, stream->path, "write", code ? code : EIO);
}

Status file_write_stream(const char *path, StreamWriter *write, void *context, Error *err) {
    return file_write_atomic(path, write_stream, &(Stream){path, write, context}, err);
}

typedef struct Bytes {
    const void *start;
    size_t count;
} Bytes;

static bool write_bytes(FILE *file, void *context) {
    const Bytes *bytes = context;
    return fwrite(bytes->start, 1, bytes->count, file) == bytes->count;
}

Status file_write_bytes(const char *path, const void *bytes, size_t count, Error *err) {
    return file_write_stream(path, write_bytes, &(Bytes){bytes, count}, err);
}

Status file_check_folder(const char *path, Error *err) {
    char at[FILE_PATH_SIZE], above[FILE_PATH_SIZE];
    struct stat info;
    Status status = file_join(at, sizeof at, path, ".", err);
    while (status == STATUS_OK && stat(at, &info)) {
        if (errno != ENOENT) return file_error(err, path, "create the folder", errno);
        status = file_folder(above, at, err);
        memcpy(at, above, sizeof at);
    }
    if (status != STATUS_OK) return status;
    if (!S_ISDIR(info.st_mode)) return file_error(err, path, "create the folder", ENOTDIR);
    return access(at, W_OK | X_OK) ? file_error(err, path, "write", errno) : STATUS_OK;
}

Status file_make_parent(const char *path, Error *err) {
    char folder[FILE_PATH_SIZE];
    Status status = file_folder(folder, path, err);
    return status == STATUS_OK ? file_make_folders(folder, err) : status;
}
