// SPDX-License-Identifier: Apache-2.0
#include "train/windows.h"

#include "base/array.h"
#include "base/random.h"
#include "nn/backend.h"
#include "nn/reduce.h"
#include "train/turn.h"

#include <stdlib.h>
#include <string.h>

// The loss is quadratic below this share of BodyScales.step, and linear above.
#define HUBER 0.2

void windows_free(Windows *w) {
    tracks_free(&w->tracks);
    free(w->order);
    free(w->with);
    body_set_free(&w->set);
    body_inputs_free(&w->inputs);
    free(w->drawn);
    free(w->source);
    free(w->motion);
    free(w->driven);
    free(w->drive);
    *w = (Windows){0};
}

static Status out_of_memory(Error *err) { return error_set(err, STATUS_FAILED, "out of memory for windows"); }

// ---- drawing

Status windows_sort(Windows *w, Error *err) {
    const Tracks *t = &w->tracks;
    size_t steps = (size_t)t->longest, at = 0;
    free(w->order);
    free(w->with);
    w->order = malloc((t->set.windows + 1) * sizeof *w->order);
    w->with = calloc(steps + 1, sizeof *w->with);
    if (!w->order || !w->with) return out_of_memory(err);
    for (size_t k = steps + 1; k-- > 0;) {
        for (size_t i = 0; i < t->set.windows; i++)
            if ((size_t)tracks_steps(t, i) == k) w->order[at++] = (uint32_t)i;
        w->with[k] = at;
    }
    return STATUS_OK;
}

static Status reserve_drawn(Windows *w, size_t count, Error *err) {
    if (count <= w->drawn_room) return STATUS_OK;
    if (!array_grow(&w->drawn, count, sizeof *w->drawn)) return out_of_memory(err);
    w->drawn_room = count;
    return STATUS_OK;
}

// In half of the windows each body is driven or not, at random; not where all of them would be.
static void draw_driven(Windows *w, size_t of, Random4 random) {
    size_t first = w->set.first_body[of], end = w->set.first_body[of + 1], driven = 0;
    for (size_t b = first; b < end; b++) driven += w->driven[b] = random.v[0] & random.v[1] >> (b - first) % 32 & 1;
    for (size_t b = first; b < end && driven == end - first; b++) w->driven[b] = false;
}

Status windows_draw(Windows *w, const TrainConfig *train, const Ranks *ranks, int threads, long step, long rollout,
                    Error *err) {
    static const double still[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    RandomKey key = {(uint32_t)train->seed, RANDOM_EPISODE, (uint32_t)step, 0}, flight = key;
    size_t first, end;
    flight.purpose = RANDOM_FLIGHT;
    ranks_share(ranks, (size_t)train->windows, &first, &end);
    Status status = reserve_drawn(w, end - first, err);
    if (status != STATUS_OK) return status;
#pragma omp parallel for schedule(dynamic) num_threads(threads) if (end - first > 1)
    for (size_t b = first; b < end; b++) {
        DrawnWindow *drawn = &w->drawn[b - first];
        drawn->index = w->order[random_below(key, (uint64_t)b, (uint32_t)w->with[rollout])];
        memcpy(drawn->turn, still, sizeof still);
        windows_push(w, drawn->index, rollout, random4(flight, (uint64_t)b), drawn->push);
        if (train->turn != TURN_NONE) turn_at_random(train, step, 0, (uint64_t)b, drawn->turn);
    }
    status = windows_fill(w, end - first, threads, err);
    key.purpose = RANDOM_DRIVEN;
    for (size_t b = first; b < end && status == STATUS_OK; b++) draw_driven(w, b - first, random4(key, (uint64_t)b));
    w->total = (size_t)train->windows;
    return status;
}

// ---- a batch

static void turn_point(const double turn[9], const real *x, real *y) {
    for (int c = 0; c < 3; c++)
        y[c] = (real)(turn[3 * c] * (double)x[0] + turn[3 * c + 1] * (double)x[1] + turn[3 * c + 2] * (double)x[2]);
}

static Status reserve_bodies(Windows *w, size_t bodies, Error *err) {
    if (bodies <= w->body_room) return STATUS_OK;
    if (!array_grow(&w->source, 2 * bodies, sizeof *w->source) ||
        !array_grow(&w->motion, 2 * bodies, sizeof *w->motion) ||
        !array_grow(&w->driven, 2 * bodies, sizeof *w->driven) || !array_grow(&w->drive, 2 * bodies, sizeof *w->drive))
        return out_of_memory(err);
    w->body_room = 2 * bodies;
    return STATUS_OK;
}

// A body of the tracks, whose points are not filled in.
static Status add_body(Windows *w, size_t from, Error *err) {
    const BodySet *all = &w->tracks.set;
    size_t count = all->first_node[from + 1] - all->first_node[from], row, body = w->set.bodies;
    Status status = body_set_add_body(&w->set, count, &row, err);
    if (status == STATUS_OK)
        status = body_set_add_hull(&w->set, all->first_hull[from + 1] - all->first_hull[from],
                                   all->hull + 3 * all->first_hull[from], err);
    if (status == STATUS_OK) status = reserve_bodies(w, w->set.bodies, err);
    if (status == STATUS_OK) w->source[body] = from, w->driven[body] = false;
    return status;
}

static Status add_window(Windows *w, size_t from, Error *err) {
    const BodySet *all = &w->tracks.set;
    Status status = body_set_add_window(&w->set, err);
    for (size_t b = all->first_body[from]; b < all->first_body[from + 1] && status == STATUS_OK; b++)
        status = add_body(w, b, err);
    for (size_t p = all->first_patch[from]; p < all->first_patch[from + 1] && status == STATUS_OK; p++)
        status = body_set_add_patch(&w->set, all->patch[p], err);
    return status;
}

static void turn_body(Windows *w, const DrawnWindow *drawn, size_t b) {
    const BodySet *all = &w->tracks.set;
    size_t first = all->first_node[w->source[b]];
    for (size_t i = w->set.first_node[b]; i < w->set.first_node[b + 1]; i++, first++) {
        real before[3];
        for (size_t c = 0; c < 3; c++) before[c] = (real)((double)all->before[3 * first + c] - drawn->push[c]);
        turn_point(drawn->turn, before, w->set.before + 3 * i);
        turn_point(drawn->turn, all->now + 3 * first, w->set.now + 3 * i);
        turn_point(drawn->turn, all->normal + 3 * first, w->set.normal + 3 * i);
    }
    first = all->first_hull[w->source[b]];
    for (size_t i = w->set.first_hull[b]; i < w->set.first_hull[b + 1]; i++, first++)
        turn_point(drawn->turn, all->hull + 3 * first, w->set.hull + 3 * i);
}

static void turn_window(Windows *w, size_t of) {
    const DrawnWindow *drawn = &w->drawn[of];
    const SurfacePatch *patch = w->tracks.set.patch + w->tracks.set.first_patch[drawn->index];
    for (size_t b = w->set.first_body[of]; b < w->set.first_body[of + 1]; b++) turn_body(w, drawn, b);
    for (size_t p = w->set.first_patch[of]; p < w->set.first_patch[of + 1]; p++, patch++) {
        turn_point(drawn->turn, patch->position, w->set.patch[p].position);
        turn_point(drawn->turn, patch->normal, w->set.patch[p].normal);
    }
}

Status windows_fill(Windows *w, size_t count, int threads, Error *err) {
    Status status = STATUS_OK;
    body_set_clear(&w->set);
    w->total = count;
    for (size_t i = 0; i < count && status == STATUS_OK; i++) status = add_window(w, w->drawn[i].index, err);
    if (status != STATUS_OK) return status;
#pragma omp parallel for schedule(static) num_threads(threads) if (count > 1)
    for (size_t i = 0; i < count; i++) turn_window(w, i);
    return STATUS_OK;
}

// ---- the loss

// Where the video has node i of body b of window `of` after `step` steps.
static void place_in_video(const Windows *w, size_t of, size_t b, size_t step, size_t i, real y[3]) {
    const real *place = tracks_places(&w->tracks, w->source[b], step - 1) + 3 * (i - w->set.first_node[b]);
    real there[3];
    for (size_t c = 0; c < 3; c++) there[c] = (real)((double)place[c] + (double)step * w->drawn[of].push[c]);
    turn_point(w->drawn[of].turn, there, y);
}

static bool is_known(const Windows *w, size_t b, size_t step) { return (size_t)w->tracks.steps[w->source[b]] >= step; }

// The motions of driven bodies in step `step`. Where the video does not know them any more, they are free.
static Status drive_bodies(Windows *w, Tape *tape, size_t step, Error *err) {
    BodySet *set = &w->set;
    real *there = tape_context(tape, 3 * set->nodes * sizeof *there);
    if (!there) return device_status(tape->device, err);
    for (size_t of = 0; of < set->windows; of++)
        for (size_t b = set->first_body[of]; b < set->first_body[of + 1]; b++) {
            size_t first = set->first_node[b], end = set->first_node[b + 1];
            set->given[b] = NULL;
            if (!w->driven[b] || !is_known(w, b, step)) continue;
            for (size_t i = first; i < end; i++) place_in_video(w, of, b, step, i, there + 3 * i);
            w->drive[b] = rigid_motion_fit(end - first, set->now + 3 * first, there + 3 * first);
            set->given[b] = &w->drive[b];
        }
    return STATUS_OK;
}

// Where the video has the nodes of body b of window `of` after `step` steps, as the network should say it; a weight of
// 0 where that is not known, or given. Each window has the same share of the loss, and within it each body.
static void set_targets(const Windows *w, size_t of, size_t b, size_t step, real *target, real *weight) {
    const BodySet *set = &w->set;
    size_t first = set->first_node[b], count = set->first_node[b + 1] - first,
           bodies = set->first_body[of + 1] - set->first_body[of];
    bool learns = is_known(w, b, step) && !set->given[b];
    for (size_t i = first; i < first + count; i++) {
        real y[3];
        if (learns) place_in_video(w, of, b, step, i, y);
        for (size_t c = 0; c < 3; c++)
            target[3 * i + c] =
                learns ? (y[c] - set->now[3 * i + c] - w->inputs.carried[3 * i + c]) / w->scales.step : 0;
        weight[i] = learns ? (real)(1 / ((double)count * (double)bodies * (double)w->total)) : 0;
    }
}

static Tensor *loss_of(const Windows *w, Tape *tape, Tensor *output, size_t step, double scale) {
    const BodySet *set = &w->set;
    real *target = tape_context(tape, 3 * set->nodes * sizeof *target),
         *weight = tape_context(tape, set->nodes * sizeof *weight);
    if (!target || !weight) return NULL;
#pragma omp parallel for schedule(static) num_threads(tape->device->threads) if (set->windows > 1)
    for (size_t of = 0; of < set->windows; of++)
        for (size_t b = set->first_body[of]; b < set->first_body[of + 1]; b++)
            set_targets(w, of, b, step, target, weight);
    return reduce_huber(tape, output, tape_upload(tape, target, 3 * set->nodes, sizeof *target),
                        tape_upload(tape, weight, set->nodes, sizeof *weight), HUBER, scale);
}

// Metres that the nodes are sent by the last body_motions, on the average.
static double mean_displacement(const Windows *w) {
    double sum = 0;
    for (size_t i = 0; i < w->set.nodes; i++) {
        double square = 0;
        for (size_t c = 0; c < 3; c++) {
            double d = (double)(w->inputs.goal[3 * i + c] - w->set.now[3 * i + c]);
            square += d * d;
        }
        sum += sqrt(square);
    }
    return w->set.nodes ? sum / (double)w->set.nodes : 0;
}

// One step: gradients of its loss, and the bodies' motions. The tape's values are read before the backward pass, which
// may reuse their memory.
static Status learn_step(Windows *w, Tape *tape, const Vpd *model, size_t step, double scale, double *loss,
                         Error *err) {
    Device *device = tape->device;
    real value = 0;
    tape_reset(tape);
    Status status = drive_bodies(w, tape, step, err);
    if (status == STATUS_OK) status = body_inputs_make(&w->set, &w->scales, tape->device->threads, &w->inputs, err);
    if (status != STATUS_OK) return status;
    vpd_part(tape, VPD_DYNAMICS);
    Tensor *output = body_network_run(tape, &model->bodies, &w->set, &w->inputs),
           *sum = loss_of(w, tape, output, step, scale);
    real *host = tape_context(tape, 3 * w->set.nodes * sizeof *host);
    if (device->failed || !host || !sum) return device_status(device, err);
    device->nn->download(device, host, output->value, 3 * w->set.nodes * sizeof *host);
    device->nn->download(device, &value, sum->value, sizeof value);
    if (device->failed) return device_status(device, err);
    tape_backward(tape, sum); // a GPU works on it meanwhile
    body_motions(&w->set, &w->scales, device->threads, &w->inputs, host, w->motion);
    *loss += (double)value;
    return device_status(device, err);
}

Status windows_learn(Windows *w, Tape *tape, const Vpd *model, long rollout, LossParts *parts, Error *err) {
    double loss = 0;
    Status status = STATUS_OK;
    for (long k = 1; k <= rollout && status == STATUS_OK; k++) {
        tape->watch = k == rollout ? w->watch : NULL;
        status = learn_step(w, tape, model, (size_t)k, 1.0 / (double)rollout, &loss, err);
        if (status == STATUS_OK && k == rollout) parts->motion = mean_displacement(w);
        if (status == STATUS_OK && k < rollout) body_set_move(&w->set, tape->device->threads, w->motion);
    }
    tape->watch = NULL;
    parts->term[LOSS_BODIES] += loss;
    parts->total += loss;
    parts->particles = w->set.nodes;
    return status;
}
