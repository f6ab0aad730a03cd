// SPDX-License-Identifier: Apache-2.0
#include "files/checkpoint.h"

#include "base/version.h"
#include "files/checkpoint_arrays.h"
#include "nn/backend.h"

#include <string.h>

// ---- saving

void checkpoint_clear_paths(Config *config) {
    config->data.path[0] = config->train.out[0] = config->train.init[0] = config->train.init_motion[0] = 0;
}

// The caller's meta plus what every file records. A publication names the program that trained it, and no paths.
static CheckpointMeta own_meta(const CheckpointMeta *meta, bool publication) {
    CheckpointMeta out = *meta;
    out.version[0] = CHECKPOINT_VERSION_MAJOR;
    out.version[1] = CHECKPOINT_VERSION_MINOR;
    out.publication = publication;
    if (publication) checkpoint_clear_paths(&out.config);
    if (!publication || !out.commit[0]) snprintf(out.commit, sizeof out.commit, "%s", version_commit());
    return out;
}

Status checkpoint_save(const char *path, const Parameters *set, const CheckpointBlocks *blocks,
                       const CheckpointMeta *meta, Error *err) {
    CHECK(!blocks->m == !blocks->v);
    const real *sources[CHECKPOINT_GROUP_COUNT] = {set->values, blocks->m, blocks->v, blocks->ema};
    HostArrays groups[CHECKPOINT_GROUP_COUNT] = {{0}};
    CheckpointMeta own = own_meta(meta, false);
    Status status = STATUS_OK;
    for (int i = 0; status == STATUS_OK && i < CHECKPOINT_GROUP_COUNT; i++) {
        if (sources[i]) status = host_arrays_from_block(set, sources[i], path, &groups[i], err);
    }
    if (status == STATUS_OK) status = checkpoint_write_file(path, &own, groups, err);
    for (int i = 0; i < CHECKPOINT_GROUP_COUNT; i++) host_arrays_free(&groups[i]);
    return status;
}

Status checkpoint_write_publication(const char *path, HostArrays *arrays, bool half, const CheckpointMeta *meta,
                                    Error *err) {
    HostArrays groups[CHECKPOINT_GROUP_COUNT] = {{0}};
    CheckpointMeta own = own_meta(meta, true);
    Status status = half ? host_arrays_to_half(arrays, err) : STATUS_OK;
    groups[GROUP_EMA] = *arrays;
    if (status == STATUS_OK) status = checkpoint_write_file(path, &own, groups, err);
    host_arrays_free(arrays);
    return status;
}

// ---- loading

Status checkpoint_read_meta(const char *path, CheckpointMeta *meta, Error *err) {
    CheckpointFile file;
    Status status = checkpoint_file_open(path, &file, err);
    *meta = file.meta;
    checkpoint_file_close(&file);
    return status;
}

Status checkpoint_file_choose(const CheckpointFile *file, CheckpointWeights which, CheckpointGroup *group, Error *err) {
    *group = which == CHECKPOINT_EMA && file->meta.has_ema ? GROUP_EMA : GROUP_PARAMETERS;
    if (file->checksums[*group][0]) return STATUS_OK;
    return error_set(err, STATUS_BAD_INPUT,
                     "%s expected the optimiser's own weights in /parameters, found averaged ones alone "
                     "(a file for publication); start from it with train.init",
                     file->root.text);
}

// Reads a group of the file as a block of the set, in host memory.
static Status read_block(const CheckpointFile *file, CheckpointGroup group, const Parameters *set, real **block,
                         Error *err) {
    HostArrays arrays;
    Status status = checkpoint_file_read(file, group, set, &arrays, err);
    if (status == STATUS_OK) status = host_arrays_to_block(&arrays, set, block, err);
    host_arrays_free(&arrays);
    return status;
}

Status checkpoint_file_load(const CheckpointFile *file, Parameters *set, CheckpointWeights which,
                            const CheckpointBlocks *blocks, Error *err) {
    real *const wanted[CHECKPOINT_GROUP_COUNT] = {set->values, blocks ? blocks->m : NULL, blocks ? blocks->v : NULL,
                                                  blocks ? blocks->ema : NULL};
    real *host[CHECKPOINT_GROUP_COUNT] = {NULL};
    CheckpointGroup weights = GROUP_PARAMETERS;
    Status status = checkpoint_file_choose(file, which, &weights, err);
    for (int i = 0; status == STATUS_OK && i < CHECKPOINT_GROUP_COUNT; i++) {
        CheckpointGroup group = i == GROUP_PARAMETERS ? weights : (CheckpointGroup)i;
        if (wanted[i]) status = read_block(file, group, set, &host[i], err);
    }
    // The set changes only after everything was read and fits.
    for (int i = 0; status == STATUS_OK && i < CHECKPOINT_GROUP_COUNT; i++) {
        if (wanted[i]) set->device->nn->upload(set->device, wanted[i], host[i], set->size * sizeof(real));
    }
    if (status == STATUS_OK) status = device_status(set->device, err);
    for (int i = 0; i < CHECKPOINT_GROUP_COUNT; i++) free(host[i]);
    return status;
}

static Status load(const char *path, Parameters *set, CheckpointWeights which, const CheckpointBlocks *blocks,
                   CheckpointMeta *meta, Error *err) {
    CheckpointFile file;
    Status status = checkpoint_file_open(path, &file, err);
    if (status == STATUS_OK) status = checkpoint_file_load(&file, set, which, blocks, err);
    if (meta) *meta = file.meta;
    checkpoint_file_close(&file);
    return status;
}

static bool is_of_dynamics(const Parameter *item) {
    return !strncmp(item->name, "gnn.", 4) || !strncmp(item->name, "bodies.", 7);
}

// The values for a parameter; NULL: the file has none of that shape.
static const float *values_for(const HostArrays *arrays, const Parameter *item) {
    for (size_t i = 0; i < arrays->count; i++) {
        const HostArray *a = &arrays->items[i];
        if (strcmp(a->name, item->name) != 0) continue;
        bool fits = a->rank == item->rank && !memcmp(a->dims, item->dims, (size_t)a->rank * sizeof *a->dims);
        return fits ? a->values : NULL;
    }
    return NULL;
}

// Takes the dynamics from the arrays into a block of the whole set.
static Status take_dynamics(const HostArrays *arrays, const char *path, const Parameters *set, real *block,
                            Error *err) {
    for (size_t i = 0; i < set->count; i++) {
        const Parameter *item = set->items[i];
        size_t size = item->tensor.rows * item->tensor.cols;
        if (!is_of_dynamics(item) || !size) continue;
        const float *values = values_for(arrays, item);
        if (!values)
            return error_set(err, STATUS_BAD_INPUT, "%s: expected weights %s of the model's shape, found none", path,
                             item->name);
        for (size_t k = 0; k < size; k++) block[item->offset + k] = (real)values[k];
    }
    return STATUS_OK;
}

Status checkpoint_load_dynamics(const char *path, Parameters *set, Error *err) {
    CheckpointFile file;
    CheckpointGroup group = GROUP_PARAMETERS;
    HostArrays arrays = {0};
    size_t bytes = set->size * sizeof(real);
    real *block = malloc(bytes + 1);
    Status status = checkpoint_file_open(path, &file, err);
    if (status == STATUS_OK && !block) status = error_no_memory(err, "the weights");
    if (status == STATUS_OK) status = checkpoint_file_choose(&file, CHECKPOINT_EMA, &group, err);
    if (status == STATUS_OK) status = checkpoint_file_read(&file, group, NULL, &arrays, err);
    if (status == STATUS_OK) set->device->nn->download(set->device, block, set->values, bytes);
    if (status == STATUS_OK) status = take_dynamics(&arrays, path, set, block, err);
    if (status == STATUS_OK) {
        set->device->nn->upload(set->device, set->values, block, bytes);
        status = device_status(set->device, err);
    }
    free(block);
    host_arrays_free(&arrays);
    checkpoint_file_close(&file);
    return status;
}

Status checkpoint_load(const char *path, Parameters *set, CheckpointWeights which, Error *err) {
    return load(path, set, which, NULL, NULL, err);
}

Status checkpoint_resume(const char *path, Parameters *set, const CheckpointBlocks *blocks, CheckpointMeta *meta,
                         Error *err) {
    return load(path, set, CHECKPOINT_RAW, blocks, meta, err);
}

Status checkpoint_verify(const char *path, Error *err) {
    CheckpointFile file;
    Status status = checkpoint_file_open(path, &file, err);
    for (int i = 0; status == STATUS_OK && i < CHECKPOINT_GROUP_COUNT; i++) {
        HostArrays arrays = {0};
        if (file.checksums[i][0]) status = checkpoint_file_read(&file, (CheckpointGroup)i, NULL, &arrays, err);
        host_arrays_free(&arrays);
    }
    checkpoint_file_close(&file);
    return status;
}
