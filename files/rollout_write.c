// SPDX-License-Identifier: Apache-2.0
// A rollout file is built in memory and written to disk atomically, so that HDF5 never meets a full disk.
#include "base/file.h"
#include "base/version.h"
#include "datasets/h5_write.h"
#include "files/rollout_layout.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CHUNK_ROWS = 65536, DEFLATE_LEVEL = 4, SMALL_BYTES = 1 << 14 };

// Writes small arrays contiguously and others in compressed chunks, which hold whole rows. `rows` is the dimension that
// counts them; chunks have one of what is before it.
static bool put_rows(hid_t place, const char *name, H5Kind kind, int rank, int rows, const size_t *dims,
                     const void *data) {
    size_t chunk[H5_RANK_MAX], start[H5_RANK_MAX] = {0}, bytes = h5_kind_bytes(kind);
    for (int i = 0; i < rank; i++) {
        chunk[i] = i < rows ? 1 : i == rows && dims[i] > CHUNK_ROWS ? CHUNK_ROWS : dims[i];
        bytes *= dims[i];
    }
    if (bytes <= SMALL_BYTES) return h5_write_array(place, name, kind, rank, dims, data);
    hid_t array = h5_create_chunked(place, name, kind, rank, dims, chunk, DEFLATE_LEVEL);
    bool good = array >= 0 && h5_write_block(array, kind, rank, start, dims, data);
    return h5_close_id(array) && good;
}

// dims are (rows), (rows, width) or (steps, rows, width).
static bool put_array(hid_t place, const char *name, H5Kind kind, int rank, const size_t *dims, const void *data) {
    return put_rows(place, name, kind, rank, rank > 2 ? 1 : 0, dims, data);
}

// Empty text is skipped; control characters, which the reader refuses, become '?'.
static bool put_text(hid_t place, const char *name, const char *text) {
    char clean[ROLLOUT_TEXT_SIZE];
    snprintf(clean, sizeof clean, "%s", text);
    for (char *c = clean; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127) *c = '?';
    return !clean[0] || h5_write_fixed_text(place, name, clean);
}

static bool put_lines(hid_t place, const char *name, const char *text) {
    size_t bytes = text ? strlen(text) : 0;
    return bytes == 0 || put_array(place, name, H5_U8, 1, &bytes, text);
}

static bool put_header(hid_t file, const RolloutFile *r) {
    const int32_t first = r->first_frame, stride = r->frame_stride;
    char generator[128], created[64] = "";
    time_t now = time(NULL);
    struct tm utc;
    snprintf(generator, sizeof generator, "vpd %s (%s)", version_number(), version_commit());
    if (gmtime_r(&now, &utc)) strftime(created, sizeof created, "%Y-%m-%dT%H:%M:%SZ", &utc);
    return put_text(file, "format", r->steps ? "vpd-rollout" : "vpd-particles") &&
           h5_write_version(file, ROLLOUT_MAJOR, ROLLOUT_MINOR) && put_text(file, "generator", generator) &&
           put_text(file, "created", created) && put_text(file, "checkpoint", r->checkpoint) &&
           put_text(file, "checkpoint_hash", r->checkpoint_hash) && put_text(file, "dataset", r->dataset) &&
           put_text(file, "episode", r->episode) && h5_write_i32s(file, "first_frame", &first, 1) &&
           h5_write_i32s(file, "frame_stride", &stride, 1) && h5_write_double(file, "time_step", r->time_step) &&
           put_lines(file, "edit_history", r->edit_history) && put_lines(file, "label_names", r->label_names);
}

static bool put_set(hid_t file, const RolloutSet *set, int index) {
    RolloutSet copy = *set; // the accessors take a non-const set
    hid_t group = h5_create_group(file, SET_NAMES[index]);
    bool good = group >= 0;
    for (int i = 0; good && i < SET_ARRAY_COUNT; i++) {
        const SetArray *array = SET_ARRAYS + i;
        const void *data = *set_pointer(&copy, array);
        size_t dims[2] = {set->N, array->width ? array->width : set->D};
        if (data && set_has_array(index, array) && dims[0] > 0 && dims[1] > 0)
            good = put_array(group, array->name, array->kind, array->width == 1 ? 1 : 2, dims, data);
    }
    return h5_close_id(group) && good;
}

// Writes the hash of the positions for which ties are valid.
static bool put_ties_of(hid_t file, const RolloutFile *r) {
    char hash[32];
    if (!rollout_has_ties(r)) return true;
    rollout_hash_places(r, hash);
    return put_text(file, "ties_of", hash);
}

static bool put_rollout(hid_t file, const RolloutFile *r) {
    size_t N = r->sets[0].N, D = r->sets[0].D, times = r->steps + 1;
    if (!put_array(file, "time", H5_F64, 1, &times, r->time)) return false;
    if (r->steps == 0) return true;
    hid_t group = h5_create_group(file, "rollout");
    bool good = group >= 0 && put_array(group, "positions", H5_F32, 3, (size_t[]){r->steps, N, 3}, r->positions);
    if (good && r->features && D > 0)
        good = put_array(group, "features", H5_F32, 3, (size_t[]){r->steps, N, D}, r->features);
    return h5_close_id(group) && good;
}

static bool put_drives(hid_t file, const RolloutDrives *d) {
    if (!d->count) return true;
    hid_t group = h5_create_group(file, "drives");
    bool good = group >= 0 && put_array(group, "body", H5_I32, 1, &d->count, d->body) &&
                put_array(group, "step", H5_I32, 1, &d->count, d->step) &&
                put_rows(group, "motion", H5_F64, 3, 0, (size_t[]){d->count, 4, 4}, d->motion);
    return h5_close_id(group) && good;
}

static bool put_cameras(hid_t file, const RolloutFile *r) {
    size_t V = (size_t)r->V, F = (size_t)r->camera_frames, two = 2;
    const int32_t size[2] = {r->H, r->W};
    if (V == 0) return true;
    hid_t group = h5_create_group(file, "cameras");
    bool good = group >= 0 && put_array(group, "intrinsics", H5_F64, 3, (size_t[]){V, 3, 3}, r->intrinsics) &&
                put_array(group, "world_from_camera", H5_F64, 4, (size_t[]){F, V, 4, 4}, r->world_from_camera) &&
                put_array(group, "size", H5_I32, 1, &two, size);
    if (good && r->heldout) good = put_array(group, "heldout", H5_U8, 1, &V, r->heldout);
    return h5_close_id(group) && good;
}

static bool put_surface(hid_t file, const RolloutFile *r) {
    const RolloutSurface *s = &r->surface;
    if (!s->triangles && !s->springs && s->frames != r->steps + 1) return true;
    hid_t group = h5_create_group(file, "surface");
    bool good = group >= 0;
    if (good && s->triangles) good = put_array(group, "triangles", H5_I32, 2, (size_t[]){s->triangles, 3}, s->triangle);
    if (good && s->springs) good = put_array(group, "springs", H5_I32, 2, (size_t[]){s->springs, 2}, s->spring);
    if (good && s->frames == r->steps + 1)
        good = put_array(group, "touching", H5_U8, 2, (size_t[]){s->frames, r->sets[0].N}, s->touching);
    return h5_close_id(group) && good;
}

static bool put_all(hid_t file, const RolloutFile *r) {
    const size_t three = 3;
    bool good = put_header(file, r) && put_rollout(file, r) && put_cameras(file, r) &&
                put_array(file, "background", H5_F32, 1, &three, r->background);
    if (good && rollout_has_light(r)) good = put_array(file, "light", H5_F64, 1, &three, r->light);
    if (good && r->has_bounds) good = put_array(file, "bounds", H5_F64, 2, (size_t[]){2, 3}, r->bounds);
    for (int i = 0; good && i < r->set_count; i++) good = put_set(file, r->sets + i, i);
    return good && put_surface(file, r) && put_drives(file, &r->drives) && put_ties_of(file, r);
}

Status rollout_file_write(const RolloutFile *rollout, const char *path, Error *err) {
    char cause[256];
    H5Image image = {0};
    if (rollout->set_count < 1 || rollout->set_count > ROLLOUT_SETS_MAX || rollout->sets[0].N == 0)
        return error_set(err, STATUS_BAD_INPUT,
                         "%s: cannot save this rollout: expected 1 to %d input sets, the first not empty", path,
                         ROLLOUT_SETS_MAX);
    h5_lock();
    bool good = h5_image_create(&image, 0) && put_all(image.file, rollout);
    if (!good) h5_cause(cause, sizeof cause);
    if (!h5_image_close(&image) && good) {
        h5_cause(cause, sizeof cause);
        good = false;
    }
    h5_unlock();
    Status status = good ? file_write_bytes(path, image.start, image.size, err)
                         : error_set(err, STATUS_FAILED, "%s: cannot be built in memory (%s)", path, cause);
    h5_image_free(&image);
    return status;
}
