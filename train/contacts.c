// SPDX-License-Identifier: Apache-2.0
#include "train/contacts.h"

#include "base/progress.h"

#include <stdlib.h>

enum { CHUNK = 16 };

static bool moves(const real *u) { return u[0] != 0 || u[1] != 0 || u[2] != 0; }

// |a + b - c|^2; b may be NULL.
static double square_off(const real *a, const real *b, const real *c) {
    double sum = 0;
    for (int d = 0; d < 3; d++) {
        double e = (double)a[d] + (b ? (double)b[d] : 0) - (double)c[d];
        sum += e * e;
    }
    return sum;
}

double contacts_between(const FlowField *before, const FlowField *now) {
    double sum = 0;
    for (size_t i = 0; i < now->count; i++) {
        const real *x = now->x + 3 * i, *u = now->u + 3 * i;
        double least = INFINITY, change = 0;
        for (size_t j = 0; moves(u) && j < before->count; j++) {
            const real *was = before->u + 3 * j;
            double far = moves(was) ? square_off(before->x + 3 * j, was, x) : INFINITY;
            if (far >= least) continue;
            least = far;
            change = square_off(u, NULL, was);
        }
        sum += change;
    }
    return sum;
}

typedef struct Measuring {
    TrainData *data;
    Tape *tape;
    const Vpd *model;
    FlowCache *cache;
} Measuring;

// Weights of the presents among `count` frames read from `first` on, all but the first two and the last.
static Status measure_chunk(const Measuring *m, TrainEpisode *episode, int first, int count, Error *err) {
    int stride = (int)m->data->config->data.stride;
    FrameRequest request = {.episode = episode->episode,
                            .first = first,
                            .count = count,
                            .stride = stride,
                            .views = episode->views,
                            .view_count = episode->view_count};
    Frames frames = {0};
    const FlowField *before = NULL, *now = NULL;
    Status status = dataset_read_frames(m->data->dataset, request, &frames, err);
    Observation o = observation_of(m->data->dataset, &frames);
    for (int i = 1; i + 1 < count && status == STATUS_OK; i++, before = now) {
        FlowFrame frame = {&o, i, {episode->episode, first, stride}};
        tape_reset(m->tape);
        arena_reset(&m->tape->device->scratch);
        status = flow_to_next(m->tape, m->model, &frame, m->cache, &now, err);
        if (status == STATUS_OK && before && before != now)
            episode->contacts[first + i * stride + 1] = contacts_between(before, now);
    }
    frames_free(&frames);
    return status;
}

static Status measure_episode(const Measuring *m, TrainEpisode *episode, Error *err) {
    int F = dataset_episode(m->data->dataset, episode->episode)->F, stride = (int)m->data->config->data.stride;
    Status status = STATUS_OK;
    episode->contacts = calloc((size_t)F + 1, sizeof *episode->contacts);
    if (!episode->contacts) return error_set(err, STATUS_FAILED, "out of memory for %d frames", F);
    for (int lane = 0; lane < stride; lane++) { // chunks overlap by what the next one needs to go on
        int there = lane < F ? (F - 1 - lane) / stride + 1 : 0;
        for (int from = 0; from + 3 < there && status == STATUS_OK; from += CHUNK - 3) {
            int count = there - from < CHUNK ? there - from : CHUNK;
            status = measure_chunk(m, episode, lane + from * stride, count, err);
        }
    }
    for (int f = 0; f < F; f++) episode->contacts[f + 1] += episode->contacts[f];
    return status;
}

Status contacts_measure(TrainData *data, Tape *tape, const Vpd *model, FlowCache *cache, const Log *log, Error *err) {
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
