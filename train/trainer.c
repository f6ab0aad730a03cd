// SPDX-License-Identifier: Apache-2.0
#include "train/trainer.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/progress.h"
#include "base/random.h"
#include "base/stop.h"
#include "model/lengths.h"
#include "nn/backend.h"
#include "nn/optimizer.h"
#include "train/checkpoint.h"
#include "train/contacts.h"
#include "train/loss.h"
#include "train/schedule.h"

#include <stdlib.h>
#include <string.h>

enum { LENGTH_SAMPLES = 8, DRY_STEPS = 3 };
static const double ADAM_EPSILON = 1e-8;

typedef struct Trainer {
    Config config;
    const TrainOptions *options;
    Device *device;
    TrainData data;
    Vpd *model;
    Optimizer optimizer;
    Tape tape;
    LossWorkspace workspace;
    RunLog run_log;
    char folder[FILE_PATH_SIZE], checkpoints[FILE_PATH_SIZE], pictures[FILE_PATH_SIZE];
    long step;            // optimiser steps done
    double best, seconds; // best score so far; time spent before this session
    double started;
    double logged, waited; // clock_now() and data.waited at the last line of the log
    LossParts parts;       // of the last step
    double fast_step;      // seconds of a dry run's fastest
} Trainer;

// ---- one step

// A turn about the axis train.turn by any angle, mirrored in every second case: physics under gravity stays the same.
static void random_turn(const Trainer *t, int episode, long in_batch, double turn[9]) {
    Random4 random =
        random4((RandomKey){(uint32_t)t->config.train.seed, RANDOM_TURN, (uint32_t)t->step, (uint32_t)episode},
                (uint64_t)in_batch);
    double angle = 6.283185307179586 * (double)random_to_unit(random.v[0]), sign = random.v[1] & 1 ? -1 : 1;
    int axis = t->config.train.turn - 1, a = (axis + 1) % 3, b = (axis + 2) % 3;
    memset(turn, 0, 9 * sizeof *turn);
    turn[4 * axis] = 1;
    turn[3 * a + a] = cos(angle), turn[3 * a + b] = -sign * sin(angle);
    turn[3 * b + a] = sin(angle), turn[3 * b + b] = sign * cos(angle);
}

// Gradients of the next episode, which is number b of the batch.
static Status learn_episode(Trainer *t, long b, LossValues *values, Error *err) {
    const TrainConfig *train = &t->config.train;
    const Frames *frames;
    const TrainEpisode *episode;
    Status status = train_data_next(&t->data, &frames, &episode, err);
    if (status != STATUS_OK) return status;
    Observation observation = observation_of(t->data.dataset, frames);
    double turn[9];
    if (train->turn) {
        random_turn(t, frames->episode, b, turn);
        observation.turn = turn;
    }
    LossInput input = {
        .frames = &observation,
        .first = {frames->episode, frames->first, frames->stride},
        .input_views = episode->input_views,
        .input_view_count = episode->input_view_count,
        .motion_only = !schedule_has_images(train, t->step),
        .rollout = frames->F - (int)t->config.model.T,
        .key = {(uint32_t)train->seed, (uint32_t)t->step, (uint32_t)(frames->episode * train->batch + b)},
        .scale = 1.0 / (double)train->batch};
    return loss_backward(&t->tape, t->model, &t->workspace, &input, values, err);
}

// Waits for the device.
static Status add_loss(Trainer *t, const LossValues *values, LossParts *sum, Error *err) {
    LossParts one;
    Status status = loss_read(&t->tape, values, &one, err);
    if (status != STATUS_OK) return status;
    loss_parts_add(sum, &one, 1.0 / (double)t->config.train.batch);
    const char *broken = loss_parts_not_finite(sum);
    if (!broken) return STATUS_OK;
    return error_set(err, STATUS_FAILED,
                     "step %ld: the %s loss is not finite; try a lower train.rate or train.clip, and check the data "
                     "with \"vpd data check\"",
                     t->step, broken);
}

// Encode, step, render, loss and backward for each episode of the batch; then one update. The host waits for the device
// where the loss is read alone.
static Status one_step(Trainer *t, LossParts *parts, double *norm, Error *err) {
    const TrainConfig *train = &t->config.train;
    memset(parts, 0, sizeof *parts);
    if (t->step > 0 && t->step == train->motion_steps) { // images join: on with the averaged weights
        optimizer_swap_ema(&t->optimizer);
        optimizer_restart(&t->optimizer);
    }
    parameters_zero_grad(&t->model->parameters);
    LossValues values;
    Status status = STATUS_OK;
    for (long b = 0; b < train->batch; b++) {
        if (b > 0) status = add_loss(t, &values, parts, err);
        if (status == STATUS_OK) status = learn_episode(t, b, &values, err);
        if (status != STATUS_OK) return status;
    }
    optimizer_start(&t->optimizer, schedule_rate(train, t->step));
    status = add_loss(t, &values, parts, err);
    if (status != STATUS_OK) return status;
    status = optimizer_finish(&t->optimizer, norm, err);
    if (status != STATUS_OK) return error_prefix(err, "step %ld", t->step);
    t->step++;
    return STATUS_OK;
}

static Status train_step(Trainer *t, LossParts *parts, double *norm, Error *err) {
    device_step_begin(t->device);
    Status status = one_step(t, parts, norm, err);
    device_step_end(t->device);
    return status;
}

// ---- what a run leaves behind

static double spent(const Trainer *t) { return t->seconds + clock_now() - t->started; }

// Share of the time since the last line of the log that steps waited for data.
static double waiting(Trainer *t) {
    double now = clock_now(), share = (t->data.waited - t->waited) / (now - t->logged);
    t->logged = now, t->waited = t->data.waited;
    return share;
}

static Status write_log(Trainer *t, const LossParts *parts, double norm, double rate, Error *err) {
    RunLog *log = &t->run_log;
    run_log_begin(log, "train", t->step);
    run_log_number(log, "loss", parts->total);
    if (schedule_has_images(&t->config.train, t->step - 1)) {
        run_log_number(log, "pixels", parts->pixels);
        run_log_number(log, "psnr_step0", -10 * log10(parts->step0));
        run_log_number(log, "psnr_last", -10 * log10(parts->last));
    }
    run_log_number(log, "displacement", parts->displacement);
    run_log_number(log, "nearest", parts->nearest);
    run_log_number(log, "flow", parts->flow);
    run_log_number(log, "depth", parts->depth);
    run_log_number(log, "ssim", parts->ssim);
    run_log_number(log, "rate", schedule_rate(&t->config.train, t->step - 1));
    run_log_integer(log, "rollout", schedule_rollout(&t->config.train, t->step - 1));
    run_log_number(log, "gradient_norm", norm);
    run_log_number(log, "node_spread", parts->spread);
    run_log_number(log, "motion", parts->motion);
    run_log_integer(log, "particles", (long long)parts->particles);
    run_log_number(log, "steps_per_second", rate);
    run_log_number(log, "seconds", spent(t));
    run_log_number(log, "waiting", waiting(t));
    run_log_number(log, "tape_mib", (double)tape_peak_bytes(&t->tape) / (1 << 20));
    return run_log_end(log, err);
}

static Status save(Trainer *t, bool is_best, Error *err) {
    CheckpointBlocks blocks = {t->optimizer.m, t->optimizer.v, t->optimizer.ema};
    CheckpointMeta meta = {.config = t->config,
                           .step = t->step,
                           .best_score = t->best,
                           .time_step = t->data.time_step,
                           .seconds = spent(t)};
    return checkpoint_save_in(t->checkpoints, &t->model->parameters, &blocks, &meta, is_best, t->config.train.keep,
                              err);
}

// Validation and pictures with the averaged weights.
static Status evaluate(Trainer *t, bool *is_best, Error *err) {
    const TrainHooks *hooks = &t->options->hooks;
    double score = NAN;
    if (!hooks->evaluate) return STATUS_OK;
    optimizer_swap_ema(&t->optimizer);
    Status status = hooks->evaluate(hooks->owner, t->model, &t->data, t->step, &t->run_log, &score, err);
    optimizer_swap_ema(&t->optimizer);
    *is_best = schedule_has_images(&t->config.train, t->step - 1) && isfinite(score) && !(score >= t->best);
    if (*is_best) t->best = score;
    return status;
}

static Status draw(Trainer *t, Error *err) {
    const TrainHooks *hooks = &t->options->hooks;
    if (!hooks->draw || !schedule_has_images(&t->config.train, t->step - 1)) return STATUS_OK;
    optimizer_swap_ema(&t->optimizer);
    Status status = hooks->draw(hooks->owner, t->model, &t->data, t->step, t->pictures, &t->run_log, err);
    optimizer_swap_ema(&t->optimizer);
    return status;
}

static bool due(long every, long step) { return every > 0 && step % every == 0; }

static Status leave_behind(Trainer *t, const LossParts *parts, double norm, double rate, Error *err) {
    const TrainConfig *train = &t->config.train;
    bool last = t->step == train->steps, is_best = false;
    Status status = STATUS_OK;
    if (due(train->log_every, t->step) || last) status = write_log(t, parts, norm, rate, err);
    if (status == STATUS_OK && (due(train->eval_every, t->step) || last)) status = evaluate(t, &is_best, err);
    if (status == STATUS_OK && (due(train->picture_every, t->step) || (last && train->picture_every > 0)))
        status = draw(t, err);
    if (status == STATUS_OK && (due(train->checkpoint_every, t->step) || last || is_best))
        status = save(t, is_best, err);
    return status;
}

// Nodes that all say the same move floor and objects together: the rate was too high.
static void warn_of_collapse(const Trainer *t, const LossParts *parts) {
    if (due(t->config.train.log_every * 10, t->step) && parts->spread > 0 && parts->spread < 0.05)
        log_warning(t->options->log, "step %ld: the abstract nodes have become alike (spread %.3f); lower train.rate",
                    t->step, parts->spread);
}

static Status loop(Trainer *t, Error *err) {
    Progress progress;
    progress_start(&progress, t->options->log, "train", "steps", (size_t)t->step, (size_t)t->config.train.steps);
    Status status = train_data_start(&t->data, (uint64_t)t->step * (uint64_t)t->config.train.batch, err);
    t->logged = clock_now(), t->waited = t->data.waited;
    while (status == STATUS_OK && t->step < t->config.train.steps) {
        double norm = 0, before = clock_now();
        char detail[96];
        status = train_step(t, &t->parts, &norm, err);
        if (status != STATUS_OK) break;
        snprintf(detail, sizeof detail, "loss %.5f", t->parts.total);
        progress_update(&progress, (size_t)t->step, detail);
        warn_of_collapse(t, &t->parts);
        status = leave_behind(t, &t->parts, norm, 1 / (clock_now() - before), err);
        // A validation that a signal cut short is left unfinished; the step itself is whole.
        if ((status == STATUS_OK || status == STATUS_INTERRUPTED) && stop_requested()) {
            status = save(t, false, err);
            if (status == STATUS_OK) status = stop_error(err);
        }
    }
    progress_end(&progress, NULL);
    if (t->device->note[0]) log_note(t->options->log, "%s", t->device->note);
    return status;
}

// ---- beginning a run

static Status observe_data(Trainer *t, double background[3], Error *err) {
    Frames frames[LENGTH_SAMPLES] = {{0}};
    Observation observations[LENGTH_SAMPLES];
    int count = t->data.episode_count < LENGTH_SAMPLES ? t->data.episode_count : LENGTH_SAMPLES;
    Status status = train_data_samples(&t->data, count, frames, err);
    for (int i = 0; i < count && status == STATUS_OK; i++)
        observations[i] = observation_of(t->data.dataset, &frames[i]);
    if (status == STATUS_OK) status = lengths_derive(&t->config, t->device, (size_t)count, observations, err);
    for (int c = 0; c < 3; c++) background[c] = 0;
    for (int i = 0; i < count && status == STATUS_OK; i++) {
        real mean[3];
        observation_background(&observations[i], mean);
        for (int c = 0; c < 3; c++) background[c] += (double)mean[c] / count;
    }
    for (int i = 0; i < count; i++) frames_free(&frames[i]);
    return status;
}

// Finds a checkpoint to start from: it must be the same model but for amounts; its lengths are taken over where there
// are none yet. Of one that gives dynamics alone only what is theirs must fit.
static Status find_init(Trainer *t, const char *text, bool dynamics_alone, CheckpointFound *found, Error *err) {
    CheckpointMeta meta;
    if (!text[0]) return STATUS_OK;
    Status status = checkpoint_find(text, found, err);
    if (status == STATUS_OK) status = checkpoint_read_meta(found->path, &meta, err);
    if (status != STATUS_OK) return status;
    Config wanted = t->config;
    config_take_lengths(&wanted, &meta.config);
    config_take_amounts(&meta.config, &wanted);
    if (dynamics_alone) meta.config.encoder = wanted.encoder, meta.config.renderer = wanted.renderer;
    status = config_check_same_model(&meta.config, &wanted, err);
    if (status == STATUS_OK) t->config = wanted;
    return status;
}

// The dynamics of another checkpoint; all other weights stay.
static Status load_motion(Trainer *t, const char *path, Error *err) {
    Parameters *set = &t->model->parameters;
    real *kept = malloc(set->size * sizeof *kept + 1);
    if (!kept) return error_set(err, STATUS_FAILED, "out of memory for the weights");
    t->device->nn->download(t->device, kept, set->values, set->size * sizeof *kept);
    Status status = checkpoint_load(path, set, CHECKPOINT_EMA, NULL, err);
    for (size_t i = 0; i < set->count && status == STATUS_OK; i++) {
        const Parameter *item = set->items[i];
        size_t bytes = item->tensor.rows * item->tensor.cols * sizeof *kept;
        if (strncmp(item->name, "gnn.", 4))
            t->device->nn->upload(t->device, item->tensor.value, kept + item->offset, bytes);
    }
    free(kept);
    return status;
}

static void freeze(Trainer *t) {
    char list[OPTION_TEXT_SIZE], *rest = list;
    snprintf(list, sizeof list, "%s", t->config.train.freeze);
    for (char *prefix = strtok_r(rest, ", ", &rest); prefix; prefix = strtok_r(NULL, ", ", &rest))
        if (parameters_freeze(&t->model->parameters, prefix) == 0)
            log_warning(t->options->log, "train.freeze: no parameter begins with \"%s\"", prefix);
}

static Status build_model(Trainer *t, Error *err) {
    const TrainConfig *train = &t->config.train;
    double background[3];
    CheckpointFound init = {{0}, {0}}, motion = {{0}, {0}};
    Status status = find_init(t, train->init, false, &init, err);
    if (status == STATUS_OK) status = find_init(t, train->init_motion, true, &motion, err);
    if (status == STATUS_OK) status = observe_data(t, background, err);
    if (status == STATUS_OK) status = vpd_create(&t->config, t->device, &t->model, err);
    if (status != STATUS_OK) return status;
    renderer_set_background(&t->model->renderer, t->device, background);
    if (init.path[0]) status = checkpoint_load(init.path, &t->model->parameters, CHECKPOINT_EMA, NULL, err);
    if (status == STATUS_OK && motion.path[0]) status = load_motion(t, motion.path, err);
    freeze(t);
    OptimizerConfig optimizer = {train->beta1,        train->beta2, ADAM_EPSILON,
                                 train->weight_decay, train->clip,  train->ema};
    return status == STATUS_OK ? optimizer_create(&t->optimizer, &t->model->parameters, optimizer, err) : status;
}

// Config and lengths of the checkpoint; the data and how long to train may be new.
static Status resume_config(Trainer *t, CheckpointFound *found, Error *err) {
    CheckpointMeta meta;
    Status status = checkpoint_find_latest(t->checkpoints, found, err);
    if (status == STATUS_OK) status = checkpoint_read_meta(found->path, &meta, err);
    if (status != STATUS_OK) return status;
    if (found->note[0]) log_warning(t->options->log, "%s", found->note);
    config_take_lengths(&t->config, &meta.config);
    t->config.train.init[0] = t->config.train.init_motion[0] = 0;
    return config_check_same_model(&meta.config, &t->config, err);
}

static Status resume_weights(Trainer *t, const CheckpointFound *found, Error *err) {
    CheckpointMeta meta;
    CheckpointBlocks blocks = {t->optimizer.m, t->optimizer.v, t->optimizer.ema};
    Status status = checkpoint_resume(found->path, &t->model->parameters, &blocks, &meta, err);
    if (status != STATUS_OK) return status;
    t->step = meta.step;
    t->optimizer.step = schedule_phase_step(&t->config.train, meta.step);
    t->best = meta.best_score;
    t->seconds = meta.seconds;
    log_note(t->options->log, "going on from step %ld of %s", t->step, found->path);
    return STATUS_OK;
}

static Status write_config(const Trainer *t, Error *err) {
    char path[FILE_PATH_SIZE];
    Status status = file_join(path, sizeof path, t->folder, "config.yaml", err);
    char *text = status == STATUS_OK ? options_to_yaml(config_options, &t->config, true) : NULL;
    if (status == STATUS_OK && !text) status = error_set(err, STATUS_FAILED, "out of memory for the config");
    if (status == STATUS_OK) status = file_write_bytes(path, text, strlen(text), err);
    free(text);
    return status;
}

static Status make_folders(Trainer *t, Error *err) {
    if (!t->config.train.out[0])
        return error_set(
            err, STATUS_BAD_INPUT,
            "train.out: expected a folder for the run, found nothing; set it in the config or with -o FOLDER");
    snprintf(t->folder, sizeof t->folder, "%s", t->config.train.out);
    Status status = file_join(t->checkpoints, sizeof t->checkpoints, t->folder, "checkpoints", err);
    if (status == STATUS_OK) status = file_join(t->pictures, sizeof t->pictures, t->folder, "pictures", err);
    if (status == STATUS_OK) status = file_make_folders(t->folder, err);
    return status;
}

static void print_model(const Trainer *t) {
    const Log *log = t->options->log;
    log_note(log, "%zu weights on %s; %d training episodes", parameters_element_count(&t->model->parameters),
             t->device->name, t->data.episode_count);
    if (log && !log->quiet) lengths_print(&t->config, log->out);
}

// ---- a run

static Status run(Trainer *t, Error *err) {
    CheckpointFound found = {{0}, {0}};
    Status status = make_folders(t, err);
    if (status == STATUS_OK && t->options->resume) status = resume_config(t, &found, err);
    if (status == STATUS_OK) status = train_data_open(&t->config, t->options->log, &t->data, err);
    if (status == STATUS_OK) status = build_model(t, err);
    if (status == STATUS_OK) status = train_data_count_changes(&t->data, err);
    if (status == STATUS_OK)
        status = contacts_measure(&t->data, &t->tape, t->model, &t->workspace.flow, t->options->log, err);
    if (status == STATUS_OK && t->options->resume) status = resume_weights(t, &found, err);
    if (status == STATUS_OK) status = run_log_open(&t->run_log, t->folder, t->options->resume ? t->step : -1, err);
    t->run_log.copy = t->options->lines;
    if (status == STATUS_OK) status = write_config(t, err);
    if (status != STATUS_OK) return status;
    print_model(t);
    return loop(t, err);
}

static Status dry_run(Trainer *t, Error *err) {
    double norm;
    Status status = train_data_open(&t->config, t->options->log, &t->data, err);
    // The longest rollout from the first step on: what the run will need at most.
    t->config.train.rollout = (IntList){1, {(int)schedule_longest_rollout(&t->config.train)}};
    t->config.train.rollout_from = (RealList){1, {0}};
    if (status == STATUS_OK) status = build_model(t, err);
    // The same steps twice: the first time also measures scene flow, which is then kept.
    long steps = t->config.train.steps < DRY_STEPS ? t->config.train.steps : DRY_STEPS;
    t->fast_step = INFINITY;
    for (long i = 0; i < 2 * steps && status == STATUS_OK; i++) {
        if (i % steps == 0) status = train_data_start(&t->data, 0, err);
        double before = clock_now();
        if (status == STATUS_OK) status = train_step(t, &t->parts, &norm, err);
        t->fast_step = fmin(t->fast_step, clock_now() - before);
    }
    if (status == STATUS_OK) print_model(t);
    return status;
}

static void summarize(const Trainer *t, TrainSummary *out) {
    *out = (TrainSummary){.weights = parameters_element_count(&t->model->parameters),
                          .particles = t->parts.particles,
                          .step = t->step,
                          .best_score = t->best,
                          .loss = t->parts.particles ? t->parts.total : NAN,
                          .seconds = spent(t),
                          .tape_mib = (double)tape_peak_bytes(&t->tape) / (1 << 20),
                          .seconds_per_step = t->fast_step};
}

Status train_run(const Config *config, Device *device, const TrainOptions *options, TrainSummary *summary, Error *err) {
    Trainer *t = calloc(1, sizeof *t);
    if (!t) return error_set(err, STATUS_FAILED, "out of memory for a trainer");
    t->config = *config;
    t->options = options;
    t->device = device;
    t->best = NAN;
    t->started = clock_now();
    tape_init(&t->tape, device);
    t->tape.keep_limit = (size_t)(config->train.keep_mib * (1 << 20));
    device->replay.wanted = config->train.cuda_graph;
    Status status = options->dry_run ? dry_run(t, err) : run(t, err);
    if (status == STATUS_OK) summarize(t, summary);
    run_log_close(&t->run_log);
    tape_free(&t->tape);
    loss_workspace_free(&t->workspace);
    optimizer_free(&t->optimizer);
    vpd_free(t->model);
    train_data_close(&t->data);
    free(t);
    return status;
}
