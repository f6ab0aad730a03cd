// SPDX-License-Identifier: Apache-2.0
// Output of a training run: log, evaluation, pictures, checkpoints, and a summary at its end.
#include "train/trainer_internal.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/stop.h"
#include "train/schedule.h"

#include <math.h>

double trainer_spent(const Trainer *t) { return t->seconds + clock_now() - t->started; }

// Share of the time since the last logged line in which steps waited for data.
static double waiting(Trainer *t) {
    double now = clock_now(), share = (t->data.waited - t->waited) / (now - t->logged);
    t->logged = now, t->waited = t->data.waited;
    return share;
}

static Status write_log(Trainer *t, double norm, double rate, Error *err) {
    const LossParts *parts = &t->parts;
    RunLog *log = &t->run_log;
    run_log_begin(log, "train", t->step);
    run_log_number(log, "loss", parts->total);
    bool images = schedule_has_images(&t->config.train, t->step - 1);
    for (LossTermId i = 0; i < LOSS_TERM_COUNT; i++)
        if ((i == LOSS_BODIES) != images) run_log_number(log, loss_term_name(i), parts->term[i]);
    if (images) {
        run_log_number(log, "psnr_step0", -10 * log10(parts->step0));
        run_log_number(log, "psnr_last", -10 * log10(parts->last));
    }
    run_log_number(log, "rate", schedule_rate(&t->config.train, t->step - 1));
    run_log_integer(log, "rollout", schedule_rollout(&t->config.train, t->step - 1));
    run_log_number(log, "gradient_norm", norm);
    run_log_number(log, "node_spread", parts->spread);
    run_log_number(log, "motion", parts->motion);
    run_log_integer(log, "particles", (long long)parts->particles);
    run_log_number(log, "steps_per_second", rate);
    run_log_number(log, "seconds", trainer_spent(t));
    run_log_number(log, "waiting", waiting(t));
    run_log_number(log, "tape_mib", (double)tape_peak_bytes(&t->tape) / (1 << 20));
    trainer_log_ranks(t);
    return run_log_end(log, err);
}

Status trainer_save(Trainer *t, Error *err) {
    if (ranks_rank(t->ranks) > 0) {
        t->found_best = false;
        t->saved = t->step;
        return STATUS_OK;
    }
    CheckpointBlocks blocks = {t->optimizer.m, t->optimizer.v, t->optimizer.ema};
    CheckpointMeta meta = {.config = t->config,
                           .step = t->step,
                           .best_score = t->best,
                           .time_step = t->config.data.time_step,
                           .seconds = trainer_spent(t),
                           .evaluated = t->evaluated,
                           .data = t->record};
    Status status = checkpoint_save_in(t->folder.checkpoints, &t->model->parameters, &blocks, &meta, t->found_best,
                                       t->config.train.keep, err);
    if (status != STATUS_OK) return status;
    t->found_best = false;
    t->saved = t->step;
    return STATUS_OK;
}

Status trainer_tell_stopped(const Trainer *t, Error *err) {
    char saved[80];
    if (!err) return STATUS_INTERRUPTED;
    const Error stopped = *err;
    if (t->saved < 0) return error_set(err, STATUS_INTERRUPTED, "%.500s; nothing was saved yet", stopped.text);
    if (t->saved == 0) snprintf(saved, sizeof saved, " before step 1 was done");
    else if (t->saved < t->step) snprintf(saved, sizeof saved, "; step %ld is saved", t->saved);
    else snprintf(saved, sizeof saved, " after step %ld, which is saved", t->saved);
    return error_set(err, STATUS_INTERRUPTED, "%.500s%s; go on with \"vpd train -o %.300s --resume\"", stopped.text,
                     saved, t->folder.path);
}

// After a hook: its own failure is reported first, because the device could then not copy the weights back.
static Status swap_back(Trainer *t, Status status, Error *err) {
    Error failure;
    Status failed = device_status(t->device, &failure);
    optimizer_swap_ema(&t->optimizer);
    return status == STATUS_OK && failed != STATUS_OK ? error_set(err, failed, "%s", failure.text) : status;
}

// Runs validation and drawing with the averaged weights.
static Status evaluate(Trainer *t, Error *err) {
    const TrainHooks *hooks = &t->options->hooks;
    double score = NAN;
    if (!hooks->evaluate) return STATUS_OK;
    optimizer_swap_ema(&t->optimizer);
    Status status = hooks->evaluate(hooks->owner, t->model, &t->data, t->step, &t->run_log, &score, err);
    status = swap_back(t, status, err);
    if (status != STATUS_OK) return status;
    t->found_best = schedule_has_images(&t->config.train, t->step - 1) && isfinite(score) && !(score >= t->best);
    if (t->found_best) t->best = score;
    return status;
}

static Status draw(Trainer *t, Error *err) {
    const TrainHooks *hooks = &t->options->hooks;
    if (!hooks->draw || !schedule_has_images(&t->config.train, t->step - 1) || ranks_rank(t->ranks) > 0)
        return STATUS_OK;
    optimizer_swap_ema(&t->optimizer);
    Status status = hooks->draw(hooks->owner, t->model, &t->data, t->step, t->folder.pictures, &t->run_log, err);
    return swap_back(t, status, err);
}

static bool due(long every, long step) { return every > 0 && step % every == 0; }

// What is due after this many steps, as bits.
enum { EVALUATION = 1, PICTURES = 2 };
static int looks_due(const Trainer *t) {
    const TrainConfig *train = &t->config.train;
    bool last = t->step >= train->steps;
    bool evaluation = due(train->eval_every, t->step) || last;
    bool pictures = due(train->picture_every, t->step) || (last && train->picture_every > 0);
    return (evaluation ? EVALUATION : 0) + (pictures ? PICTURES : 0);
}

// Evaluates and draws. The checkpoint was written before (`saved`) or is written even if this fails, so no step is
// lost.
static Status evaluate_and_draw(Trainer *t, int looks, bool saved, Error *err) {
    Error problem = {0};
    Status status = looks & EVALUATION ? evaluate(t, err) : STATUS_OK;
    if (status == STATUS_OK && looks & PICTURES) status = draw(t, err);
    t->evaluated = status == STATUS_OK;
    if (status == STATUS_OK) return saved || t->found_best ? trainer_save(t, err) : STATUS_OK;
    if (trainer_save(t, &problem) == STATUS_OK) return status;
    Error first = err ? *err : (Error){0};
    return error_set(err, status, "%.450s; nor could a checkpoint be saved: %.450s", first.text, problem.text);
}

Status trainer_leave_behind(Trainer *t, double norm, double rate, Error *err) {
    const TrainConfig *train = &t->config.train;
    bool last = t->step >= train->steps, save = due(train->checkpoint_every, t->step) || last;
    int looks = looks_due(t);
    Status status = STATUS_OK;
    t->evaluated = looks == 0;
    bool writes = ranks_rank(t->ranks) == 0;
    if (writes && (due(train->log_every, t->step) || last)) status = write_log(t, norm, rate, err);
    if (status == STATUS_OK && save) status = trainer_save(t, err);
    if (status == STATUS_OK && looks) status = evaluate_and_draw(t, looks, save, err);
    return status;
}

Status trainer_finish(Trainer *t, Error *err) {
    int looks = looks_due(t);
    return looks ? evaluate_and_draw(t, looks, true, err) : STATUS_OK;
}

// ---- a viewer

enum {
    SHOW_PART = 200, // showing takes at most one part in so many of the time
    SHOW_FIRST = 15  // seconds of a run before it, so that short runs do not pay for it
};

// While a run is paused each step is shown once, at no cost to it.
static bool show_due(const Trainer *t, bool paused) {
    double now = clock_now();
    return paused ? t->shown != t->step : now >= t->show_after && now >= t->started + SHOW_FIRST;
}

// A failure to show is none of the run's; that of the device is. After a stop the caller saves.
static Status show(Trainer *t, bool paused, Error *err) {
    const TrainHooks *hooks = &t->options->hooks;
    double began = clock_now();
    if (!hooks->show || !show_due(t, paused)) return STATUS_OK;
    optimizer_swap_ema(&t->optimizer);
    hooks->show(hooks->owner, t->model, &t->data, t->folder.pictures);
    Status status = swap_back(t, STATUS_OK, err);
    t->shown = t->step;
    t->show_after = clock_now() + SHOW_PART * (clock_now() - began);
    return status == STATUS_INTERRUPTED ? STATUS_OK : status;
}

Status trainer_obey(Trainer *t, Error *err) {
    const TrainWatcher *watcher = &t->options->watcher;
    Status status = STATUS_OK;
    unsigned wish = watcher->wish ? TRAIN_WAIT : 0;
    while (wish & TRAIN_WAIT && status == STATUS_OK && !stop_requested()) {
        double before = clock_now();
        wish = watcher->wish(watcher->owner);
        double waited = clock_now() - before;
        t->started += waited, t->logged += waited;
        if (wish & TRAIN_SAVE && t->saved != t->step) status = trainer_save(t, err);
        if (status == STATUS_OK && wish & TRAIN_SHOW) status = show(t, wish & TRAIN_WAIT, err);
    }
    return status;
}

// ---- summary

// {"gnn.length_scale": {"value": "0.1", "from": "data"}, ..}
static json_t *options_json(const Config *config) {
    json_t *object = json_object();
    ConfigChange change;
    for (size_t i = 0; config_each_change(config, &i, &change);)
        json_object_set_new(object, change.key, json_pack("{s:s s:s}", "value", change.value, "from", change.origin));
    return object;
}

json_t *train_summary_json(const Config *config, bool dry_run, const TrainSummary *s) {
    if (dry_run)
        return json_pack("{s:b s:[] s:o s:I s:I s:o s:o s:o s:o}", "dry_run", true, "written", "options",
                         options_json(&s->config), "weights", (json_int_t)s->weights, "particles",
                         (json_int_t)s->particles, "memory_mib", json_finite(s->memory_mib), "tape_mib",
                         json_finite(s->tape_mib), "seconds_per_step", json_finite(s->step_seconds), "eta_seconds",
                         json_finite(s->plan_seconds));
    return json_pack("{s:[s] s:I s:o s:o s:I s:o s:b}", "written", config->train.out, "step", (json_int_t)s->step,
                     "loss", json_finite(s->loss), "best_score", json_finite(s->best_score), "weights",
                     (json_int_t)s->weights, "run_seconds", json_finite(s->seconds), "stopped", s->stopped);
}
