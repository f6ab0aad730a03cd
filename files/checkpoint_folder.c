// SPDX-License-Identifier: Apache-2.0
// A run's folder of checkpoints. `latest` and `best` are small files that hold one name; unlike links they work on
// every file system.
#include "base/stop.h"
#include "files/checkpoint.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAME_SIZE = 48, POINTER_MAX = 64 };

// The step in "step_00001000.h5", or -1 for another name.
static long step_of_name(const char *name) {
    const char *digits = name + 5;
    if (strncmp(name, "step_", 5) != 0) return -1;
    size_t count = strspn(digits, "0123456789");
    return count >= 8 && count <= 18 && !strcmp(digits + count, ".h5") ? strtol(digits, NULL, 10) : -1;
}

static void name_of_step(long step, char out[NAME_SIZE]) { snprintf(out, NAME_SIZE, "step_%08ld.h5", step); }

// ---- the files that name a checkpoint

static Status write_pointer(const char *folder, const char *pointer, const char *name, Error *err) {
    char path[FILE_PATH_SIZE], line[NAME_SIZE + 1];
    Status status = file_join(path, sizeof path, folder, pointer, err);
    int length = snprintf(line, sizeof line, "%s\n", name);
    return status == STATUS_OK ? file_write_bytes(path, line, (size_t)length, err) : status;
}

// Reads the name in `path`; false if the file is missing or holds something else.
static bool read_pointer(const char *path, char name[NAME_SIZE]) {
    char *text = NULL;
    size_t length = 0;
    Error ignored;
    if (file_read_all(path, POINTER_MAX, &text, &length, &ignored) != STATUS_OK) return false;
    text[strcspn(text, "\r\n")] = 0;
    bool good = step_of_name(text) >= 0;
    if (good) snprintf(name, NAME_SIZE, "%.*s", NAME_SIZE - 1, text);
    free(text);
    return good;
}

static bool read_pointer_in(const char *folder, const char *pointer, char name[NAME_SIZE]) {
    char path[FILE_PATH_SIZE];
    Error ignored;
    name[0] = 0;
    return file_join(path, sizeof path, folder, pointer, &ignored) == STATUS_OK && read_pointer(path, name);
}

// ---- removing old files

static void remove_in(const char *folder, const char *name) {
    char path[FILE_PATH_SIZE];
    Error ignored;
    if (file_join(path, sizeof path, folder, name, &ignored) == STATUS_OK) unlink(path);
}

// Whether this is a draft, such as "step_00001000.h5.4711-0.tmp", of a process that has ended (base/file.h makes the
// names).
static bool is_dead_draft(const char *name) {
    size_t length = strlen(name);
    if (length < 5 || strcmp(name + length - 4, ".tmp") != 0) return false;
    const char *tail = !strncmp(name, "latest.", 7) ? name + 7
                       : !strncmp(name, "best.", 5) ? name + 5
                                                    : strstr(name, ".h5.");
    if (!tail || (tail == name + 5 && strncmp(name, "best.", 5) != 0)) return false;
    if (!strncmp(tail, ".h5.", 4)) tail += 4;
    long pid = strtol(tail, NULL, 10);
    return pid > 0 && pid != (long)getpid() && kill((pid_t)pid, 0) != 0 && errno == ESRCH;
}

static int newest_first(const void *a, const void *b) {
    long first = step_of_name(*(char *const *)a), second = step_of_name(*(char *const *)b);
    return first < second ? 1 : first > second ? -1 : 0;
}

// Lists the checkpoints, newest first, then all other files.
static Status list_newest_first(const char *folder, FileList *list, Error *err) {
    Status status = file_list(folder, list, err);
    if (status == STATUS_OK && list->count) qsort(list->names, list->count, sizeof *list->names, newest_first);
    return status;
}

static void prune(const char *folder, long keep) {
    FileList list = {0};
    Error ignored;
    char latest[NAME_SIZE], best[NAME_SIZE];
    read_pointer_in(folder, "latest", latest);
    read_pointer_in(folder, "best", best);
    if (list_newest_first(folder, &list, &ignored) != STATUS_OK) return;
    for (size_t i = 0; i < list.count; i++) {
        const char *name = list.names[i];
        bool is_old =
            step_of_name(name) >= 0 && (long)i >= keep && strcmp(name, latest) != 0 && strcmp(name, best) != 0;
        if (is_old || is_dead_draft(name)) remove_in(folder, name);
    }
    file_list_free(&list);
}

Status checkpoint_save_in(const char *folder, const Parameters *set, const CheckpointBlocks *blocks,
                          const CheckpointMeta *meta, bool is_best, long keep, Error *err) {
    char name[NAME_SIZE], path[FILE_PATH_SIZE];
    name_of_step(meta->step, name);
    Status status = file_make_folders(folder, err);
    if (status == STATUS_OK) status = file_join(path, sizeof path, folder, name, err);
    if (status == STATUS_OK) status = checkpoint_save(path, set, blocks, meta, err);
    if (status == STATUS_OK && is_best) status = write_pointer(folder, "best", name, err);
    if (status == STATUS_OK) status = write_pointer(folder, "latest", name, err);
    if (status == STATUS_OK) prune(folder, keep < 1 ? 1 : keep);
    return status;
}

// ---- finding

// Whether folder/name is an undamaged checkpoint. If not, the note keeps the first such error.
static bool try_file(const char *folder, const char *name, CheckpointFound *found) {
    Error err = {0};
    if (file_join(found->path, sizeof found->path, folder, name, &err) == STATUS_OK &&
        checkpoint_verify(found->path, &err) == STATUS_OK)
        return true;
    if (!found->note[0]) snprintf(found->note, sizeof found->note, "skipped: %.480s", err.text);
    return false;
}

Status checkpoint_find_latest(const char *folder, CheckpointFound *found, Error *err) {
    char latest[NAME_SIZE];
    FileList list = {0};
    *found = (CheckpointFound){.note = ""};
    if (read_pointer_in(folder, "latest", latest) && try_file(folder, latest, found)) return STATUS_OK;
    Status status = list_newest_first(folder, &list, err);
    if (status != STATUS_OK) return status;
    bool there = false;
    for (size_t i = 0; !there && i < list.count && !stop_requested(); i++) {
        const char *name = list.names[i];
        there = step_of_name(name) >= 0 && strcmp(name, latest) != 0 && try_file(folder, name, found);
    }
    file_list_free(&list);
    if (there) return STATUS_OK;
    // reading was interrupted, so an older checkpoint must not be used instead
    if (stop_requested()) return stop_error(err);
    if (found->note[0])
        return error_set(err, STATUS_BAD_INPUT, "%s: expected an undamaged checkpoint, found none; %.600s", folder,
                         found->note);
    return error_set(err, STATUS_BAD_INPUT,
                     "%s: expected a checkpoint (step_*.h5), found none; was the run ever saved?", folder);
}

// Finds the best, else the latest, of a folder of checkpoints.
static Status find_in_folder(const char *folder, CheckpointFound *found, Error *err) {
    char best[NAME_SIZE];
    *found = (CheckpointFound){.note = ""};
    if (!read_pointer_in(folder, "best", best)) return checkpoint_find_latest(folder, found, err);
    if (try_file(folder, best, found)) return STATUS_OK;
    char note[sizeof found->note];
    snprintf(note, sizeof note, "%s", found->note);
    Status status = checkpoint_find_latest(folder, found, err);
    snprintf(found->note, sizeof found->note, "%s", note);
    return status;
}

Status checkpoint_find(const char *path, CheckpointFound *found, Error *err) {
    char inner[FILE_PATH_SIZE], name[NAME_SIZE];
    *found = (CheckpointFound){.note = ""};
    if (file_is_folder(path)) {
        Status status = file_join(inner, sizeof inner, path, "checkpoints", err);
        if (status != STATUS_OK) return status;
        return find_in_folder(file_is_folder(inner) ? inner : path, found, err);
    }
    // The path may be `latest` or `best` itself.
    const char *slash = strrchr(path, '/'), *last = slash ? slash + 1 : path;
    int length = slash ? (int)(slash - path) : 1;
    if ((strcmp(last, "latest") != 0 && strcmp(last, "best") != 0) || !read_pointer(path, name))
        return file_join(found->path, sizeof found->path, "", path, err);
    if (snprintf(inner, sizeof inner, "%.*s", length, slash ? path : ".") >= (int)sizeof inner)
        return file_error(err, path, "use this path", ENAMETOOLONG);
    return file_join(found->path, sizeof found->path, *inner ? inner : "/", name, err);
}
