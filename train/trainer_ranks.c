// SPDX-License-Identifier: Apache-2.0
// A run of several processes: they agree before the first step, and add up gradients and losses in each.
#include "train/trainer_internal.h"

#include "base/clock.h"
#include "nn/backend.h"
#include "train/schedule.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define SLOW 1.5 // times the mean of the others
enum { SLOW_STEPS = 10 };

// ---- before the first step

// Each step needs something for every rank to do.
static Status check_shares(const Trainer *t, Error *err) {
    const TrainConfig *train = &t->config.train;
    int ranks = ranks_count(t->ranks);
    bool images = schedule_has_images(train, train->steps - 1), windows = train->motion_steps > 0;
    if (images && train->batch < ranks)
        return error_set(err, STATUS_BAD_INPUT,
                         "train.batch: expected %d or more, one episode for each process, found %ld; set "
                         "train.batch=%d, or start fewer processes",
                         ranks, train->batch, ranks);
    if (!windows || train->windows >= ranks) return STATUS_OK;
    return error_set(err, STATUS_BAD_INPUT,
                     "train.windows: expected %d or more, one for each process, found %ld; start fewer processes",
                     ranks, train->windows);
}

// The command, the program, the machine's arithmetic, the data and the options, a line each.
static char *describe(const Trainer *t) {
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (!out) return NULL;
    data_record_print_job(&t->record, "train", t->device->name, out);
    Status status = options_write_yaml(config_record, &t->config, false, out);
    if (fclose(out) == 0 && status == STATUS_OK) return text;
    free(text);
    return NULL;
}

Status trainer_join(Trainer *t, Error *err) {
    if (!t->ranks) return STATUS_OK;
    Status status = check_shares(t, err);
    char *text = status == STATUS_OK ? describe(t) : NULL;
    if (status == STATUS_OK && !text) status = error_set(err, STATUS_FAILED, "out of memory for the options");
    if (status == STATUS_OK) status = ranks_same_text(t->ranks, text, err);
    free(text);
    t->work.watch = calloc((size_t)ranks_count(t->ranks), sizeof *t->work.watch);
    t->work.watched = -SLOW_STEPS; // the first steps also make files and memory
    if (status == STATUS_OK && !t->work.watch)
        status = error_set(err, STATUS_FAILED, "out of memory for %d processes", ranks_count(t->ranks));
    bool bf16 = t->config.train.sum_precision == SUM_BF16;
    return status == STATUS_OK ? gradients_create(t->ranks, &t->model->parameters, bf16, &t->gradients, err) : status;
}

Status trainer_join_weights(Trainer *t, Error *err) {
    const Parameters *set = &t->model->parameters;
    char text[80];
    if (!t->ranks) return STATUS_OK;
    real *weights = malloc(set->size * sizeof *weights + 1);
    if (!weights) return error_set(err, STATUS_FAILED, "out of memory for the weights");
    t->device->nn->download(t->device, weights, set->values, set->size * sizeof *weights);
    snprintf(text, sizeof text, "step %ld, weights %016llx\n", t->step,
             (unsigned long long)XXH3_64bits(weights, set->size * sizeof *weights));
    free(weights);
    Status status = device_status(t->device, err);
    return status == STATUS_OK ? ranks_same_text(t->ranks, text, err) : status;
}

// ---- in each step

Status trainer_sum_gradients(Trainer *t, Error *err) {
    if (!t->ranks) return STATUS_OK;
    t->work.begun = device_seconds(t->device) - t->work.begun;
    Status status = gradients_finish(t->gradients, err);
    GradientsTime time = gradients_time(t->gradients);
    t->work.waited += time.waited;
    t->work.sums += time.received;
    t->work.sent += time.bytes;
    return status;
}

// What a rank tells of its step: the parts of its loss as numbers, and the seconds it computed.
enum { STEP0 = LOSS_TERM_COUNT + 1, LAST, SPREAD, MOTION, PARTICLES, SECONDS, NUMBERS };

// The mean motion is over particles: of windows all nodes of the batch, of pictures those of an episode.
static void numbers_of(const Trainer *t, const LossParts *parts, double out[NUMBERS]) {
    bool images = schedule_has_images(&t->config.train, t->step);
    double particles = (double)parts->particles * (images ? (double)(t->data.end - t->data.first) : 1);
    memcpy(out, parts->term, sizeof parts->term);
    out[LOSS_TERM_COUNT] = parts->total;
    out[STEP0] = parts->step0, out[LAST] = parts->last, out[SPREAD] = parts->spread;
    out[MOTION] = parts->motion * particles;
    out[PARTICLES] = particles;
    out[SECONDS] = t->work.begun;
}

static void parts_of(const Trainer *t, const double in[NUMBERS], LossParts *parts) {
    bool images = schedule_has_images(&t->config.train, t->step);
    memcpy(parts->term, in, sizeof parts->term);
    parts->total = in[LOSS_TERM_COUNT];
    parts->step0 = in[STEP0], parts->last = in[LAST], parts->spread = in[SPREAD];
    parts->motion = in[PARTICLES] > 0 ? in[MOTION] / in[PARTICLES] : 0;
    parts->particles = (size_t)(in[PARTICLES] / (images ? (double)t->config.train.batch : 1));
}

// Whatever the steps between two lines of the log.
static void warn_of_slow(Trainer *t) {
    int ranks = ranks_count(t->ranks), slowest = 0;
    double sum = 0, *seconds = t->work.watch;
    if (++t->work.watched == 0) memset(seconds, 0, (size_t)ranks * sizeof *seconds);
    if (t->work.watched < SLOW_STEPS || t->work.warned) return;
    for (int r = 0; r < ranks; r++) {
        sum += seconds[r];
        if (seconds[r] > seconds[slowest]) slowest = r;
    }
    double most = seconds[slowest], mean = (sum - most) / (ranks - 1);
    memset(seconds, 0, (size_t)ranks * sizeof *seconds);
    t->work.watched = 0;
    if (!(most > SLOW * mean)) return;
    t->work.warned = true;
    log_warning(
        t->options->log,
        "%s takes %.3g s for its part of a step, the others %.3g s, and they wait for it; see what else runs on "
        "its machine",
        ranks_name(t->ranks, slowest), most / SLOW_STEPS, mean / SLOW_STEPS);
}

Status trainer_sum_parts(Trainer *t, LossParts *parts, Error *err) {
    if (!t->ranks) return STATUS_OK;
    double own[NUMBERS], sum[NUMBERS] = {0}, *all = malloc((size_t)ranks_count(t->ranks) * sizeof own);
    if (!all) return error_set(err, STATUS_FAILED, "out of memory for %d processes", ranks_count(t->ranks));
    numbers_of(t, parts, own);
    Status status = ranks_gather(t->ranks, own, sizeof own, all, err);
    for (int r = 0; r < ranks_count(t->ranks) && status == STATUS_OK; r++) {
        for (int i = 0; i < NUMBERS; i++) sum[i] += all[r * NUMBERS + i];
        t->work.watch[r] += all[r * NUMBERS + SECONDS];
    }
    free(all);
    t->work.steps++;
    t->work.worked += t->work.begun;
    if (status != STATUS_OK) return status;
    parts_of(t, sum, parts);
    warn_of_slow(t);
    return STATUS_OK;
}

// ---- in the log

void trainer_log_ranks(Trainer *t) {
    if (!t->ranks || t->work.steps == 0) return;
    double steps = (double)t->work.steps;
    run_log_integer(&t->run_log, "ranks", ranks_count(t->ranks));
    run_log_number(&t->run_log, "rank_seconds", t->work.worked / steps);
    run_log_number(&t->run_log, "sum_seconds", t->work.sums / steps);
    run_log_number(&t->run_log, "sum_waited", t->work.waited / steps);
    run_log_number(&t->run_log, "sent_mib", t->work.sent / steps / (1 << 20));
    t->work.worked = t->work.waited = t->work.sums = t->work.sent = 0;
    t->work.steps = 0;
}
