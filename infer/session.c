// SPDX-License-Identifier: Apache-2.0
#include "infer/session.h"

#include <stdlib.h>
#include <string.h>

void session_close(Session *session) {
    vpd_free(session->model);
    device_close(session->device);
    *session = (Session){0};
}

static Status open_found(Session *session, const SessionOptions *options, Error *err) {
    const char *device = options->device ? options->device : "auto";
    Status status = checkpoint_read_meta(session->path, &session->meta, err);
    if (status == STATUS_OK) status = device_open(device, options->threads, &session->device, err);
    if (status == STATUS_OK) status = vpd_create(&session->meta.config, session->device, &session->model, err);
    if (status != STATUS_OK) return status;
    CheckpointWeights which = options->raw ? CHECKPOINT_RAW : CHECKPOINT_EMA;
    return checkpoint_load(session->path, &session->model->parameters, which, NULL, err);
}

Status session_open(Session *session, const SessionOptions *options, Error *err) {
    CheckpointFound found;
    *session = (Session){.raw = options->raw};
    Status status = checkpoint_find(options->checkpoint, &found, err);
    if (status != STATUS_OK) return status;
    char *absolute = realpath(found.path, NULL);
    snprintf(session->path, sizeof session->path, "%s", absolute ? absolute : found.path);
    snprintf(session->note, sizeof session->note, "%s", found.note);
    free(absolute);
    status = open_found(session, options, err);
    if (status != STATUS_OK) session_close(session);
    return status;
}

static const char raw_mark[] = " raw";

void session_sign(const Session *session, RolloutFile *rollout) {
    snprintf(rollout->checkpoint, sizeof rollout->checkpoint, "%.*s", ROLLOUT_TEXT_SIZE - 1, session->path);
    snprintf(rollout->checkpoint_hash, sizeof rollout->checkpoint_hash, "%s%s", session->meta.hash,
             session->raw ? raw_mark : "");
}

Status session_open_for(Session *session, const SessionOptions *options, const RolloutFile *rollout, const char *name,
                        Error *err) {
    SessionOptions wanted = *options;
    size_t length = strcspn(rollout->checkpoint_hash, " ");
    *session = (Session){0};
    wanted.raw = strcmp(rollout->checkpoint_hash + length, raw_mark) == 0;
    if (!wanted.checkpoint) {
        wanted.checkpoint = rollout->checkpoint;
        if (!rollout->checkpoint[0])
            return error_set(err, STATUS_BAD_INPUT, "%s: names no checkpoint; give one with --checkpoint", name);
        if (!file_exists(rollout->checkpoint))
            return error_set(err, STATUS_BAD_INPUT, "%s: its checkpoint %s is not there; give it with --checkpoint",
                             name, rollout->checkpoint);
    }
    Status status = session_open(session, &wanted, err);
    if (status != STATUS_OK || length == 0) return status;
    if (strlen(session->meta.hash) == length && !strncmp(session->meta.hash, rollout->checkpoint_hash, length))
        return STATUS_OK;
    status = error_set(err, STATUS_BAD_INPUT,
                       "%s: expected the checkpoint %.*s that made it, found %s in %s; other weights read its features "
                       "otherwise",
                       name, (int)length, rollout->checkpoint_hash, session->meta.hash, session->path);
    session_close(session);
    return status;
}
