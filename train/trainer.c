// SPDX-License-Identifier: Apache-2.0
#include "train/trainer_internal.h"

#include "base/clock.h"
#include "base/progress.h"
#include "base/stop.h"
#include "model/lengths.h"
#include "nn/backend.h"
#include "train/schedule.h"
#include "train/turn.h"

#include <stdlib.h>
#include <string.h>

// Steps of a phase whose rollout lengths stand for all; steps that a run has for its plan to be worth measuring.
enum { PLAN_SAMPLES = 256, PLAN_LEAST = 100 };

// ---- one step

// Takes the next episode from the loader: number b of this rank's part of the step's batch, which begins at `first`.
static Status take_episode(Trainer *t, long step, size_t first, size_t b, Error *err) {
    const TrainConfig *train = &t->config.train;
    const Frames *frames;
    const TrainEpisode *episode;
    BatchItem *item = &t->items[b];
    Status status = train_data_next(&t->data, &frames, &episode, err);
    if (status != STATUS_OK) return status;
    const EpisodeInfo *info = dataset_episode(t->data.dataset, frames->episode);
    item->observation = frames_observation(frames);
    if (train->turn != TURN_NONE) {
        turn_at_random(train, step, frames->episode, first + b, item->turn);
        item->observation.turn = item->turn;
    }
    t->episodes[b] = (EpisodeInput){
        .frames = &item->observation,
        .input_views = episode->input_views,
        .input_view_count = episode->input_view_count,
        .first = {frames->episode, frames->first, frames->stride},
        .key = {(uint32_t)train->seed, (uint32_t)step, (uint32_t)(frames->episode * train->batch + (long)(first + b))},
        .file = info->file,
        .name = info->name};
    return STATUS_OK;
}

static Status check_finite(const Trainer *t, const LossParts *parts, Error *err) {
    const char *broken = loss_parts_not_finite(parts);
    if (!broken) return STATUS_OK;
    return error_set(err, STATUS_FAILED,
                     "step %ld: the %s loss is not finite; try a lower train.rate or train.clip, and check the data "
                     "with \"vpd data check\"",
                     t->step, broken);
}

// Reads the loss of the batch; waits for the device.
static Status read_loss(Trainer *t, const LossValues *values, LossParts *parts, Error *err) {
    Status status = loss_read(&t->tape, values, parts, err);
    return status == STATUS_OK ? check_finite(t, parts, err) : status;
}

// Takes the episodes of a step's batch, and chooses their particles.
static Status place_batch(Trainer *t, long step, Error *err) {
    Status status = STATUS_OK;
    size_t first = t->data.first, count = t->data.end - first;
    for (size_t b = 0; b < count && status == STATUS_OK; b++) status = take_episode(t, step, first, b, err);
    if (status != STATUS_OK) return status;
    EpisodeBatch batch = {.count = count,
                          .total = (size_t)t->config.train.batch,
                          .episodes = t->episodes,
                          .rollout = t->items[0].observation.F - (int)t->config.model.T};
    return train_place(t->model, &t->workspace, &batch, &t->placed, err);
}

// While a GPU works on the gradients, the host chooses the particles of the next step. What is wrong with its data is
// told when it is due.
static Status place_ahead(Trainer *t, Error *err) {
    long next = t->step + 1;
    if (next >= t->config.train.steps || !schedule_has_images(&t->config.train, next)) return STATUS_OK;
    device_flush(t->device);
    t->placed_status = place_batch(t, next, &t->placed_error);
    t->placed_step = next;
    if (t->placed_status != STATUS_INTERRUPTED) return STATUS_OK;
    *err = t->placed_error;
    return STATUS_INTERRUPTED;
}

static Status take_placed(Trainer *t, Error *err) {
    if (t->placed_step != t->step) return place_batch(t, t->step, err);
    t->placed_step = -1;
    if (t->placed_status != STATUS_OK) *err = t->placed_error;
    return t->placed_status;
}

// Encode, step, render, loss and backward for the episodes of the batch.
static Status episode_gradients(Trainer *t, LossValues *values, Error *err) {
    Status status = take_placed(t, err);
    if (status != STATUS_OK) return status;
    t->tape.watch = gradients_watch(t->gradients);
    status = train_episodes(&t->tape, t->model, &t->workspace, &t->placed, values, err);
    t->tape.watch = NULL;
    if (status == STATUS_OK && device_stopped(t->device)) status = device_status(t->device, err);
    return status;
}

static Status window_gradients(Trainer *t, LossParts *parts, Error *err) {
    const TrainConfig *train = &t->config.train;
    long rollout = schedule_rollout(train, t->step);
    Status status = windows_draw(&t->windows, train, t->ranks, t->device->threads, t->step, rollout, err);
    arena_reset(&t->device->scratch);
    t->windows.watch = gradients_watch(t->gradients);
    if (status == STATUS_OK) status = windows_learn(&t->windows, &t->tape, t->model, rollout, parts, err);
    return status == STATUS_OK ? check_finite(t, parts, err) : status;
}

static Status batch_gradients(Trainer *t, LossParts *parts, LossValues *values, Error *err) {
    bool images = schedule_has_images(&t->config.train, t->step);
    memset(parts, 0, sizeof *parts);
    parameters_zero_grad(&t->model->parameters);
    if (vpd_has_bodies(t->model)) parameters_choose(&t->model->parameters, "bodies.", !images); // a part in each phase
    Status status = gradients_begin(t->gradients, images ? NULL : "bodies.", err);
    t->work.begun = clock_now();
    if (status != STATUS_OK) return status;
    return images ? episode_gradients(t, values, err) : window_gradients(t, parts, err);
}

// Gradients, then one update. If a step fails or is stopped before its update, weights, averages and moments are
// unchanged, so the checkpoint of the step before can still be saved.
static Status one_step(Trainer *t, LossParts *parts, double *norm, Error *err) {
    const TrainConfig *train = &t->config.train;
    // the phase with images continues with the averaged weights
    bool images_join = t->step > 0 && t->step == train->motion_steps;
    LossValues values;
    if (images_join) optimizer_swap_ema(&t->optimizer);
    Status status = batch_gradients(t, parts, &values, err);
    if (status == STATUS_OK) status = place_ahead(t, err);
    if (status == STATUS_OK) status = trainer_sum_gradients(t, err);
    // Several processes may hear of a stop while they add up their losses, so this comes before the update.
    bool images = schedule_has_images(train, t->step);
    if (status == STATUS_OK && images && t->ranks) status = read_loss(t, &values, parts, err);
    if (status == STATUS_OK) status = trainer_sum_parts(t, parts, err);
    if (images_join && status != STATUS_OK) optimizer_swap_ema(&t->optimizer);
    if (status != STATUS_OK) return status;
    if (images_join) optimizer_restart(&t->optimizer);
    optimizer_start(&t->optimizer, schedule_rate(train, t->step));
    if (images && !t->ranks) status = read_loss(t, &values, parts, err);
    if (status != STATUS_OK) return status;
    status = optimizer_finish(&t->optimizer, norm, err);
    if (status != STATUS_OK) return error_prefix(err, "step %ld", t->step);
    t->step++;
    return STATUS_OK;
}

static Status train_step(Trainer *t, LossParts *parts, double *norm, Error *err) {
    device_step_begin(t->device, t->config.train.cuda_graph);
    Status status = one_step(t, parts, norm, err);
    device_step_end(t->device);
    return status;
}

// If all nodes predict the same motion, floor and objects move together: the learning rate was too high.
static void warn_of_collapse(const Trainer *t, const LossParts *parts) {
    if (t->step % (t->config.train.log_every * 10) == 0 && parts->spread > 0 && parts->spread < 0.05)
        log_warning(t->options->log, "step %ld: the abstract nodes have become alike (spread %.3f); lower train.rate",
                    t->step, parts->spread);
}

// Saves the last complete step; the request to stop stays the error.
static Status save_stopped(Trainer *t, Error *err) {
    Status status = trainer_save(t, err);
    return status == STATUS_OK ? stop_error(err) : status;
}

// The stream of episodes from a step on, or from the first one that does not learn windows.
static Status start_data(Trainer *t, long step, Error *err) {
    if (!schedule_has_images(&t->config.train, step)) step = t->config.train.motion_steps;
    t->placed_step = -1;
    return train_data_start(&t->data, step, err);
}

// ---- how long a run takes

// Seconds of the gradients of a step: the faster of two, because the first takes memory and measures motion.
static Status time_step(Trainer *t, long step, double *seconds, Error *err) {
    Status status = STATUS_OK;
    long now = t->step;
    *seconds = INFINITY;
    t->step = step;
    for (int i = 0; i < 2 && status == STATUS_OK; i++) {
        LossValues values;
        status = start_data(t, step, err);
        double before = clock_now();
        device_step_begin(t->device, t->config.train.cuda_graph);
        if (status == STATUS_OK) status = batch_gradients(t, &t->parts, &values, err);
        if (status == STATUS_OK) status = trainer_sum_gradients(t, err);
        if (status == STATUS_OK && schedule_has_images(&t->config.train, step))
            status = read_loss(t, &values, &t->parts, err);
        device_step_end(t->device);
        *seconds = fmin(*seconds, clock_now() - before);
    }
    t->step = now;
    return status;
}

// Seconds of steps from .. to - 1 of one phase. The time of a step grows evenly with its rollout, so the shortest and
// the longest are measured.
static Status time_steps(Trainer *t, long from, long to, double *seconds, Error *err) {
    const TrainConfig *train = &t->config.train;
    long brief = from, lengthy = from;
    double mean = 0, low = 0, high = 0;
    *seconds = 0;
    if (from >= to) return STATUS_OK;
    for (int i = 0; i < PLAN_SAMPLES; i++) {
        long step = from + (to - 1 - from) * i / (PLAN_SAMPLES - 1), rollout = schedule_rollout(train, step);
        if (rollout < schedule_rollout(train, brief)) brief = step;
        if (rollout > schedule_rollout(train, lengthy)) lengthy = step;
        mean += (double)rollout / PLAN_SAMPLES;
    }
    double shortest = (double)schedule_rollout(train, brief), longest = (double)schedule_rollout(train, lengthy);
    Status status = time_step(t, brief, &low, err);
    if (status == STATUS_OK && longest > shortest) status = time_step(t, lengthy, &high, err);
    double more = longest > shortest ? (high - low) * (mean - shortest) / (longest - shortest) : 0;
    *seconds = (double)(to - from) * (low + more);
    return status;
}

// "; 5000 steps of motion: 1 min 50 s", or nothing where there is nothing to do.
static void plan_part(long count, const char *what, double seconds, char *out, size_t size) {
    char time[40];
    clock_format(seconds, time, sizeof time);
    out[0] = 0;
    if (seconds > 0) snprintf(out, size, "; %ld %s: %s", count, what, time);
}

// Says what is left to do, and how long it takes; `fields`: seconds of motion that is still to be measured.
static Status tell_plan(Trainer *t, double fields, Error *err) {
    const TrainConfig *train = &t->config.train;
    long join = train->motion_steps < train->steps ? train->motion_steps : train->steps,
         moved = t->step < join ? t->step : join, drawn = t->step > join ? t->step : join;
    double motion, pictures;
    char all[40], part[3][100];
    Status status = time_steps(t, moved, join, &motion, err);
    if (status == STATUS_OK) status = time_steps(t, drawn, train->steps, &pictures, err);
    if (status != STATUS_OK) return status;
    t->plan = fields + motion + pictures;
    clock_format(t->plan, all, sizeof all);
    plan_part(t->data.episode_count, "episodes of scene flow", fields, part[0], sizeof part[0]);
    plan_part(join - moved, "steps of motion", motion, part[1], sizeof part[1]);
    plan_part(train->steps - drawn, "steps with pictures", pictures, part[2], sizeof part[2]);
    log_note(t->options->log, "plan: about %s%s%s%s", all, part[0], part[1], part[2]);
    return STATUS_OK;
}

// Not of short runs, and alone: several processes would have to agree.
static Status plan(Trainer *t, Error *err) {
    bool heard = t->options->log && !t->options->log->quiet;
    if (!heard || t->ranks || t->config.train.steps - t->step < PLAN_LEAST) return STATUS_OK;
    return tell_plan(t, 0, err);
}

// ---- the loop

// Each phase has its own time left: steps with pictures take much longer.
static void start_progress(const Trainer *t, Progress *progress) {
    const TrainConfig *train = &t->config.train;
    bool motion = !schedule_has_images(train, t->step) && train->motion_steps < train->steps;
    progress_start(progress, t->options->log, motion ? "train motion" : "train", "steps", (size_t)t->step,
                   (size_t)(motion ? train->motion_steps : train->steps));
}

static Status loop(Trainer *t, Error *err) {
    Progress progress;
    start_progress(t, &progress);
    Status status = start_data(t, t->step, err);
    t->logged = clock_now(), t->waited = t->data.waited;
    bool ended = false;
    if (status == STATUS_OK && t->saved < 0)
        status = trainer_save(t, err); // a run that is killed now goes on from here
    while (status == STATUS_OK && t->step < t->config.train.steps) {
        double norm = 0, before = clock_now();
        char detail[96];
        status = train_step(t, &t->parts, &norm, err);
        if (status == STATUS_INTERRUPTED) status = save_stopped(t, err); // the interrupted step left no trace
        if (status != STATUS_OK) break;
        snprintf(detail, sizeof detail, "loss %.5f", t->parts.total);
        progress_update(&progress, (size_t)t->step, detail);
        ended = t->step >= t->config.train.steps;
        if (!ended && t->step == t->config.train.motion_steps) start_progress(t, &progress);
        if (ended) progress_end(&progress, detail); // the final evaluation prints its own
        warn_of_collapse(t, &t->parts);
        // If a signal interrupts this, a checkpoint of this step exists already.
        status = trainer_leave_behind(t, norm, 1 / (clock_now() - before), err);
        if (status == STATUS_OK && !ended) status = trainer_obey(t, err);
        if (status == STATUS_OK && stop_requested() && !ended) {
            status = save_stopped(t, err);
        } else if (status == STATUS_OK && t->run_log.asked_to_end && !ended) {
            status = trainer_save(t, err);
            break;
        }
    }
    if (!ended) progress_end(&progress, NULL);
    if (t->device->note[0]) log_note(t->options->log, "%s", t->device->note);
    return status;
}

// ---- a run

// The comment in the first line tells a run's config from other files. Measured lengths are written as comments, so
// that a run that starts from this file measures its own.
static Status write_config(const Trainer *t, Error *err) {
    char path[FILE_PATH_SIZE], *text = NULL;
    size_t length = 0;
    if (ranks_rank(t->ranks) > 0) return STATUS_OK;
    Status status = file_join(path, sizeof path, t->folder.path, "config.yaml", err);
    if (status != STATUS_OK) return status;
    FILE *out = open_memstream(&text, &length);
    Config asked = t->config;
    config_drop_lengths(&asked);
    if (out) fprintf(out, "# Every option of this run, as written by vpd train. --resume reads it.\n");
    bool good = out && options_write_yaml(config_record, &asked, true, out) == STATUS_OK;
    if (out) fprintf(out, "# The lengths of this run, of which those at 0 above were measured in the data:\n");
    if (out) lengths_print(&t->config, "#   ", out);
    good = out && fclose(out) == 0 && good;
    status = good ? file_write_bytes(path, text, length, err)
                  : error_set(err, STATUS_FAILED, "out of memory for the config");
    free(text);
    return status;
}

static Status open_folder(Trainer *t, Error *err) {
    if (!t->config.train.out[0])
        return error_set(
            err, STATUS_BAD_INPUT,
            "train.out: expected a folder for the run, found nothing; set it in the config or with -o FOLDER");
    bool owner = ranks_rank(t->ranks) == 0;
    Status status = owner ? run_folder_open(&t->folder, t->config.train.out, t->options->log, err)
                          : run_folder_name(&t->folder, t->config.train.out, err);
    if (status == STATUS_OK && owner && !t->options->resume) status = run_log_check_new(t->folder.path, err);
    return status == STATUS_OK ? ranks_barrier(t->ranks, err) : status;
}

// For a complete run, the summary comes from its checkpoint.
static Status report_complete(Trainer *t, const CheckpointMeta *meta) {
    t->step = meta->step;
    t->best = meta->best_score;
    t->seconds = meta->seconds, t->started = clock_now();
    log_note(t->options->log,
             "%s is complete: its %ld steps and the final evaluation are done; increase train.steps to continue",
             t->folder.path, t->step);
    return STATUS_OK;
}

static void print_model(const Trainer *t) {
    const Log *log = t->options->log;
    log_note(log, "%zu weights on %s; %d training episodes", parameters_element_count(&t->model->parameters),
             t->device->name, t->data.episode_count);
    if (log && !log->quiet && !t->options->dry_run) // a dry run's result has them
        lengths_print(&t->config, "", log->out);
}

// Opens data, builds the model, and checks the input of validation, before anything slow.
static Status prepare(Trainer *t, Error *err) {
    const TrainHooks *hooks = &t->options->hooks;
    Status status = trainer_check_memory(t, err);
    if (status == STATUS_OK) status = trainer_build(t, err);
    if (status == STATUS_OK) status = trainer_join(t, err);
    if (status == STATUS_OK && hooks->check) status = hooks->check(hooks->owner, t->model, &t->data, err);
    return status;
}

// The weights by which start frames of episodes are drawn.
static Status measure_starts(Trainer *t, Error *err) {
    if (!schedule_has_images(&t->config.train, t->config.train.steps - 1)) return STATUS_OK;
    return train_data_count_changes(&t->data, t->options->log, err);
}

// Prepares the first step, with folder and data open.
static Status begin(Trainer *t, const char *resumed, Error *err) {
    Status status = prepare(t, err);
    if (status == STATUS_OK) status = trainer_open_motion(t, err);
    if (status == STATUS_OK) status = measure_starts(t, err);
    if (status == STATUS_OK && resumed) status = trainer_resume_weights(t, resumed, err);
    if (status == STATUS_OK) status = trainer_join_weights(t, err);
    if (status == STATUS_OK) status = trainer_open_windows(t, err);
    if (status == STATUS_OK && ranks_rank(t->ranks) == 0)
        status = run_log_open(&t->run_log, t->folder.path, resumed ? t->step : -1, t->evaluated, err);
    t->run_log.listener = t->options->listener;
    return status == STATUS_OK ? write_config(t, err) : status;
}

// With the folder's names: what is resumed, and the data. *complete: nothing is left to do.
static Status open_run(Trainer *t, CheckpointFound *found, bool *complete, Error *err) {
    CheckpointMeta meta = {.step = 0};
    bool resume = t->options->resume;
    Status status = resume ? trainer_resume_config(t, found, &meta, err) : STATUS_OK;
    *complete = status == STATUS_OK && resume && trainer_is_complete(t, &meta);
    if (*complete) return report_complete(t, &meta);
    if (status == STATUS_OK) status = train_data_open(&t->config, t->ranks, t->options->log, &t->data, err);
    if (status == STATUS_OK) data_record_make(t->data.dataset, &t->record);
    return status == STATUS_OK && resume ? trainer_check_data(t, &meta, found->path, err) : status;
}

static Status run(Trainer *t, Error *err) {
    CheckpointFound found = {{0}, {0}};
    bool resume = t->options->resume, complete = false;
    Status status = open_folder(t, err);
    if (status == STATUS_OK) status = open_run(t, &found, &complete, err);
    if (complete) return status;
    if (status == STATUS_OK) status = begin(t, resume ? found.path : NULL, err);
    if (status != STATUS_OK) return status;
    print_model(t);
    status = plan(t, err);
    if (status != STATUS_OK) return status;
    // Makes up for an evaluation that was due after the checkpoint's step but was interrupted.
    if (resume && !t->evaluated && t->step > 0) status = trainer_finish(t, err);
    if (resume && t->step >= t->config.train.steps) return status;
    return status == STATUS_OK ? loop(t, err) : status;
}

// Makes the windows of a batch; *seconds: what those of all episodes take. A run that goes on has its motion fields.
static Status try_windows(Trainer *t, double *seconds, Error *err) {
    char kept[FILE_PATH_SIZE];
    double before = clock_now();
    Status status = file_join(kept, sizeof kept, t->folder.path, "motion.bin", err);
    if (status == STATUS_OK) status = trainer_open_motion(t, err);
    if (status == STATUS_OK) status = trainer_open_windows(t, err);
    bool measured = t->windows.episodes > 0 && !(t->options->resume && file_exists(kept));
    *seconds = measured ? (clock_now() - before) / t->windows.episodes * t->data.episode_count : 0;
    return status;
}

// What open_folder would refuse, without making anything.
static Status check_folder(Trainer *t, Error *err) {
    if (ranks_rank(t->ranks) > 0) return STATUS_OK;
    Status status = file_check_folder(t->folder.path, err);
    return status == STATUS_OK && !t->options->resume ? run_log_check_new(t->folder.path, err) : status;
}

// Windows are made from as many episodes as a batch needs; all of them take longer.
static Status dry_run(Trainer *t, Error *err) {
    CheckpointFound found = {{0}, {0}};
    bool complete = false;
    double fields = 0;
    Status status = run_folder_name(&t->folder, t->config.train.out, err);
    if (status == STATUS_OK && t->config.train.out[0]) status = check_folder(t, err);
    if (status == STATUS_OK) status = open_run(t, &found, &complete, err);
    if (complete) return status;
    if (status == STATUS_OK) status = prepare(t, err);
    if (status == STATUS_OK && t->options->resume) status = trainer_resume_weights(t, found.path, err);
    if (status == STATUS_OK) status = try_windows(t, &fields, err);
    if (status == STATUS_OK) log_note(t->options->log, "measuring some steps; Ctrl-C ends it");
    if (status == STATUS_OK) status = tell_plan(t, fields, err);
    if (status == STATUS_OK) print_model(t);
    return status;
}

static void summarize(const Trainer *t, TrainSummary *out) {
    long left = t->config.train.steps - t->step;
    *out = (TrainSummary){.weights = t->model ? parameters_element_count(&t->model->parameters) : 0,
                          .particles = t->parts.particles,
                          .step = t->step,
                          .best_score = t->best,
                          .loss = t->parts.particles ? t->parts.total : NAN,
                          .seconds = trainer_spent(t),
                          .tape_mib = (double)tape_peak_bytes(&t->tape) / (1 << 20),
                          .plan_seconds = t->plan,
                          .step_seconds = left > 0 ? t->plan / (double)left : 0,
                          .stopped = t->run_log.asked_to_end && t->step < t->config.train.steps,
                          .memory_mib = memory_total(&t->memory, false) / (1 << 20),
                          .config = t->config};
}

// Of old checkpoints motion_steps may say anything; of a run they may not.
static Status check_motion_steps(const Config *config, Error *err) {
    bool bodies = config->gnn.graph == GRAPH_BODIES && config->model.T > 1;
    if (bodies || config->train.motion_steps == 0) return STATUS_OK;
    return error_set(err, STATUS_BAD_INPUT,
                     "train.motion_steps: expected 0, found %ld; only bodies (gnn.graph=bodies, model.T of 2 or more) "
                     "learn motion before pictures, other graphs learn it from pixels, so leave it out",
                     config->train.motion_steps);
}

Status train_run(const Config *config, Device *device, const TrainOptions *options, TrainSummary *summary, Error *err) {
    Status status = check_motion_steps(config, err);
    if (status != STATUS_OK) return status;
    Trainer *t = calloc(1, sizeof *t);
    if (t) t->items = calloc((size_t)config->train.batch, sizeof *t->items);
    if (t) t->episodes = calloc((size_t)config->train.batch, sizeof *t->episodes);
    if (!t || !t->items || !t->episodes) {
        if (t) free(t->items);
        free(t);
        return error_set(err, STATUS_FAILED, "out of memory for a trainer");
    }
    t->config = *config;
    t->options = options;
    t->ranks = options->ranks;
    t->device = device;
    t->best = NAN;
    t->saved = t->shown = t->placed_step = -1;
    t->started = clock_now();
    tape_init(&t->tape, device);
    t->tape.keep_limit = (size_t)(config->train.keep_mib * (1 << 20));
    status = options->dry_run ? dry_run(t, err) : run(t, err);
    if (status == STATUS_INTERRUPTED && !options->dry_run) status = trainer_tell_stopped(t, err);
    if (status == STATUS_OK) summarize(t, summary);
    bool begun = t->run_log.lines != NULL;
    run_log_close(&t->run_log);
    gradients_free(t->gradients); // first: giving back a GPU's memory waits for sums that may never end
    tape_free(&t->tape);
    windows_free(&t->windows);
    loss_workspace_free(&t->workspace);
    free(t->items);
    free(t->episodes);
    free(t->work.watch);
    optimizer_free(&t->optimizer);
    vpd_free(t->model);
    train_data_close(&t->data);
    (begun ? run_folder_close : run_folder_drop)(&t->folder);
    free(t);
    return status;
}
