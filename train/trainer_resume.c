// SPDX-License-Identifier: Apache-2.0
// Resumes a run from its latest checkpoint.
#include "train/trainer_internal.h"

#include "train/schedule.h"

#include <math.h>
#include <string.h>

Status trainer_resume_config(Trainer *t, CheckpointFound *found, CheckpointMeta *meta, Error *err) {
    Status status = checkpoint_find_latest(t->folder.checkpoints, found, err);
    if (status == STATUS_OK) status = checkpoint_read_meta(found->path, meta, err);
    if (status != STATUS_OK) return status;
    t->saved = meta->step;
    if (found->note[0]) log_warning(t->options->log, "%s", found->note);
    config_take_lengths(&t->config, &meta->config);
    t->config.train.init[0] = t->config.train.init_motion[0] = 0;
    if (t->config.data.extent != meta->config.data.extent)
        return error_set(
            err, STATUS_BAD_INPUT,
            "data.extent: expected %.6g m as in %s, found %.6g m; all lengths of the model scale with it, so a "
            "run keeps it",
            meta->config.data.extent, found->path, t->config.data.extent);
    status = config_check_same_model(&meta->config, &t->config, err);
    if (status != STATUS_BAD_INPUT || !err) return status;
    Error found_out = *err;
    return error_set(err, status,
                     "%.800s; a run keeps its model, so leave these options out, or start a new run in another folder "
                     "(-o FOLDER) without --resume",
                     found_out.text);
}

bool trainer_is_complete(const Trainer *t, const CheckpointMeta *meta) {
    return meta->step >= t->config.train.steps && (meta->evaluated || !t->options->hooks.evaluate);
}

bool trainer_other_time_step(const Trainer *t, const CheckpointMeta *meta) {
    double then = meta->time_step, now = t->data.time_step;
    return then > 0 && now > 0 && fabs(now - then) > 0.01 * then;
}

Status trainer_check_data(const Trainer *t, const CheckpointMeta *meta, const char *path, Error *err) {
    char text[600];
    const char *data = t->config.data.path, *run = t->folder.path;
    if (trainer_other_time_step(t, meta))
        return error_set(
            err, STATUS_BAD_INPUT,
            "%s: the model of %s sees a frame every %.4g s, with these data and options every %.4g s; give "
            "the data it was trained on, with the same data.stride and data.time_step",
            data, path, meta->time_step, t->data.time_step);
    if (meta->data.episodes == 0) {
        log_warning(t->options->log,
                    "%s does not name its training data, because it has a format before 1.1; make sure "
                    "that %s is the same data",
                    path, data);
        return STATUS_OK;
    }
    if (data_record_differences(&meta->data, &t->record, text, sizeof text) == 0) return STATUS_OK;
    return error_set(
        err, STATUS_BAD_INPUT,
        "%s: not the data that %s was trained on: %s; give the same data to go on, or start a new run from "
        "these weights with \"vpd train --init %s -o FOLDER\"",
        data, path, text, run);
}

Status trainer_resume_weights(Trainer *t, const char *path, Error *err) {
    CheckpointMeta meta;
    CheckpointBlocks blocks = {t->optimizer.m, t->optimizer.v, t->optimizer.ema};
    Status status = checkpoint_resume(path, &t->model->parameters, &blocks, &meta, err);
    if (status != STATUS_OK) return status;
    t->step = meta.step;
    t->optimizer.step = schedule_phase_step(&t->config.train, meta.step);
    t->best = meta.best_score;
    t->seconds = meta.seconds;
    t->evaluated = meta.evaluated;
    log_note(t->options->log, "resuming from step %ld of %s", t->step, path);
    return STATUS_OK;
}
