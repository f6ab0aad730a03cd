// SPDX-License-Identifier: Apache-2.0
// Names of files and folders, and what is wrong with them.
#include "base/file.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

// Whether the machine failed rather than the user's input.
static bool is_machine_error(int code) {
    static const int codes[] = {ENOSPC, EDQUOT, EIO, ENOMEM, EMFILE, ENFILE, EFBIG, EINTR, EAGAIN, EBUSY, ENOLCK};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (code == codes[i]) return true;
    return false;
}

Status file_error(Error *err, const char *path, const char *what, int code) {
    Status status = is_machine_error(code) ? STATUS_FAILED : STATUS_BAD_INPUT;
    size_t length = strlen(path), shown = 700; // the end of a long path, to leave room for the reason
    return error_set(err, status, "%s: cannot %s: %s", length > shown ? path + length - shown : path, what,
                     strerror(code));
}

bool file_exists(const char *path) { return access(path, F_OK) == 0; }

bool file_is_folder(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

bool name_ends(const char *name, const char *suffix) {
    size_t length = strlen(name), end = strlen(suffix);
    return length >= end && strcasecmp(name + length - end, suffix) == 0;
}

Status file_join(char *out, size_t size, const char *folder, const char *name, Error *err) {
    size_t length = strlen(folder);
    bool alone = name[0] == '/' || length == 0;
    int n = alone ? snprintf(out, size, "%s", name)
                  : snprintf(out, size, "%s%s%s", folder, folder[length - 1] == '/' ? "" : "/", name);
    return n < (int)size ? STATUS_OK : file_error(err, name, "use this path", ENAMETOOLONG);
}

Status file_folder(char out[FILE_PATH_SIZE], const char *path, Error *err) {
    const char *slash = strrchr(path, '/');
    const int length = !slash ? 0 : slash == path ? 1 : (int)(slash - path);
    const int n = slash ? snprintf(out, FILE_PATH_SIZE, "%.*s", length, path) : snprintf(out, FILE_PATH_SIZE, ".");
    return n < FILE_PATH_SIZE ? STATUS_OK : file_error(err, path, "use this path", ENAMETOOLONG);
}

Status file_resolve_beneath(char out[FILE_PATH_SIZE], const char *folder, const char *name, Error *err) {
    char joined[FILE_PATH_SIZE], root[PATH_MAX], found[PATH_MAX];
    Status status = file_join(joined, sizeof joined, folder, name, err);
    if (status != STATUS_OK) return status;
    if (!realpath(folder, root)) return file_error(err, folder, "open", errno);
    if (!realpath(joined, found)) return file_error(err, joined, "open", errno);
    size_t length = strlen(root);
    if (strcmp(root, "/") != 0 && (strncmp(found, root, length) != 0 || found[length] != '/'))
        return error_set(err, STATUS_BAD_INPUT, "%s: expected a file beneath %s, found %s", name, folder, found);
    snprintf(out, FILE_PATH_SIZE, "%s", found);
    return STATUS_OK;
}

static Status make_folder(const char *path, Error *err) {
    if (mkdir(path, 0777) == 0 || (errno == EEXIST && file_is_folder(path))) return STATUS_OK;
    return file_error(err, path, "make this folder", errno);
}

Status file_make_folders(const char *path, Error *err) {
    char part[FILE_PATH_SIZE];
    if (snprintf(part, sizeof part, "%s", path) >= (int)sizeof part)
        return file_error(err, path, "make this folder", ENAMETOOLONG);
    for (char *slash = part; (slash = strchr(slash + 1, '/'));) {
        *slash = 0;
        Status status = file_is_folder(part) ? STATUS_OK : make_folder(part, err);
        *slash = '/';
        if (status != STATUS_OK) return status;
    }
    return file_is_folder(path) ? STATUS_OK : make_folder(path, err);
}
