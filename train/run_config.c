// SPDX-License-Identifier: Apache-2.0
// Builds the config of a run, new or resumed, from all its sources.
#include "files/checkpoint.h"
#include "train/trainer.h"

static Status set_key(Config *config, const char *key, const char *value, Error *err) {
    char pair[OPTION_TEXT_SIZE + 64];
    const char *const pairs[] = {pair};
    if (!value) return STATUS_OK;
    if (snprintf(pair, sizeof pair, "%s=%s", key, value) >= (int)sizeof pair)
        return error_set(err, STATUS_BAD_INPUT, "%s: expected a text shorter than %d characters", key,
                         OPTION_TEXT_SIZE);
    return config_set(config, 1, pairs, err);
}

// Applies the request's own settings.
static Status apply(const RunConfigRequest *request, Config *config, Error *err) {
    Status status = config_load(config, request->file, ORIGIN_FILE, err);
    if (status == STATUS_OK) status = config_set(config, request->pair_count, request->pairs, err);
    if (status == STATUS_OK) status = set_key(config, "train.out", request->out, err);
    if (status == STATUS_OK) status = set_key(config, "data.path", request->data, err);
    if (status == STATUS_OK) status = set_key(config, "train.init", request->init, err);
    return status;
}

// The config of the run in `folder`: its config.yaml, or else that of its latest checkpoint.
static Status read_own(const char *folder, Config *config, Error *err) {
    char path[FILE_PATH_SIZE];
    CheckpointFound found;
    CheckpointMeta meta;
    if (!folder[0])
        return error_set(err, STATUS_BAD_INPUT,
                         "--resume: expected the folder of the run, found nothing; name it with -o FOLDER");
    if (!file_is_folder(folder))
        return error_set(err, STATUS_BAD_INPUT, "%s: expected the folder of a run to resume, found none", folder);
    Status status = file_join(path, sizeof path, folder, "config.yaml", err);
    if (status == STATUS_OK && file_exists(path)) return config_load(config, path, ORIGIN_RUN, err);
    if (status == STATUS_OK) status = file_join(path, sizeof path, folder, "checkpoints", err);
    if (status == STATUS_OK && !file_is_folder(path))
        return error_set(err, STATUS_BAD_INPUT,
                         "%s: expected a run to resume (config.yaml and checkpoints/), found neither", folder);
    if (status == STATUS_OK) status = checkpoint_find_latest(path, &found, err);
    if (status == STATUS_OK) status = checkpoint_read_meta(found.path, &meta, err);
    if (status != STATUS_OK) return status;
    *config = meta.config;
    for (size_t i = 0; i < CONFIG_OPTIONS_MAX; i++)
        if (config->origin[i] == ORIGIN_CHECKPOINT) config->origin[i] = ORIGIN_RUN;
    return STATUS_OK;
}

Status run_config_read(const RunConfigRequest *request, Config *out, Error *err) {
    config_defaults(out);
    Status status = apply(request, out, err);
    if (status == STATUS_OK && request->resume) {
        char folder[OPTION_TEXT_SIZE];
        snprintf(folder, sizeof folder, "%s", out->train.out);
        config_defaults_of_checkpoint(out); // options that are newer than the run are off
        status = read_own(folder, out, err);
        if (status == STATUS_OK) status = apply(request, out, err);
    }
    return status == STATUS_OK ? config_resolve(out, err) : status;
}
