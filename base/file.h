// SPDX-License-Identifier: Apache-2.0
// Files and folders. Reading goes through one guarded open (regular file, read-only, size cap); writing through a draft
// beside the target that is fsynced and renamed, so that a crash or a full disk leaves the old file or the new one.
// Errors: a wrong or unwritable path is STATUS_BAD_INPUT, a full or failing disk STATUS_FAILED.
#ifndef VPD_BASE_FILE_H
#define VPD_BASE_FILE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { FILE_PATH_SIZE = 4096 };

// "PATH: cannot WHAT: strerror(code)" with the status that fits the errno `code`; for `what` such as "write".
Status file_error(Error *err, const char *path, const char *what, int code);

// ---- reading

// Opens a regular file of at most `max_bytes` bytes; a folder, pipe or device is refused without waiting for it. The
// caller closes *fd, which is -1 after an error. `bytes` may be NULL.
Status file_open(const char *path, size_t max_bytes, int *fd, size_t *bytes, Error *err);

// The same checks for a library that opens by name itself (HDF5, libtiff).
Status file_check(const char *path, size_t max_bytes, Error *err);

// The whole file in malloc'ed memory with a NUL behind the last byte.
Status file_read_all(const char *path, size_t max_bytes, char **text, size_t *length, Error *err);

bool file_exists(const char *path);
bool file_is_folder(const char *path);

// ---- writing

// An unfinished file. `temporary` exists, is empty and lies in the folder of `path`, which is made if it does not
// exist; write to it by name, close it, then commit. Zero-initialised is empty; abandon accepts that, and does nothing
// after a commit.
typedef struct FileDraft {
    char path[FILE_PATH_SIZE], temporary[FILE_PATH_SIZE];
} FileDraft;

Status file_draft_begin(FileDraft *draft, const char *path, Error *err);
// fsync, rename over `path`, fsync of the folder; removes the temporary file when one of them fails.
Status file_draft_commit(FileDraft *draft, Error *err);
void file_draft_abandon(FileDraft *draft);

// `write` writes the whole file to the path `temporary` (by name: a FILE, H5Fcreate with H5F_ACC_TRUNC, ...) and closes
// it; a status other than STATUS_OK is returned, and the old file stays.
typedef Status FileWriter(const char *temporary, void *context, Error *err);
Status file_write_atomic(const char *path, FileWriter *write, void *context, Error *err);
// The same with a stream that is opened and closed here; `write` says whether all went well.
typedef bool StreamWriter(FILE *file, void *context);
Status file_write_stream(const char *path, StreamWriter *write, void *context, Error *err);
Status file_write_bytes(const char *path, const void *bytes, size_t count, Error *err);

// ---- paths and folders

// Without regard to case: "a.PNG" ends in ".png".
bool name_ends(const char *name, const char *suffix);

// folder/name into out[size]; an absolute `name` stands alone.
Status file_join(char *out, size_t size, const char *folder, const char *name, Error *err);

// The folder of the file `path`: "a" of "a/b", "/" of "/b", "." of "b".
Status file_folder(char out[FILE_PATH_SIZE], const char *path, Error *err);

// The real path of folder/name, refused when it does not lie beneath `folder` (symbolic links followed): for paths from
// untrusted files. The file must exist.
Status file_resolve_beneath(char out[FILE_PATH_SIZE], const char *folder, const char *name, Error *err);

// Like mkdir -p.
Status file_make_folders(const char *path, Error *err);

// Makes nothing, and fails where file_make_folders would, or where files could not be put into the folder.
Status file_check_folder(const char *path, Error *err);

// Makes the folder that will hold `path`.
Status file_make_parent(const char *path, Error *err);

// Names in a folder without "." and "..", in byte order.
typedef struct FileList {
    char **names;
    size_t count;
} FileList;

Status file_list(const char *folder, FileList *list, Error *err);
void file_list_free(FileList *list);

#endif
