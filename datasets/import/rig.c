// SPDX-License-Identifier: Apache-2.0
#include "datasets/import/rig.h"

#include "datasets/import/listing.h"

#include <math.h>
#include <string.h>

static Status add_frame(const RigCamera *camera, const char *name, double time, PosedSet *out, Error *err) {
    char stem[64], depth[96];
    PosedImage image = {.view = camera->view, .time = time, .lens = camera->lens};
    memcpy(image.world_from_camera, camera->world_from_camera, sizeof image.world_from_camera);
    name_stem(name, stem, sizeof stem);
    if (!isfinite(time) || !find_depth_picture(camera->depth, stem, camera->depth_ending, depth, sizeof depth)) {
        out->pictures_left_out++;
        return STATUS_OK;
    }
    return add_named_picture(camera->colour, name, camera->depth, depth, &image, out, err);
}

Status rig_add_camera(const RigCamera *camera, double (*time_of)(const void *owner, int view, long number),
                      const void *owner, PosedSet *out, Error *err) {
    FileList names = {0};
    size_t before = out->count;
    Status status = list_pictures(camera->colour, &names, err);
    for (size_t i = 0; !status && i < names.count; i++)
        status = add_frame(camera, names.names[i], time_of(owner, camera->view, name_number(names.names[i])), out, err);
    file_list_free(&names);
    if (!status && out->count == before)
        return error_set(err, STATUS_BAD_INPUT, "%s: expected pictures with times, and their depth in %s, found none",
                         camera->colour, camera->depth);
    return status;
}

Status rig_align(const ImportSource *source, PosedSet *out, Error *err) {
    if (out->pictures_left_out)
        log_warning(source->log, "%s: %zu pictures have no depth or no time and are left out", source->path,
                    out->pictures_left_out);
    return posed_set_align(out, source->options->gap, source->path, source->log, err);
}

static bool has_sides(const NpyArray *array, int rank, const size_t *dims) {
    int found = array->rank;
    while (found > rank && array->dims[found - 1] == 1) found--;
    bool same = found == rank;
    for (int i = 0; i < rank; i++) same = same && (dims[i] == 0 || dims[i] == array->dims[i]);
    return same && array->count > 0;
}

Status rig_read_array(const char *folder, const char *name, int rank, const size_t *dims, NpyArray *out, Error *err) {
    char path[FILE_PATH_SIZE], wanted[64] = "", found[64] = "";
    Status status = file_join(path, sizeof path, folder, name, err);
    if (!status) status = npy_read(path, out, err);
    if (status || has_sides(out, rank, dims)) return status;
    for (int i = 0, at = 0; i < rank; i++)
        at += snprintf(wanted + at, sizeof wanted - (size_t)at, "%s%zu", i ? "," : "", dims[i]);
    for (int i = 0, at = 0; i < out->rank && at < 40; i++)
        at += snprintf(found + at, sizeof found - (size_t)at, "%s%zu", i ? "," : "", out->dims[i]);
    return error_set(err, STATUS_BAD_INPUT, "%s: expected an array of shape (%s), where 0 is any size, found (%s)",
                     path, wanted, found);
}
