// SPDX-License-Identifier: Apache-2.0
// Windows of training episodes, from their motion fields.
#include "base/progress.h"
#include "base/stop.h"
#include "train/schedule.h"
#include "train/windows.h"

#include <stdlib.h>

// Frames that are read at a time; episodes that threads share; how far, as a share of the extent, a point may be from
// a node whose motion it gives, nodes are from a rigid motion in a body that bends, a body goes that rests, and the
// motion of an object may be from that of a body seen.
enum { CHUNK = 16, TOGETHER = 64 };
#define REACH 0.04
#define STIFF 0.005
#define STILL 0.0005
#define ALIKE 0.01

// ---- the motion fields of an episode

typedef struct Reading {
    const WindowSource *source;
    Tape *tape; // of the thread
    const TrainEpisode *episode;
    int F, T, stride;
    int *views; // (episode->input_view_count) in the episode
    Frames frames;
    int first; // frame of the data set that is frame 0 of `frames`
} Reading;

// Input views of frames first, first + stride, ..
static Status read_chunk(Reading *r, int first, Error *err) {
    int there = (r->F - 1 - first) / r->stride + 1;
    FrameRequest request = {.episode = r->episode->episode,
                            .first = first,
                            .count = there < CHUNK + r->T ? there : CHUNK + r->T,
                            .stride = r->stride,
                            .views = r->views,
                            .view_count = r->episode->input_view_count};
    frames_free(&r->frames);
    r->first = first;
    return dataset_read_frames(r->source->data->dataset, request, &r->frames, err);
}

// The history whose last frame is `frame`, reading ahead if it is not in memory.
static Status read_history(Reading *r, int frame, Observation *out, Error *err) {
    int oldest = frame - (r->T - 1) * r->stride, index = (oldest - r->first) / r->stride;
    bool there =
        r->frames.F && oldest >= r->first && (oldest - r->first) % r->stride == 0 && index + r->T <= r->frames.F;
    Status status = there ? STATUS_OK : read_chunk(r, oldest, err);
    if (status != STATUS_OK) return status;
    *out = frames_observation(&r->frames);
    size_t skip = (size_t)(oldest - r->first) / (size_t)r->stride * (size_t)out->V,
           pixels = (size_t)out->H * (size_t)out->W;
    out->F = r->T;
    out->rgb += 3 * pixels * skip;
    out->depth += pixels * skip;
    out->world_from_camera += 16 * skip;
    return STATUS_OK;
}

// The data set and the cache serve one thread at a time. The cache's field is copied, because it keeps only its last
// record.
static bool find_field(const WindowSource *s, VideoFrame present, MotionField *out, Status *status, Error *err) {
    const MotionSeen *seen = NULL;
    bool found;
#pragma omp critical(windows_source)
    {
        found = motion_cache_find_seen(s->cache, present, &seen);
        if (found) *status = motion_field_copy(&seen->field, out, err);
    }
    return found;
}

static Status measure_field(Reading *r, VideoFrame present, MotionField *out, Error *err) {
    Observation history;
    MotionSeen seen = {0};
    Status status;
#pragma omp critical(windows_source)
    status = read_history(r, present.frame, &history, err);
    tape_reset(r->tape);
    arena_reset(&r->tape->device->scratch);
    if (status == STATUS_OK) status = vpd_observe(r->tape, r->source->model, &history, &seen, err);
    if (status == STATUS_OK) {
#pragma omp critical(windows_source)
        status = motion_cache_keep_seen(r->source->cache, present, &seen, err);
    }
    if (status == STATUS_OK) status = motion_field_copy(&seen.field, out, err);
    motion_seen_free(&seen);
    return status;
}

static Status read_field(Reading *r, int frame, MotionField *out, Error *err) {
    VideoFrame present = {r->episode->episode, frame, r->stride};
    Status status = STATUS_OK;
    return find_field(r->source, present, out, &status, err) ? status : measure_field(r, present, out, err);
}

// field (F): those of the frames before the first history stay {0}.
static Status read_fields(const WindowSource *source, Tape *tape, const TrainEpisode *episode, MotionField *field,
                          Error *err) {
    Reading r = {.source = source,
                 .tape = tape,
                 .episode = episode,
                 .F = dataset_episode(source->data->dataset, episode->episode)->F,
                 .T = (int)source->model->config.model.T,
                 .stride = episode->stride};
    r.views = malloc((size_t)episode->input_view_count * sizeof *r.views);
    Status status = r.views ? STATUS_OK : error_set(err, STATUS_FAILED, "out of memory for the views of an episode");
    for (int i = 0; r.views && i < episode->input_view_count; i++) r.views[i] = episode->views[episode->input_views[i]];
    for (int lane = 0; lane < r.stride && lane < r.F; lane++)
        for (int f = lane + (r.T - 1) * r.stride; f < r.F && status == STATUS_OK; f += r.stride) {
            status = stop_requested() ? stop_error(err) : read_field(&r, f, &field[f], err);
            if (status == STATUS_BAD_INPUT)
                status = error_prefix(err, "%s:/episodes/%s, frame %d",
                                      dataset_episode(source->data->dataset, episode->episode)->file,
                                      dataset_episode(source->data->dataset, episode->episode)->name, f);
        }
    frames_free(&r.frames);
    free(r.views);
    return status;
}

// ---- tracks of episodes

// What the states of the data say of the bodies in the video (train.labels).
typedef struct StatesSeen {
    int known, strange;     // bodies that move as an object does, and those that do not
    int objects, plain;     // videos of objects that were seen to move, and of these those whose turning was not
    char first[POSES_TEXT]; // the first of the latter
} StatesSeen;

static void states_add(StatesSeen *sum, const StatesSeen *more) {
    if (more->strange && !sum->strange) snprintf(sum->first, sizeof sum->first, "%s", more->first);
    sum->known += more->known, sum->strange += more->strange;
    sum->objects += more->objects, sum->plain += more->plain;
}

// An episode on its way from fields to tracks.
typedef struct Item {
    int F;
    MotionField *field; // (F)
    Tracks tracks;
    StatesSeen states;
    Status status;
    Error error;
} Item;

static void item_free_fields(Item *item) {
    for (int f = 0; item->field && f < item->F; f++) motion_field_free(&item->field[f]);
    free(item->field);
    item->field = NULL;
}

static Status item_read(Item *item, const WindowSource *source, Tape *tape, int e) {
    const TrainEpisode *episode = &source->data->episodes[e];
    item->F = dataset_episode(source->data->dataset, episode->episode)->F;
    item->field = calloc((size_t)item->F + 1, sizeof *item->field);
    if (!item->field) return error_set(&item->error, STATUS_FAILED, "out of memory for %d frames", item->F);
    return read_fields(source, tape, episode, item->field, &item->error);
}

// Frames of a stride are videos of their own.
static void item_track(Item *item, const TrackOptions *asked, const Poses *states) {
    int stride = states->stride;
    for (int lane = 0; lane < stride && item->status == STATUS_OK; lane++) {
        Poses poses = *states;
        TrackOptions options = *asked;
        poses.first = lane;
        if (poses.episode) options.poses = &poses;
        int frames = lane < item->F ? (item->F - 1 - lane) / stride + 1 : 0;
        MotionField *field = malloc(((size_t)frames + 1) * sizeof *field);
        for (int f = 0; field && f < frames; f++) field[f] = item->field[lane + f * stride];
        item->status = field ? tracks_add_video(&item->tracks, &options, frames, field, &item->error)
                             : error_set(&item->error, STATUS_FAILED, "out of memory for %d frames", frames);
        if (item->status == STATUS_OK && options.poses) item->status = poses_check(&poses, &item->error);
        StatesSeen seen = {
            .known = poses.known, .strange = poses.strange, .objects = poses.objects, .plain = poses.plain};
        if (poses.strange) poses_tell(&poses, seen.first, sizeof seen.first);
        states_add(&item->states, &seen);
        free(field);
    }
}

static void item_label(Item *item, const TrackOptions *options, const WindowSource *source, int e) {
    const Config *c = &source->model->config;
    int stride = source->data->episodes[e].stride;
    const EpisodeInfo *episode = dataset_episode(source->data->dataset, source->data->episodes[e].episode);
    Poses states = {.stride = stride, .tolerance = ALIKE * c->data.extent};
    if (c->train.labels == LABELS_STATES) states.episode = episode;
    if (states.episode && !episode->object_position)
        item->status = error_set(&item->error, STATUS_BAD_INPUT,
                                 "%s:/episodes/%s: expected state/object_position for train.labels=states, found none; "
                                 "set train.labels=video",
                                 episode->file, episode->name);
    else item_track(item, options, &states);
    double scale = vpd_scale(source->model, episode->time_step * stride);
    if (item->status == STATUS_OK && scale != 1) tracks_scale(&item->tracks, (real)scale);
}

// How far a loop of threads is.
typedef struct Made {
    Progress *progress;
    size_t done;
} Made;

// A thread's share. Most of a measurement is host code of one thread, so each thread measures frames of its own, with
// a device of its own.
static void make_items(Item *item, const WindowSource *source, const TrackOptions *options, int first, int count,
                       Made *made) {
    Device *device = NULL;
    Tape tape;
    Error error = {0};
    Status opened = device_open("cpu", 1, &device, &error);
    if (opened == STATUS_OK) tape_init(&tape, device);
#pragma omp for schedule(dynamic)
    for (int i = 0; i < count; i++) {
        item[i].status = opened;
        item[i].error = error;
        if (opened == STATUS_OK) item[i].status = item_read(&item[i], source, &tape, first + i);
        if (item[i].status == STATUS_OK && options) item_label(&item[i], options, source, first + i);
        item_free_fields(&item[i]);
#pragma omp critical(windows_source)
        progress_update(made->progress, ++made->done, NULL);
    }
    if (opened == STATUS_OK) tape_free(&tape);
    device_close(device);
}

// Episodes first .. first + count - 1; without options only their motion fields. What they give does not depend on the
// number of threads.
static Status make_some(Tracks *tracks, StatesSeen *states, const WindowSource *source, const TrackOptions *options,
                        int first, int count, Progress *progress, Error *err) {
    Item item[TOGETHER] = {{0}};
    Status status = STATUS_OK;
    Made made = {progress, (size_t)first};
#pragma omp parallel num_threads(source->threads < count ? source->threads : count)
    make_items(item, source, options, first, count, &made);
    for (int i = 0; i < count && status == STATUS_OK; i++)
        if (item[i].status != STATUS_OK) status = error_set(err, item[i].status, "%s", item[i].error.text);
        else if (options) status = tracks_append(tracks, &item[i].tracks, err);
    for (int i = 0; i < count; i++) {
        states_add(states, &item[i].states);
        tracks_free(&item[i].tracks);
    }
    return status;
}

Status windows_measure(const WindowSource *source, Error *err) {
    StatesSeen none = {0};
    size_t first, end;
    Progress progress;
    Status status = STATUS_OK;
    ranks_share(source->data->ranks, (size_t)source->data->episode_count, &first, &end);
    progress_start(&progress, source->log, "scene flow", "episodes", first, end);
    for (size_t at = first; at < end && status == STATUS_OK; at += TOGETHER)
        status = make_some(NULL, &none, source, NULL, (int)at, (int)(end - at < TOGETHER ? end - at : TOGETHER),
                           &progress, err);
    progress_end(&progress, NULL);
    return status == STATUS_OK ? ranks_barrier(source->data->ranks, err) : status;
}

// Windows in which a body that moves is followed for `steps` steps.
static size_t count_long(const Tracks *t, int steps) {
    size_t count = 0;
    for (size_t w = 0; w < t->set.windows; w++) {
        bool found = false;
        for (size_t b = t->set.first_body[w]; b < t->set.first_body[w + 1]; b++)
            found = found || (tracks_moves(t, b) && t->steps[b] >= steps);
        count += found;
    }
    return count;
}

// Bodies of all windows.
typedef struct Counts {
    size_t moving, lost, resting; // of those that move, `lost` are not followed at all
    int longest;                  // steps for which one that moves is followed
} Counts;

static Counts count_bodies(const Tracks *t) {
    Counts c = {0};
    for (size_t b = 0; b < t->set.bodies; b++) {
        bool moves = tracks_moves(t, b);
        c.moving += moves, c.resting += !moves;
        c.lost += moves && t->steps[b] == 0;
        if (moves && t->steps[b] > c.longest) c.longest = t->steps[b];
    }
    return c;
}

// Bodies at rest alone teach no motion, and each rollout needs a window in which something moves.
static Status check(const Tracks *t, const Counts *count, const WindowSource *source, Error *err) {
    const Config *c = &source->model->config;
    if (!count->moving)
        return error_set(
            err, STATUS_BAD_INPUT,
            "%s: expected moving bodies, found none in any frame of the training episodes (%d); lower "
            "gnn.moving_threshold (now %.3g m) if bodies move less than that in a frame, or learn pictures "
            "alone (train.motion_steps=0)",
            c->data.path, source->data->episode_count, c->gnn.moving_threshold);
    if (count->longest == t->longest) return STATUS_OK;
    return error_set(err, STATUS_BAD_INPUT,
                     "%s: expected bodies that can be followed for %d frames (the longest train.rollout), found at "
                     "most %d where something moves; shorten train.rollout, or record more frames a second",
                     c->data.path, t->longest, count->longest);
}

static void tell(const Windows *w, const Counts *count, const Log *log) {
    const Tracks *t = &w->tracks;
    log_note(log,
             "windows: %zu, of which %zu are followed for %d steps; bodies in them: %zu moving (%zu lost at "
             "once), %zu at rest",
             t->set.windows, w->with[t->longest], t->longest, count->moving, count->lost, count->resting);
}

// Some bodies are always none of the objects: two that touch and were found as one, a shadow, pieces.
static void tell_states(const StatesSeen *states, const Log *log) {
    enum { PERCENT = 10 };
    int bodies = states->known + states->strange;
    if (2 * states->plain > states->objects)
        log_warning(
            log,
            "%d of %d videos of objects do not show the turning of the states, so their targets do not turn; unless "
            "most are balls of one colour, check state/object_quaternion",
            states->plain, states->objects);
    if (!states->strange) return;
    if (100 * states->strange > PERCENT * bodies)
        log_warning(log, "%d of %d bodies are left out, because the states contradict the video; %s", states->strange,
                    bodies, states->first);
    else
        log_note(log, "%d of %d bodies are left out, because they move as no object of state/* does", states->strange,
                 bodies);
}

Status windows_make(Windows *w, const WindowSource *source, Error *err) {
    const Config *c = &source->model->config;
    TrackOptions options = {.longest = (int)schedule_longest_rollout(&c->train),
                            .colour_length = c->gnn.colour_length,
                            .reach = REACH * c->data.extent,
                            .stiff = STIFF * c->data.extent,
                            .still = STILL * c->data.extent};
    int episodes = source->data->episode_count;
    StatesSeen states = {0};
    Progress progress;
    Status status = STATUS_OK;
    if (options.longest < 1)
        return error_set(err, STATUS_BAD_INPUT, "train.rollout: expected a step or more, found none");
    w->tracks.longest = options.longest;
    w->scales = vpd_body_scales(source->model);
    progress_start(&progress, source->log, "scene flow", "episodes", 0, (size_t)episodes);
    int together = source->enough == SIZE_MAX ? TOGETHER : 1;
    for (int first = 0; first < episodes && status == STATUS_OK; first += together) {
        int count = episodes - first < together ? episodes - first : together;
        status = make_some(&w->tracks, &states, source, &options, first, count, &progress, err);
        w->episodes = first + count;
        if (source->enough != SIZE_MAX && count_long(&w->tracks, options.longest) >= source->enough) break;
    }
    progress_end(&progress, NULL);
    if (status == STATUS_OK) status = windows_sort(w, err);
    const Counts count = count_bodies(&w->tracks);
    if (status == STATUS_OK) status = check(&w->tracks, &count, source, err);
    if (status == STATUS_OK) tell(w, &count, source->log);
    if (status == STATUS_OK) tell_states(&states, source->log);
    return status;
}
