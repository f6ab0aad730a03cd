// SPDX-License-Identifier: Apache-2.0
#include "infer/session.h"

#include "model/memory.h"

#include <stdlib.h>
#include <string.h>

void session_close(Session *session) {
    vpd_free(session->model);
    device_close(session->device);
    *session = (Session){0};
}

// Finds the checkpoint file for the user's path.
static Status find_checkpoint(Session *session, const SessionOptions *options, Error *err) {
    CheckpointFound found;
    *session = (Session){.raw = options->raw};
    Status status = checkpoint_find(options->checkpoint, &found, err);
    if (status != STATUS_OK) return status;
    char *absolute = realpath(found.path, NULL);
    snprintf(session->path, sizeof session->path, "%s", absolute ? absolute : found.path);
    snprintf(session->note, sizeof session->note, "%s", found.note);
    free(absolute);
    return checkpoint_read_meta(session->path, &session->meta, err);
}

// A checkpoint written by other programs may have lengths of 0, meaning "from the data"; there are no data here.
static Status check_lengths(const Session *session, Error *err) {
    for (int i = 0; i < CONFIG_LENGTHS; i++)
        if (!(config_length_of(&session->meta.config, i) > 0))
            return error_set(err, STATUS_BAD_INPUT,
                             "%s: %s: expected a length above 0 m, found 0; use a checkpoint that \"vpd train\" wrote",
                             session->path, config_lengths[i].key);
    return STATUS_OK;
}

static Status check_memory(const Session *session, Error *err) {
    double weights = 0;
    MemoryEstimate estimate;
    Status status = memory_count_weights(&session->meta.config, &weights, err);
    if (status != STATUS_OK) return status;
    memory_of_weights(weights, &estimate);
    return memory_check(&estimate, session->device, session->path, NULL, err);
}

static Status load_model(Session *session, const SessionOptions *options, Error *err) {
    CheckpointWeights which = options->raw ? CHECKPOINT_RAW : CHECKPOINT_EMA;
    Status status = check_lengths(session, err);
    if (status == STATUS_OK)
        status = device_choose(options->device, options->threads, &session->device, session->device_why, err);
    if (status == STATUS_OK) status = check_memory(session, err);
    if (status == STATUS_OK) status = vpd_create(&session->meta.config, session->device, &session->model, err);
    if (status == STATUS_OK) status = checkpoint_load(session->path, &session->model->parameters, which, err);
    if (status != STATUS_OK) session_close(session);
    return status;
}

Status session_open(Session *session, const SessionOptions *options, Error *err) {
    Status status = find_checkpoint(session, options, err);
    return status == STATUS_OK ? load_model(session, options, err) : status;
}

static const char raw_mark[] = " raw";

void session_sign(const Session *session, RolloutFile *rollout) {
    snprintf(rollout->checkpoint, sizeof rollout->checkpoint, "%.*s", ROLLOUT_TEXT_SIZE - 1, session->path);
    snprintf(rollout->checkpoint_hash, sizeof rollout->checkpoint_hash, "%s%s", session->meta.hash,
             session->raw ? raw_mark : "");
}

bool session_is_raw(const RolloutFile *rollout) {
    const char *hash = rollout->checkpoint_hash;
    return strcmp(hash + strcspn(hash, " "), raw_mark) == 0;
}

// Particles of the simulator have none.
static Status check_features(const RolloutFile *rollout, const char *name, Error *err) {
    if (rollout->sets[0].D > 0) return STATUS_OK;
    return error_set(err, STATUS_BAD_INPUT,
                     "%s: its particles have no features, as those of \"vpd sim run\", so no model can draw or move "
                     "them; \"vpd view\" shows them, and \"vpd sim render SCENE.yaml\" draws their scene",
                     name);
}

Status session_check(const Session *session, const RolloutFile *rollout, const char *name, Error *err) {
    const char *wanted = rollout->checkpoint_hash, *found = session->meta.hash;
    int length = (int)strcspn(wanted, " ");
    if (length == 0 || ((int)strlen(found) == length && !strncmp(found, wanted, (size_t)length))) return STATUS_OK;
    return error_set(err, STATUS_BAD_INPUT,
                     "%s: expected the checkpoint %.*s that made it (then at %s), found %s in %s; only those weights "
                     "can use its features. Give that checkpoint, or make the rollout again",
                     name, length, wanted, rollout->checkpoint, found, session->path);
}

Status session_open_for(Session *session, const SessionOptions *options, const RolloutFile *rollout, const char *name,
                        Error *err) {
    SessionOptions wanted = *options;
    *session = (Session){0};
    Status status = check_features(rollout, name, err);
    if (status != STATUS_OK) return status;
    wanted.raw = session_is_raw(rollout);
    if (!wanted.checkpoint) wanted.checkpoint = rollout->checkpoint;
    if (!wanted.checkpoint[0])
        return error_set(err, STATUS_BAD_INPUT, "%s: the file names no checkpoint; give one with --checkpoint", name);
    if (!options->checkpoint && !file_exists(rollout->checkpoint))
        return error_set(err, STATUS_BAD_INPUT,
                         "%s: its checkpoint %s does not exist; give the checkpoint with --checkpoint", name,
                         rollout->checkpoint);
    status = find_checkpoint(session, &wanted, err);
    if (status == STATUS_OK) status = session_check(session, rollout, name, err);
    return status == STATUS_OK ? load_model(session, &wanted, err) : status;
}
