// SPDX-License-Identifier: Apache-2.0
#include "train/train_data.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/progress.h"
#include "base/random.h"
#include "datasets/time_unit.h"
#include "train/schedule.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Intervals between the frames that a rollout takes.
static long intervals_needed(const Config *config, long rollout) { return config->model.T + rollout - 1; }

// ---- checks

static bool view_is_wanted(const DataConfig *data, int view) {
    return data->input_views.count == 0 || int_list_has(&data->input_views, view);
}

// Each view of the list must exist and be listed once.
static Status check_views(const EpisodeInfo *info, const IntList *wanted, Error *err) {
    for (int i = 0; i < wanted->count; i++) {
        int view = wanted->v[i];
        bool twice = false;
        for (int j = 0; j < i; j++) twice = twice || wanted->v[j] == view;
        if (!twice && view < info->V) continue;
        return error_set(err, STATUS_BAD_INPUT,
                         "%s:/episodes/%s: data.input_views names view %d%s; expected different views from 0 to %d",
                         info->file, info->name, view, twice ? " twice" : "", info->V - 1);
    }
    return STATUS_OK;
}

static Status choose_views(const EpisodeInfo *info, const DataConfig *data, TrainEpisode *out, Error *err) {
    Status status = check_views(info, &data->input_views, err);
    if (status != STATUS_OK) return status;
    out->views = malloc((size_t)info->V * sizeof *out->views);
    out->input_views = malloc((size_t)info->V * sizeof *out->input_views);
    if (!out->views || !out->input_views)
        return error_set(err, STATUS_FAILED, "out of memory for the views of an episode");
    for (int v = 0; v < info->V; v++) {
        if (episode_view_is_heldout(info, v)) continue;
        if (view_is_wanted(data, v)) out->input_views[out->input_view_count++] = out->view_count;
        out->views[out->view_count++] = v;
    }
    if (out->input_view_count == 0)
        return error_set(
            err, STATUS_BAD_INPUT,
            "%s:/episodes/%s: expected a view for the encoder, found %d views of which %d are held out; check "
            "data.input_views",
            info->file, info->name, info->V, info->heldout_count);
    return STATUS_OK;
}

static Status check_time(const EpisodeInfo *info, Error *err) {
    if (info->F > 1 && !info->even_time)
        return error_set(err, STATUS_BAD_INPUT,
                         "%s:/episodes/%s/time: expected a constant time step, found unevenly spaced frames; \"vpd "
                         "data convert --first N --frames N\" takes a piece that is even",
                         info->file, info->name);
    return STATUS_OK;
}

static Status check_episode(const TrainData *data, const EpisodeInfo *info, Error *err) {
    const Config *c = data->config;
    long rollout = schedule_longest_rollout(&c->train);
    long needed = intervals_needed(c, rollout) + 1;
    bool moves = info->F > intervals_needed(c, 1);
    if (info->F >= needed) return check_time(info, err);
    return error_set(
        err, STATUS_BAD_INPUT, "%s:/episodes/%s: expected at least %ld frames (history %ld, rollout %ld), found %d; %s",
        info->file, info->name, needed, c->model.T, rollout, info->F,
        moves ? "shorten train.rollout"
        : info->F == 1 && info->V > 8
            ? "if they show a scene that moves, import it with --as video; else learn pictures alone (gnn.graph=none, "
              "model.T=1, train.motion_steps=0, train.rollout=0, train.rollout_from=0)"
            : "too few to learn motion from, so leave it out, record more, or learn pictures alone "
              "(gnn.graph=none, model.T=1, train.motion_steps=0, train.rollout=0, train.rollout_from=0)");
}

static void warn_of_time_unit(const Config *config, double step, const Log *log) {
    char doubt[240];
    if (time_unit_doubt(step, doubt, sizeof doubt)) log_warning(log, "%s: %s", config->data.path, doubt);
}

static Status add_episodes(TrainData *data, const Log *log, Error *err) {
    bool actions = false;
    data->time_step = dataset_usual_step(data->dataset, true);
    for (int e = 0; e < dataset_episode_count(data->dataset); e++) {
        const EpisodeInfo *info = dataset_episode(data->dataset, e);
        if (info->split != SPLIT_TRAIN) continue;
        TrainEpisode *episode = &data->episodes[data->episode_count++];
        *episode = (TrainEpisode){.episode = e, .stride = 1};
        Status status = check_episode(data, info, err);
        if (status == STATUS_OK) status = choose_views(info, &data->config->data, episode, err);
        if (status != STATUS_OK) return status;
        actions |= info->A > 0;
    }
    if (data->episode_count == 0)
        return error_set(err, STATUS_BAD_INPUT, "%s: expected episodes with split \"train\", found none among %d",
                         data->config->data.path, dataset_episode_count(data->dataset));
    warn_of_time_unit(data->config, data->time_step, log);
    if (actions) log_warning(log, "the data have actions, which the model does not use");
    return STATUS_OK;
}

Status train_data_open(const Config *config, Ranks *ranks, const Log *log, TrainData *out, Error *err) {
    *out = (TrainData){.config = config, .ranks = ranks};
    ranks_share(ranks, (size_t)config->train.batch, &out->first, &out->end);
    if (!config->data.path[0])
        return error_set(err, STATUS_BAD_INPUT,
                         "data.path: expected an HDF5 file or a folder of them, found nothing; set it in the config or "
                         "with --set data.path=FILE");
    Status status = ranks_first_begin(ranks, err); // rank 0 writes the index of many files
    if (status == STATUS_OK) status = dataset_open(config->data.path, &out->dataset, err);
    if (status == STATUS_OK) status = ranks_first_end(ranks, err);
    if (status != STATUS_OK) return status;
    const DatasetInfo *info = dataset_info(out->dataset);
    if (info->index && !info->index[0])
        log_warning(log, "no index of the %d files could be kept, so each start reads all of them (%s)",
                    info->file_count, info->index_missing);
    out->episodes = calloc((size_t)dataset_episode_count(out->dataset) + 1, sizeof *out->episodes);
    status =
        out->episodes ? add_episodes(out, log, err) : error_set(err, STATUS_FAILED, "out of memory for the episodes");
    if (status != STATUS_OK) train_data_close(out);
    return status;
}

void train_data_set_step(TrainData *data, double step) {
    long intervals = intervals_needed(data->config, schedule_longest_rollout(&data->config->train));
    for (int i = 0; i < data->episode_count; i++) {
        TrainEpisode *episode = &data->episodes[i];
        episode->stride = episode_stride(dataset_episode(data->dataset, episode->episode), step, intervals);
    }
}

void train_data_close(TrainData *data) {
    loader_close(data->loader);
    for (int i = 0; data->episodes && i < data->episode_count; i++) {
        free(data->episodes[i].views);
        free(data->episodes[i].input_views);
        free(data->episodes[i].changes);
    }
    free(data->episodes);
    dataset_close(data->dataset);
    *data = (TrainData){0};
}

// ---- how much moves

static size_t changed_pixels(const Frames *frames, int f, double threshold) {
    size_t image = (size_t)frames->V * (size_t)frames->H * (size_t)frames->W, count = 0;
    const float *a = frames->depth + image * (size_t)f, *b = a + image;
    for (size_t i = 0; i < image; i++) count += a[i] > 0 && b[i] > 0 && fabs((double)a[i] - (double)b[i]) > threshold;
    return count;
}

// Fills episode->changes, reading a few frames at a time.
static Status count_changes(const TrainData *data, TrainEpisode *episode, Error *err) {
    enum { CHUNK = 16 };
    int F = dataset_episode(data->dataset, episode->episode)->F;
    Status status = STATUS_OK;
    for (int first = 0; first + 1 < F && status == STATUS_OK; first += CHUNK - 1) {
        FrameRequest request = {.episode = episode->episode,
                                .first = first,
                                .count = F - first < CHUNK ? F - first : CHUNK,
                                .views = episode->views,
                                .view_count = episode->view_count};
        Frames frames = {0};
        status = dataset_read_frames(data->dataset, request, &frames, err);
        for (int f = 0; f + 1 < request.count && status == STATUS_OK; f++)
            episode->changes[first + f + 1] =
                episode->changes[first + f] + (double)changed_pixels(&frames, f, data->config->gnn.moving_threshold);
        frames_free(&frames);
    }
    if (F > 0) episode->changes[F] = episode->changes[F - 1];
    return status;
}

static size_t frames_of(const TrainData *data, const TrainEpisode *episode) {
    return (size_t)dataset_episode(data->dataset, episode->episode)->F;
}

// Tells all ranks what each has counted: the others have zeros there.
static Status share_changes(TrainData *data, Error *err) {
    size_t count = 0, at = 0;
    Status status = STATUS_OK;
    for (int e = 0; e < data->episode_count; e++) count += frames_of(data, &data->episodes[e]) + 1;
    double *all = malloc(count * sizeof *all);
    if (!all) return error_set(err, STATUS_FAILED, "out of memory for %zu frames", count);
    for (int pass = 0; pass < 2 && status == STATUS_OK; pass++, at = 0) {
        for (int e = 0; e < data->episode_count; e++) {
            size_t frames = frames_of(data, &data->episodes[e]) + 1;
            double *own = data->episodes[e].changes;
            memcpy(pass ? own : all + at, pass ? all + at : own, frames * sizeof *all);
            at += frames;
        }
        if (pass == 0) status = ranks_sum(data->ranks, all, count, err);
    }
    free(all);
    return status;
}

Status train_data_count_changes(TrainData *data, const Log *log, Error *err) {
    Progress progress;
    Status status = STATUS_OK;
    size_t first, end;
    if (!(data->config->train.busy_starts > 0)) return STATUS_OK;
    ranks_share(data->ranks, (size_t)data->episode_count, &first, &end);
    progress_start(&progress, log, "look for changes", "episodes", 0, end - first);
    for (size_t e = 0; e < (size_t)data->episode_count && status == STATUS_OK; e++) {
        TrainEpisode *episode = &data->episodes[e];
        episode->changes = calloc(frames_of(data, episode) + 1, sizeof *episode->changes);
        if (!episode->changes) return error_set(err, STATUS_FAILED, "out of memory for the frames of an episode");
        if (e < first || e >= end) continue;
        status = count_changes(data, episode, err);
        progress_update(&progress, e + 1 - first, NULL);
    }
    if (status == STATUS_OK) progress_end(&progress, NULL);
    return status == STATUS_OK && data->ranks ? share_changes(data, err) : status;
}

// ---- the stream

// The start frame at a given share of the total weight (episode->changes); if all weights are 0, the result is `even`.
static int weighted_start(const TrainData *data, const TrainEpisode *episode, int starts, double share, int even) {
    const double *from = episode->changes + (data->config->model.T - 1) * episode->stride;
    double at = from[0] + share * (from[starts] - from[0]);
    int start = 0;
    if (!(from[starts] > from[0])) return even;
    while (start + 1 < starts && from[start + 1] <= at) start++;
    return start;
}

// Episode and start frame of an item of this rank's stream, drawn with its step and its place in the batch as random
// key.
static const TrainEpisode *item_episode(const TrainData *data, uint64_t index, int *first, long *rollout) {
    const TrainConfig *train = &data->config->train;
    uint64_t own = data->end - data->first, step = index / own;
    Random4 random =
        random4((RandomKey){(uint32_t)train->seed, RANDOM_EPISODE, (uint32_t)step, 0}, data->first + index % own);
    const TrainEpisode *episode = &data->episodes[((uint64_t)random.v[0] * (uint64_t)data->episode_count) >> 32];
    *rollout = schedule_rollout(train, (long)step);
    int starts = dataset_episode(data->dataset, episode->episode)->F -
                 (int)intervals_needed(data->config, *rollout) * episode->stride;
    *first = (int)(((uint64_t)random.v[1] * (uint64_t)starts) >> 32);
    double which = (double)random_to_unit(random.v[2]), share = (double)random_to_unit(random.v[3]);
    if (episode->changes && 1 - which < train->busy_starts)
        *first = weighted_start(data, episode, starts, share, *first);
    return episode;
}

static bool next_request(void *owner, uint64_t index, FrameRequest *request) {
    const TrainData *data = owner;
    uint64_t own = data->end - data->first; // 0 where steps without pictures have more ranks than the batch episodes
    if (own == 0 || index / own >= (uint64_t)data->config->train.steps) return false;
    int first;
    long rollout;
    const TrainEpisode *episode = item_episode(data, index, &first, &rollout);
    *request = (FrameRequest){.episode = episode->episode,
                              .first = first,
                              .count = (int)(data->config->model.T + rollout),
                              .stride = episode->stride,
                              .views = episode->views,
                              .view_count = episode->view_count};
    return true;
}

Status train_data_start(TrainData *data, long step, Error *err) {
    const DataConfig *config = &data->config->data;
    int batch = (int)(data->end - data->first);
    LoaderOptions options = {.threads = (int)config->threads,
                             .prefetch = (int)config->threads + batch,
                             .held = batch,
                             .cache_bytes = (size_t)(config->cache_mib * (1 << 20)),
                             .first_index = (uint64_t)step * (data->end - data->first),
                             .source = next_request,
                             .owner = data};
    loader_close(data->loader);
    data->loader = NULL;
    return loader_open(data->dataset, options, &data->loader, err);
}

static int compare_episodes(const void *a, const void *b) {
    return ((const TrainEpisode *)a)->episode - ((const TrainEpisode *)b)->episode;
}

Status train_data_next(TrainData *data, const Frames **frames, const TrainEpisode **episode, Error *err) {
    double begun = clock_now();
    Status status = loader_next(data->loader, frames, err);
    data->waited += clock_now() - begun;
    if (status != STATUS_OK) return status;
    CHECK(*frames);
    const TrainEpisode key = {.episode = (*frames)->episode};
    *episode = bsearch(&key, data->episodes, (size_t)data->episode_count, sizeof key, compare_episodes);
    return STATUS_OK;
}

Status train_data_samples(const TrainData *data, int count, Frames *out, Error *err) {
    Status status = STATUS_OK;
    for (int i = 0; i < count && status == STATUS_OK; i++) {
        const TrainEpisode *episode = &data->episodes[(int64_t)i * data->episode_count / count];
        FrameRequest request = {.episode = episode->episode,
                                .count = (int)data->config->model.T,
                                .stride = episode->stride,
                                .views = episode->views,
                                .view_count = episode->view_count};
        status = dataset_read_frames(data->dataset, request, &out[i], err);
    }
    return status;
}
