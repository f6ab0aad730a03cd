// SPDX-License-Identifier: Apache-2.0
// Prepares a training run: memory, lengths, model, initial weights or those to resume from, optimiser, motion cache.
#include "train/trainer_internal.h"

#include "base/time_step.h"
#include "datasets/reach.h"
#include "datasets/time_unit.h"
#include "encoder/unproject.h"
#include "model/lengths.h"
#include "nn/backend.h"
#include "train/motion_episodes.h"
#include "train/schedule.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

enum { LENGTH_SAMPLES = 8, MEMORY_SAMPLES = 4 }; // episodes

// ---- memory: an estimate before anything is allocated

// Pixels with depth in the input views of one frame, which bound the number of particles.
static Status count_points(const TrainData *data, MemoryShape *shape, Error *err) {
    Frames frames[MEMORY_SAMPLES] = {{0}};
    PointCloud cloud = {0};
    UnprojectOptions options = {.crop = data->config->data.crop};
    int count = data->episode_count < MEMORY_SAMPLES ? data->episode_count : MEMORY_SAMPLES;
    Status status = train_data_samples(data, count, frames, err);
    for (int i = 0; i < count && status == STATUS_OK; i++) {
        Observation observation = frames_observation(&frames[i]);
        for (int f = 0; f < observation.F && status == STATUS_OK; f++) {
            status = unproject_frame(&observation, f, options, &cloud, err);
            shape->points = fmax(shape->points, (double)cloud.count / observation.V * shape->input_views);
        }
    }
    for (int i = 0; i < count; i++) frames_free(&frames[i]);
    point_cloud_free(&cloud);
    return status;
}

static Status shape_of(const TrainData *data, MemoryShape *shape, Error *err) {
    *shape = (MemoryShape){0};
    for (int i = 0; i < data->episode_count; i++) {
        const TrainEpisode *episode = &data->episodes[i];
        const EpisodeInfo *info = dataset_episode(data->dataset, episode->episode);
        double pixels = (double)info->H * info->W, images = (double)info->F * episode->view_count;
        if (pixels > shape->H * shape->W) shape->H = info->H, shape->W = info->W;
        shape->views = fmax(shape->views, episode->view_count);
        shape->input_views = fmax(shape->input_views, episode->input_view_count);
        shape->frames += info->F;
        shape->episodes_bytes += images * pixels * (3 + 4 + (info->has_mask ? 2 : 0));
    }
    return count_points(data, shape, err);
}

// All processes on this machine; those with a GPU have one each.
static MemoryEstimate memory_of_processes(const Trainer *t) {
    MemoryEstimate all = t->memory;
    bool shared = device_shares_host(t->device);
    double here = ranks_count_here(t->ranks);
    for (int i = 0; i < all.count; i++)
        if (shared || all.part[i].on_host) all.part[i].bytes *= here, all.part[i].least *= here;
    return all;
}

// The largest part of `count` that one of the ranks has.
static long largest_share(const Trainer *t, long count) {
    long ranks = ranks_count(t->ranks);
    return count > 0 ? (count + ranks - 1) / ranks : count;
}

Status trainer_check_memory(Trainer *t, Error *err) {
    MemoryShape shape;
    Config own = t->config; // with the batch of one rank
    own.train.batch = largest_share(t, own.train.batch);
    own.train.windows = largest_share(t, own.train.windows);
    double weights = 0;
    char text[400];
    Status status = memory_count_weights(&t->config, &weights, err);
    if (status == STATUS_OK) status = shape_of(&t->data, &shape, err);
    if (status != STATUS_OK) return status;
    memory_of_training(&own, &shape, weights, t->device->threads, &t->memory);
    MemoryEstimate all = memory_of_processes(t);
    status = memory_check(&all, t->device, "this training", t->options->log, err);
    if (status != STATUS_OK) return status;
    memory_tell(&t->memory, text, sizeof text);
    log_note(t->options->log, "memory: about %.0f MiB (%s)", memory_total(&t->memory, false) / (1 << 20), text);
    return STATUS_OK;
}

// ---- lengths, model, initial weights, optimiser

static Status warn_of_extent(const Trainer *t, Error *err) {
    char doubt[500];
    Reach reach;
    if (ranks_rank(t->ranks) > 0) return STATUS_OK;
    Status status = reach_measure(t->data.dataset, &reach, err);
    if (status == STATUS_OK && reach_doubt(&reach, t->config.data.extent, t->config.data.path, doubt, sizeof doubt))
        log_warning(t->options->log, "%s", doubt);
    return status;
}

static Status observe_data(Trainer *t, double background[3], Error *err) {
    Frames frames[LENGTH_SAMPLES] = {{0}};
    Observation observations[LENGTH_SAMPLES];
    int count = t->data.episode_count < LENGTH_SAMPLES ? t->data.episode_count : LENGTH_SAMPLES;
    Status status = train_data_samples(&t->data, count, frames, err);
    for (int i = 0; i < count && status == STATUS_OK; i++) observations[i] = frames_observation(&frames[i]);
    bool given = t->config.data.extent > 0;
    if (status == STATUS_OK) status = lengths_derive(&t->config, t->device, (size_t)count, observations, err);
    if (status == STATUS_OK && !given) status = warn_of_extent(t, err);
    for (int c = 0; c < 3; c++) background[c] = 0;
    for (int i = 0; i < count && status == STATUS_OK; i++) {
        real mean[3];
        observation_background(&observations[i], mean);
        for (int c = 0; c < 3; c++) background[c] += (double)mean[c] / count;
    }
    for (int i = 0; i < count; i++) frames_free(&frames[i]);
    return status;
}

// The weights of a checkpoint say how fast things fall in the time step that they learned.
static void warn_of_learned(const Trainer *t, const char *path, double learned, const Config *wanted) {
    double made_for = wanted->data.time_step;
    if (!(learned > 0) || time_step_same(made_for, learned)) return;
    log_warning(t->options->log,
                "%s learned with a frame every %.4g s, and data.time_step is %.4g s: what it predicts will be too fast "
                "or too slow until it has learned from these data%s",
                path, learned, made_for,
                wanted->gnn.graph == GRAPH_BODIES ? "; without data.time_step it allows for their rate" : "");
}

// Finds a checkpoint to start from. It must have the same model except for amounts. Its lengths replace those that the
// config lacks; the renderer's radius, which depends on the number of particles, only if that number is the same. If
// only the dynamics are loaded, only the options of the dynamics must match.
static Status find_init(Trainer *t, const char *text, bool dynamics_alone, CheckpointFound *found, Error *err) {
    CheckpointMeta meta;
    if (!text[0]) return STATUS_OK;
    Status status = checkpoint_find(text, found, err);
    if (status == STATUS_OK) status = checkpoint_read_meta(found->path, &meta, err);
    if (status != STATUS_OK) return status;
    Config wanted = t->config;
    if (dynamics_alone) meta.config.renderer.radius = 0; // radii belong to the other model's renderer
    config_take_lengths(&wanted, &meta.config);
    warn_of_learned(t, found->path, meta.config.data.time_step, &wanted);
    config_take_amounts(&meta.config, &wanted);
    wanted.data.slowest = fmax(meta.config.data.slowest, meta.config.data.time_step);
    if (dynamics_alone) meta.config.encoder = wanted.encoder, meta.config.renderer = wanted.renderer;
    status = config_check_same_model(&meta.config, &wanted, err);
    if (status == STATUS_OK) t->config = wanted;
    return status;
}

static void freeze(Trainer *t) {
    char list[OPTION_TEXT_SIZE], *rest = list;
    snprintf(list, sizeof list, "%s", t->config.train.freeze);
    for (char *prefix = strtok_r(rest, ", ", &rest); prefix; prefix = strtok_r(NULL, ", ", &rest))
        if (parameters_freeze(&t->model->parameters, prefix) == 0)
            log_warning(t->options->log, "train.freeze: no parameter begins with \"%s\"", prefix);
}

// Of episodes with more frames than one every data.time_step, some are left out, as in predictions.
static void choose_frames(Trainer *t) {
    int fewer = 0;
    double *slowest = &t->config.data.slowest;
    train_data_set_step(&t->data, t->config.data.time_step);
    for (int i = 0; i < t->data.episode_count; i++) {
        const TrainEpisode *episode = &t->data.episodes[i];
        *slowest = fmax(*slowest, dataset_episode(t->data.dataset, episode->episode)->time_step * episode->stride);
        fewer += episode->stride > 1;
    }
    if (fewer)
        log_note(t->options->log, "%d of %d episodes have more frames than one every %.4g s; every n-th is taken",
                 fewer, t->data.episode_count, t->config.data.time_step);
}

// Whether the model can learn from the rate of each episode.
static Status check_rates(const Trainer *t, Error *err) {
    for (int i = 0; i < t->data.episode_count && vpd_has_dynamics(t->model); i++) {
        const TrainEpisode *episode = &t->data.episodes[i];
        const EpisodeInfo *info = dataset_episode(t->data.dataset, episode->episode);
        double step = info->time_step * episode->stride;
        if (vpd_moves_at(t->model, step)) continue;
        Status status = time_unit_check(info, err);
        if (status != STATUS_OK) return status;
        return error_set(err, STATUS_BAD_INPUT,
                         "%s:/episodes/%s/time: expected %.6g s between the frames that the model sees%s, found %.6g "
                         "s; set data.time_step, or resample",
                         info->file, info->name, t->config.data.time_step,
                         vpd_has_bodies(t->model) ? ", or a fourth to four times that" : "", step);
    }
    return STATUS_OK;
}

Status trainer_build(Trainer *t, Error *err) {
    const TrainConfig *train = &t->config.train;
    double background[3];
    CheckpointFound init = {{0}, {0}}, motion = {{0}, {0}};
    if (!t->options->resume) t->config.data.slowest = 0;
    Status status = find_init(t, train->init, false, &init, err);
    if (status == STATUS_OK) status = find_init(t, train->init_motion, true, &motion, err);
    if (status == STATUS_OK && t->config.data.time_step == 0) {
        t->config.data.time_step = t->data.time_step;
        config_set_origin(&t->config, &t->config.data.time_step, ORIGIN_DATA);
    }
    if (status == STATUS_OK) choose_frames(t);
    if (status == STATUS_OK) status = observe_data(t, background, err);
    if (status == STATUS_OK) status = vpd_create(&t->config, t->device, &t->model, err);
    if (status == STATUS_OK) status = check_rates(t, err);
    if (status != STATUS_OK) return status;
    renderer_set_background(&t->model->renderer, t->device, background);
    if (init.path[0]) status = checkpoint_load(init.path, &t->model->parameters, CHECKPOINT_EMA, err);
    if (status == STATUS_OK && motion.path[0])
        status = checkpoint_load_dynamics(motion.path, &t->model->parameters, err);
    freeze(t);
    if (status != STATUS_OK) return status;
    return optimizer_create(&t->optimizer, &t->model->parameters, schedule_optimizer(train), err);
}

// ---- resuming from the latest checkpoint

Status trainer_resume_config(Trainer *t, CheckpointFound *found, CheckpointMeta *meta, Error *err) {
    Status status = checkpoint_find_latest(t->folder.checkpoints, found, err);
    if (status == STATUS_OK) status = checkpoint_read_meta(found->path, meta, err);
    if (status != STATUS_OK) return status;
    t->saved = meta->step;
    if (found->note[0]) log_warning(t->options->log, "%s", found->note);
    config_take_lengths(&t->config, &meta->config);
    t->config.data.slowest = meta->config.data.slowest;
    t->config.train.init[0] = t->config.train.init_motion[0] = 0;
    if (t->config.data.time_step != meta->config.data.time_step)
        return error_set(err, STATUS_BAD_INPUT,
                         "data.time_step: expected %.6g s as in %s, found %.6g s; a run keeps it",
                         meta->config.data.time_step, found->path, t->config.data.time_step);
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

Status trainer_check_data(const Trainer *t, const CheckpointMeta *meta, const char *path, Error *err) {
    char text[600];
    const char *data = t->config.data.path, *run = t->folder.path;
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
    Status status = checkpoint_read_meta(path, &meta, err);
    CheckpointBlocks blocks = {t->optimizer.m, t->optimizer.v, meta.has_ema ? t->optimizer.ema : NULL};
    if (status == STATUS_OK) status = checkpoint_resume(path, &t->model->parameters, &blocks, &meta, err);
    if (status != STATUS_OK) return status;
    if (!meta.has_ema) optimizer_restart_ema(&t->optimizer); // the run had no average so far
    t->step = meta.step;
    t->optimizer.step = schedule_phase_step(&t->config.train, meta.step);
    t->best = meta.best_score;
    t->seconds = meta.seconds;
    t->evaluated = meta.evaluated;
    log_note(t->options->log, "resuming from step %ld of %s", t->step, path);
    return STATUS_OK;
}

// ---- the motion in the data

Status trainer_open_motion(Trainer *t, Error *err) {
    MotionEpisode *episodes = NULL;
    char path[FILE_PATH_SIZE];
    bool kept = !t->options->dry_run;
    int count = dataset_episode_count(t->data.dataset);
    Status status = kept ? file_join(path, sizeof path, t->folder.path, "motion.bin", err) : STATUS_OK;
    if (status == STATUS_OK) status = motion_episodes(&t->data, &episodes, err);
    // Rank 0 makes the file, or gives new episodes their places in it, before the others open it.
    if (status == STATUS_OK) status = ranks_first_begin(t->ranks, err);
    if (status == STATUS_OK)
        status = motion_cache_open(&t->workspace.motion, kept ? path : NULL, t->model, count, episodes, t->options->log,
                                   err);
    if (status == STATUS_OK) status = ranks_first_end(t->ranks, err);
    free(episodes);
    return status;
}

// ---- windows

// A new run of which no step learns motion, or none learns pictures, and whose weights know nothing of it.
static void warn_of_untrained(const Trainer *t) {
    const TrainConfig *train = &t->config.train;
    if (!vpd_has_bodies(t->model) || t->options->resume || train->init[0]) return;
    if (train->motion_steps == 0 && !train->init_motion[0])
        log_warning(t->options->log,
                    "the motion of bodies is not trained: leave train.motion_steps out, or set train.init_motion to a "
                    "checkpoint whose motion was");
    if (train->motion_steps >= train->steps && train->steps > 0)
        log_warning(t->options->log,
                    "pictures are not trained, because train.motion_steps (%ld) leaves no step of train.steps (%ld): "
                    "make it less, or set train.init to a checkpoint whose pictures were",
                    train->motion_steps, train->steps);
}

// A batch of windows has as many bodies as the data show, which the first estimate could only guess.
static Status check_windows(Trainer *t, Error *err) {
    const BodySet *set = &t->windows.tracks.set;
    memory_know_windows((double)set->nodes / (double)set->windows, &t->memory);
    MemoryEstimate all = memory_of_processes(t);
    return memory_check(&all, t->device, "this training", NULL, err);
}

Status trainer_open_windows(Trainer *t, Error *err) {
    const TrainConfig *train = &t->config.train;
    warn_of_untrained(t);
    if (schedule_has_images(train, t->step) || t->step >= train->steps) return STATUS_OK;
    // A dry run needs no more than a batch.
    size_t enough = t->options->dry_run ? (size_t)train->windows : SIZE_MAX;
    WindowSource source = {&t->data, t->device->threads, t->model, &t->workspace.motion, t->options->log, enough};
    if (t->ranks && !t->options->dry_run) {
        Status status = windows_measure(&source, err);
        if (status != STATUS_OK) return status;
    }
    Status status = windows_make(&t->windows, &source, err);
    return status == STATUS_OK ? check_windows(t, err) : status;
}
