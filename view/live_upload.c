// SPDX-License-Identifier: Apache-2.0
// Files that are dropped onto the page. Each is kept in a folder of the viewer's own until it ends, and is read like
// any other.
#include "view/live_internal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct LiveUpload {
    Live *live;
    char name[LIVE_NAME_SIZE], path[FILE_PATH_SIZE];
    FILE *file;
    size_t size;
    bool failed;
};

static Status make_folder(Live *live, Error *err) {
    const char *place = getenv("TMPDIR");
    char folder[FILE_PATH_SIZE];
    if (*live->folder) return STATUS_OK;
    Status status = file_join(folder, sizeof folder, place && *place ? place : "/tmp", "vpd-view-XXXXXX", err);
    if (status != STATUS_OK) return status;
    if (!mkdtemp(folder)) return error_set(err, STATUS_FAILED, "%s: cannot make a folder there", folder);
    pthread_mutex_lock(&live->lock); // the thread may read it
    memcpy(live->folder, folder, sizeof folder);
    pthread_mutex_unlock(&live->lock);
    return STATUS_OK;
}

static Status check_room(const Live *live, const char *name, Error *err) {
    if (live->uploading) return error_set(err, STATUS_BAD_INPUT, "another file is still coming");
    if (live->count == LIVE_SCENES_MAX)
        return error_set(err, STATUS_BAD_INPUT, "%d scenes are open, and no more can be", LIVE_SCENES_MAX);
    for (int i = 0; i < live->count; i++)
        if (live->sources[i].real && !strcmp(live->sources[i].real, name))
            return error_set(err, STATUS_BAD_INPUT, "a file with the name %s is open", name);
    return STATUS_OK;
}

Status live_upload_begin(Live *live, const char *name, LiveUpload **out, Error *err) {
    *out = NULL;
    Status status = check_room(live, name, err);
    if (status == STATUS_OK) status = make_folder(live, err);
    LiveUpload *upload = status == STATUS_OK ? calloc(1, sizeof *upload) : NULL;
    if (!upload) return status == STATUS_OK ? live_no_memory(err) : status;
    snprintf(upload->name, sizeof upload->name, "%s", name);
    status = file_join(upload->path, sizeof upload->path, live->folder, name, err);
    upload->file = status == STATUS_OK ? fopen(upload->path, "wxb") : NULL;
    if (!upload->file) {
        free(upload);
        return status == STATUS_OK ? error_set(err, STATUS_FAILED, "%s: cannot be written", live->folder) : status;
    }
    upload->live = live;
    live->uploading = true;
    *out = upload;
    return STATUS_OK;
}

void live_upload_write(LiveUpload *upload, const void *bytes, size_t size) {
    upload->size += size;
    if (upload->failed || upload->size > LIVE_FILE_BYTES || fwrite(bytes, 1, size, upload->file) != size)
        upload->failed = true;
}

static Status read_file(Live *live, const LiveUpload *upload, Source *out, Error *err) {
    vpd_error e = {0};
    *out = (Source){.real = strdup(upload->name), .dropped = true};
    out->path = out->real;
    Status status = out->real ? rollout_file_read(upload->path, &out->file, err) : live_no_memory(err);
    if (status == STATUS_OK && live->model)
        status = api_status(vpd_scene_read(live->model, upload->path, &out->scene, &e), &e, err);
    if (status != STATUS_OK) live_source_free(out);
    return status;
}

// Where the file is kept is of no use to people; the page says its name.
static void leave_out_path(Error *err, const char *path) {
    const size_t length = strlen(path);
    const char *rest = err->text + length;
    if (strncmp(err->text, path, length) != 0 || strncmp(rest, ": ", 2) != 0) return;
    memmove(err->text, rest + 2, strlen(rest + 2) + 1);
}

Status live_upload_end(LiveUpload *upload, int *scene, Error *err) {
    Live *live = upload->live;
    Source source;
    upload->failed |= fflush(upload->file) != 0;
    if (upload->failed)
        return error_set(err, STATUS_BAD_INPUT, "%s: could not be kept; files have at most %zu MiB", upload->name,
                         LIVE_FILE_BYTES >> 20);
    Status status = read_file(live, upload, &source, err);
    if (status != STATUS_OK) {
        leave_out_path(err, upload->path);
        return status;
    }
    pthread_mutex_lock(&live->lock);
    *scene = live->count;
    live->sources[live->count++] = source;
    pthread_mutex_unlock(&live->lock);
    *upload->path = 0; // it stays
    return STATUS_OK;
}

void live_upload_free(LiveUpload *upload) {
    if (!upload) return;
    fclose(upload->file);
    if (*upload->path) unlink(upload->path);
    upload->live->uploading = false;
    free(upload);
}

void live_remove_dropped(const Live *live) {
    char path[FILE_PATH_SIZE];
    for (int i = 0; i < live->count; i++)
        if (live->sources[i].dropped &&
            file_join(path, sizeof path, live->folder, live->sources[i].real, NULL) == STATUS_OK)
            unlink(path);
    if (*live->folder) rmdir(live->folder);
}
