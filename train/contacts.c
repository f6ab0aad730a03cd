// SPDX-License-Identifier: Apache-2.0
#include "train/contacts.h"

#include "base/progress.h"

#include <stdlib.h>

enum { CHUNK = 16 };

static bool moves(const real *u) { return u[0] != 0 || u[1] != 0 || u[2] != 0; }

// |a + b - c|^2; b may be NULL.
static double square_error(const real *a, const real *b, const real *c) {
    double sum = 0;
    for (int d = 0; d < 3; d++) {
        double e = (double)a[d] + (b ? (double)b[d] : 0) - (double)c[d];
        sum += e * e;
    }
    return sum;
}

double contacts_between(const MotionField *before, const MotionField *now) {
    double sum = 0;
    for (size_t i = 0; i < now->count; i++) {
        const real *x = now->position + 3 * i, *u = now->motion + 3 * i;
        double least = INFINITY, change = 0;
        for (size_t j = 0; moves(u) && j < before->count; j++) {
            const real *was = before->motion + 3 * j;
            double distance = moves(was) ? square_error(before->position + 3 * j, was, x) : INFINITY;
            if (distance >= least) continue;
            least = distance;
            change = square_error(u, NULL, was);
        }
        sum += change;
    }
    return sum;
}

typedef struct Measuring {
    TrainData *data;
    Tape *tape;
    const Vpd *model;
    MotionCache *cache;
} Measuring;

// Consecutive frames of an episode, read only if the motion of one is not in the cache.
typedef struct Chunk {
    FrameRequest request;
    Frames frames;
    Observation observation;
} Chunk;

static Status read_chunk(const Measuring *m, Chunk *chunk, Error *err) {
    if (chunk->frames.F) return STATUS_OK;
    Status status = dataset_read_frames(m->data->dataset, chunk->request, &chunk->frames, err);
    chunk->observation = frames_observation(&chunk->frames);
    return status;
}

// The motion from frame i of the chunk to the next, from the cache or measured.
static Status next_motion(const Measuring *m, Chunk *chunk, int i, MotionField *out, Error *err) {
    const FrameRequest *r = &chunk->request;
    MotionFrame frame = {&chunk->observation, i, {r->episode, r->first, r->stride}};
    VideoFrame of = {r->episode, r->first + i * r->stride, r->stride};
    MotionField found;
    Status status = STATUS_OK;
    if (!motion_cache_find_next(m->cache, of, &found)) {
        tape_reset(m->tape);
        arena_reset(&m->tape->device->scratch);
        status = read_chunk(m, chunk, err);
        if (status == STATUS_OK) status = motion_cache_measure_next(m->cache, m->tape, m->model, &frame, &found, err);
    }
    // copied, because the cache keeps only its last record
    return status == STATUS_OK ? motion_field_copy(&found, out, err) : status;
}

// Weights of the start frames among `count` frames from `first` on: all but the first two and the last.
static Status measure_chunk(const Measuring *m, TrainEpisode *episode, int first, int count, Error *err) {
    int stride = (int)m->data->config->data.stride;
    Chunk chunk = {.request = {.episode = episode->episode,
                               .first = first,
                               .count = count,
                               .stride = stride,
                               .views = episode->views,
                               .view_count = episode->view_count}};
    MotionField before = {0}, now = {0};
    Status status = STATUS_OK;
    for (int i = 1; i + 1 < count && status == STATUS_OK; i++) {
        motion_field_free(&before);
        before = now, now = (MotionField){0};
        status = next_motion(m, &chunk, i, &now, err);
        if (status == STATUS_OK && i > 1) episode->contacts[first + i * stride + 1] = contacts_between(&before, &now);
    }
    motion_field_free(&before);
    motion_field_free(&now);
    frames_free(&chunk.frames);
    return status;
}

static Status measure_episode(const Measuring *m, TrainEpisode *episode, Error *err) {
    int F = dataset_episode(m->data->dataset, episode->episode)->F, stride = (int)m->data->config->data.stride;
    Status status = STATUS_OK;
    episode->contacts = calloc((size_t)F + 1, sizeof *episode->contacts);
    if (!episode->contacts) return error_set(err, STATUS_FAILED, "out of memory for %d frames", F);
    for (int lane = 0; lane < stride; lane++) { // chunks overlap by 3 frames, because a weight needs 2 motions
        int there = lane < F ? (F - 1 - lane) / stride + 1 : 0;
        for (int from = 0; from + 3 < there && status == STATUS_OK; from += CHUNK - 3) {
            int count = there - from < CHUNK ? there - from : CHUNK;
            status = measure_chunk(m, episode, lane + from * stride, count, err);
        }
    }
    for (int f = 0; f < F; f++) episode->contacts[f + 1] += episode->contacts[f];
    return status;
}

Status contacts_measure(TrainData *data, Tape *tape, const Vpd *model, MotionCache *cache, const Log *log, Error *err) {
    Measuring m = {data, tape, model, cache};
    Status status = STATUS_OK;
    if (!(data->config->train.contact_starts > 0)) return STATUS_OK;
    Progress progress;
    progress_start(&progress, log, "scene flow", "episodes", 0, (size_t)data->episode_count);
    for (int e = 0; e < data->episode_count && status == STATUS_OK; e++) {
        status = measure_episode(&m, &data->episodes[e], err);
        progress_update(&progress, (size_t)e + 1, NULL);
    }
    progress_end(&progress, NULL);
    return status;
}
