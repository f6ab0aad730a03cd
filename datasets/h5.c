// SPDX-License-Identifier: Apache-2.0
#include "datasets/h5_private.h"

#include "base/check.h"
#include "base/file.h"
#include "base/file_kind.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FILE_BYTES_MAX ((size_t)1 << 46) // 64 TiB
#define CHUNK_CACHE_BYTES ((size_t)32 << 20)

// HDF5's state belongs to the process, and so does this lock.
static pthread_mutex_t library_lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static int lock_depth; // from here on: guarded by library_lock
static bool library_opened;
static H5E_auto2_t saved_printer;
static void *saved_printer_owner;

void h5_lock(void) {
    CHECK(pthread_mutex_lock(&library_lock) == 0);
    if (lock_depth++ > 0) return;
    if (!library_opened) H5dont_atexit(); // else HDF5 tries again at exit to close a file that a full disk kept open
    library_opened = true;
    H5open();
    H5PLset_loading_state(0); // filter plug-ins would run untrusted code
    H5Eget_auto2(H5E_DEFAULT, &saved_printer, &saved_printer_owner);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

void h5_unlock(void) {
    if (--lock_depth == 0) H5Eset_auto2(H5E_DEFAULT, saved_printer, saved_printer_owner);
    CHECK(pthread_mutex_unlock(&library_lock) == 0);
}

void h5_lock_forked(void) {
    library_lock = (pthread_mutex_t)PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    lock_depth = 0;
}

typedef struct Cause {
    char *out;
    size_t size;
} Cause;

static herr_t take_innermost(unsigned n, const H5E_error2_t *error, void *owner) {
    Cause *cause = owner;
    if (n == 0) snprintf(cause->out, cause->size, "%s", error->desc ? error->desc : "unknown cause");
    return 0;
}

void h5_cause(char *out, size_t size) {
    Cause cause = {out, size};
    snprintf(out, size, "unknown cause");
    h5_lock();
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_innermost, &cause);
    h5_unlock();
}

typedef struct Newer {
    bool found;
    char what[128];
} Newer;

static herr_t look_for_version(unsigned n, const H5E_error2_t *error, void *owner) {
    Newer *newer = owner;
    bool version = error->min_num == H5E_VERSION || error->min_num == H5E_UNSUPPORTED ||
                   (error->desc && (strstr(error->desc, "version number") || strstr(error->desc, "unknown message") ||
                                    strstr(error->desc, "unknown flag")));
    (void)n;
    if (newer->found || !version) return 0;
    newer->found = true;
    snprintf(newer->what, sizeof newer->what, "%s", error->desc ? error->desc : "an unknown version");
    return 0;
}

// After a call of HDF5 that failed: the error for a file that a newer HDF5 wrote; false when that is not the cause.
static bool is_newer(const char *place, Error *err) {
    Newer newer = {0};
    unsigned major = 0, minor = 0, release = 0;
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, look_for_version, &newer);
    if (!newer.found) return false;
    H5get_libversion(&major, &minor, &release);
    error_set(
        err, STATUS_BAD_INPUT,
        "%s: expected a file that HDF5 %u.%u.%u reads, found one of a newer HDF5, or a damaged one (%s); convert it "
        "with the tools of the HDF5 that wrote it: \"h5repack --high=1 OLD.h5 NEW.h5\"",
        place, major, minor, release, newer.what);
    return true;
}

static hid_t access_list(void) {
    hid_t list = H5Pcreate(H5P_FILE_ACCESS);
    if (list < 0) return list;
    H5Pset_fclose_degree(list, H5F_CLOSE_STRONG);
    H5Pset_cache(list, 0, 521, CHUNK_CACHE_BYTES, 1.0); // arrays whose chunks hold several images
#if H5_VERSION_GE(1, 10, 7)
    H5Pset_file_locking(list, 1, 1); // file systems without locks are no obstacle to reading
#endif
    return list;
}

static Status open_failed(const char *name, Error *err) {
    char cause[256];
    if (is_newer(name, err)) return STATUS_BAD_INPUT;
    h5_cause(cause, sizeof cause);
    return error_set(err, STATUS_BAD_INPUT, "%s: expected an HDF5 file, found one that is damaged or cut short (%s)",
                     name, cause);
}

// The cause of an open that failed stays for h5_cause: every call clears it.
static void close_list(hid_t list) {
    hid_t causes = H5Eget_current_stack();
    if (list >= 0) H5Pclose(list);
    H5Eset_current_stack(causes);
}

static hid_t open_path(const void *path) {
    hid_t list = access_list();
    hid_t file = list < 0 ? -1 : H5Fopen(path, H5F_ACC_RDONLY, list);
    close_list(list);
    return file;
}

typedef enum Opening { OPEN_PROBED, OPEN_AGAIN, OPEN_HERE } Opening;

// The lock is held.
static Status open_named(const char *path, Opening opening, H5Place *file, Error *err) {
    Status status = STATUS_OK;
    if (H5Fis_hdf5(path) <= 0)
        return error_set(err, STATUS_BAD_INPUT, "%s: expected an HDF5 file, found %s", path, file_kind(path));
    if (opening == OPEN_PROBED) status = h5_probe(path, file->file_bytes, open_path, path, err);
    if (opening == OPEN_HERE) h5_walk_here(open_path(path), file->file_bytes);
    if (status == STATUS_OK && (file->id = open_path(path)) < 0) status = open_failed(path, err);
    return status;
}

static Status open_file(const char *path, Opening opening, H5Place *file, Error *err) {
    int fd;
    *file = (H5Place){.id = H5I_INVALID_HID};
    Status status = file_open(path, FILE_BYTES_MAX, &fd, &file->file_bytes, err);
    if (status) return status;
    close(fd); // HDF5 opens by name itself
    h5_lock();
    status = open_named(path, opening, file, err);
    h5_unlock();
    snprintf(file->text, sizeof file->text, "%s:", path);
    return status;
}

Status h5_open_file(const char *path, H5Place *file, Error *err) { return open_file(path, OPEN_PROBED, file, err); }
Status h5_open_file_again(const char *path, H5Place *file, Error *err) {
    return open_file(path, OPEN_AGAIN, file, err);
}
Status h5_open_file_here(const char *path, H5Place *file, Error *err) { return open_file(path, OPEN_HERE, file, err); }

typedef struct MemoryFile {
    const void *bytes;
    size_t size;
    const char *name;
} MemoryFile;

// The core driver copies the image; nothing is written back.
static hid_t open_image(const void *owner) {
    const MemoryFile *image = owner;
    hid_t list = access_list(), file = -1;
    if (list >= 0 && H5Pset_fapl_core(list, 1 << 16, 0) >= 0 &&
        H5Pset_file_image(list, (void *)image->bytes, image->size) >= 0)
        file = H5Fopen(image->name, H5F_ACC_RDONLY, list);
    close_list(list);
    return file;
}

Status h5_open_memory(const void *bytes, size_t size, const char *name, H5Place *file, Error *err) {
    MemoryFile image = {bytes, size, name};
    *file = (H5Place){.id = H5I_INVALID_HID, .file_bytes = size};
    h5_lock();
    Status status = h5_probe(name, size, open_image, &image, err);
    if (!status && (file->id = open_image(&image)) < 0) status = open_failed(name, err);
    h5_unlock();
    snprintf(file->text, sizeof file->text, "%s:", name);
    return status;
}

void h5_close(H5Place *place) {
    if (place->id > 0) {
        h5_lock();
        if (H5Iget_type(place->id) == H5I_FILE) H5Fclose(place->id);
        else H5Oclose(place->id);
        h5_unlock();
    }
    place->id = H5I_INVALID_HID;
}

// "a.h5:" + "episodes" -> "a.h5:/episodes"
static void child_text(const H5Place *parent, const char *name, char *out) {
    snprintf(out, H5_PLACE_SIZE, "%.*s/%s", H5_PLACE_SIZE - H5_NAME_SIZE - 2, parent->text, name);
}

// 1 a hard link, 0 absent, -1 something that is refused.
static int find_hard_link(const H5Place *parent, const char *name, const char *text, Error *err) {
    H5L_info_t link;
    htri_t exists = H5Lexists(parent->id, name, H5P_DEFAULT);
    if (exists == 0) return 0;
    if (exists < 0 || H5Lget_info(parent->id, name, &link, H5P_DEFAULT) < 0) {
        error_set(err, STATUS_BAD_INPUT, "%s: the file is damaged here", text);
        return -1;
    }
    if (link.type == H5L_TYPE_HARD) return 1;
    error_set(err, STATUS_BAD_INPUT, "%s: expected an object of this file (hard link), found %s link", text,
              link.type == H5L_TYPE_SOFT ? "a soft" : "an external or user-defined");
    return -1;
}

hid_t h5_open_child(const H5Place *parent, const char *name, bool required, H5I_type_t type, char *text, Error *err) {
    child_text(parent, name, text);
    const char *kind = type == H5I_GROUP ? "group" : "array";
    int link = find_hard_link(parent, name, text, err);
    if (link < 0) return -1;
    if (link == 0) {
        if (required)
            error_set(err, STATUS_BAD_INPUT, "%s: expected %s %s, found no object of that name", text,
                      type == H5I_GROUP ? "a" : "an", kind);
        return required ? -1 : 0;
    }
    hid_t id = H5Oopen(parent->id, name, H5P_DEFAULT);
    if (id < 0) {
        if (!is_newer(text, err)) error_set(err, STATUS_BAD_INPUT, "%s: the file is damaged here", text);
        return -1;
    }
    if (H5Iget_type(id) == type) return id;
    H5Oclose(id);
    error_set(err, STATUS_BAD_INPUT, "%s: expected %s %s, found another kind of object", text,
              type == H5I_GROUP ? "a" : "an", kind);
    return -1;
}

Status h5_open_group(const H5Place *parent, const char *name, bool required, H5Place *group, bool *found, Error *err) {
    *group = (H5Place){.id = H5I_INVALID_HID, .file_bytes = parent->file_bytes};
    h5_lock();
    hid_t id = h5_open_child(parent, name, required, H5I_GROUP, group->text, err);
    h5_unlock();
    if (found) *found = id > 0;
    if (id > 0) group->id = id;
    return id < 0 ? STATUS_BAD_INPUT : STATUS_OK;
}
