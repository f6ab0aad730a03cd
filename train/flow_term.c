// SPDX-License-Identifier: Apache-2.0
#include "train/flow_term.h"

#include "base/check.h"
#include "base/random.h"
#include "gnn/backend.h"
#include "gnn/flow.h"
#include "gnn/plan_ops.h"
#include "nn/backend.h"
#include "nn/reduce.h"

#include <stdlib.h>
#include <string.h>

enum { VOTERS = 8, TRACK_NEIGHBOURS = 4, FIELD_REALS = 18 };

void flow_cache_free(FlowCache *cache) {
    for (size_t i = 0; cache->fields && i < FLOW_ENTRIES; i++) free(cache->fields[i].x);
    free(cache->fields);
    point_cloud_free(&cache->now);
    point_cloud_free(&cache->before);
    point_cloud_free(&cache->next);
    *cache = (FlowCache){0};
}

// ---- the field of one frame

typedef struct Making {
    Tape *tape;
    const Vpd *model;
    FlowCache *cache;
    FlowField *field;
    const FlowFrame *frame;
} Making;

// Points of the frame with two flags: whether the pixel changes to the frame before, and to the next.
static Status unproject_neighbours(const Making *m, Error *err) {
    const Observation *o = m->frame->frames;
    size_t image = (size_t)o->V * (size_t)o->H * (size_t)o->W, j = (size_t)m->frame->index;
    Observation from = *o;
    from.turn = NULL;
    from.F = 2;
    UnprojectOptions options = {m->model->config.data.crop, m->model->config.gnn.moving_threshold};
    Status status = STATUS_OK;
    for (size_t pair = 0; pair < 2 && status == STATUS_OK; pair++) {
        size_t first = j - 1 + pair;
        from.rgb = o->rgb + 3 * image * first;
        from.depth = o->depth + image * first;
        from.world_from_camera = o->world_from_camera + 16 * (size_t)o->V * first;
        if (pair == 0) status = unproject_frame(&from, 1, options, &m->cache->before, err);
        else status = unproject_frame(&from, 0, options, &m->cache->now, err);
        if (pair == 1 && status == STATUS_OK) status = unproject_frame(&from, 1, options, &m->cache->next, err);
    }
    return status;
}

// Points that changed, or did not, up to FLOW_PIXELS of smallest keys.
static size_t choose_points(const Making *m, bool changed, Keyed *items) {
    const PointCloud *now = &m->cache->now, *before = &m->cache->before;
    RandomKey key = {(uint32_t)m->model->config.train.seed, RANDOM_FLOW, (uint32_t)m->field->of.frame,
                     (uint32_t)m->field->of.episode};
    size_t found = 0;
    for (size_t i = 0; i < now->count; i++)
        if ((now->moving[i] > 0 || before->moving[i] > 0) == changed)
            items[found++] = (Keyed){choose_key(key, (uint64_t)now->pixel[i]), (int32_t)i};
    choose_sort(items, found);
    return found < FLOW_PIXELS ? found : FLOW_PIXELS;
}

static GnnPoints upload_points(Tape *tape, size_t count, const real *x, const real *c) {
    return (GnnPoints){count, tape_upload(tape, x, 3 * count, sizeof *x), tape_upload(tape, c, 3 * count, sizeof *c)};
}

// Every point that changed either way, and (1 or 0) x 3 whether it changed both ways.
static GnnPoints list_voters(const Making *m, const real **ballots) {
    const PointCloud *now = &m->cache->now, *before = &m->cache->before;
    real *x = tape_context(m->tape, (9 * now->count + 1) * sizeof *x);
    *ballots = NULL;
    if (!x) return (GnnPoints){0};
    real *c = x + 3 * now->count, *ballot = c + 3 * now->count;
    size_t count = 0;
    for (size_t i = 0; i < now->count; i++) {
        if (!(now->moving[i] > 0 || before->moving[i] > 0)) continue;
        memcpy(x + 3 * count, now->position + 3 * i, 3 * sizeof *x);
        memcpy(c + 3 * count, now->colour + 3 * i, 3 * sizeof *c);
        for (size_t d = 0; d < 3; d++) ballot[3 * count + d] = now->moving[i] * before->moving[i];
        count++;
    }
    *ballots = tape_upload(m->tape, ballot, 3 * count, sizeof *ballot);
    return upload_points(m->tape, count, x, c);
}

// Flow at the first `changed` points of the field; the others stay at 0, and so do those of which most of the nearest did not change both ways:
// floor that a body left, or will cover, changes in one direction of time alone.
static void measure_flow(const Making *m, size_t changed) {
    Device *device = m->tape->device;
    real colour_length = (real)m->model->config.gnn.colour_length;
    ArenaMark mark = arena_mark(&device->scratch);
    const real *ballots;
    GnnPoints queries = upload_points(m->tape, changed, m->field->x, m->field->c), voters = list_voters(m, &ballots);
    real *shares = device_scratch(device, 3 * changed + 1), *u = device_scratch(device, 3 * changed + 1),
         *g = device_scratch(device, 9 * changed + 1), *host = tape_context(m->tape, (3 * changed + 1) * sizeof *host);
    flow_at(device, &(GnnFlow){voters, ballots, NULL}, &queries, colour_length, VOTERS, shares);
    flow_between(device, &(FlowArgs){.queries = queries,
                                     .from = points_of_cloud(m->tape, &m->cache->now),
                                     .to = points_of_cloud(m->tape, &m->cache->next),
                                     .from_moving = moving_points_of_cloud(m->tape, m->model, &m->cache->now),
                                     .to_moving = moving_points_of_cloud(m->tape, m->model, &m->cache->next),
                                     .colour_length = colour_length,
                                     .extent = (real)m->model->config.data.extent,
                                     .rigid = true,
                                     .u = u,
                                     .g = g});
    if (!device->failed) {
        device->nn->download(device, host, shares, 3 * changed * sizeof *host);
        device->nn->download(device, m->field->u, u, 3 * changed * sizeof *u);
        device->nn->download(device, m->field->g, g, 9 * changed * sizeof *g);
        for (size_t i = 0; i < changed; i++) {
            if (host[3 * i] >= (real)0.5) continue;
            memset(m->field->u + 3 * i, 0, 3 * sizeof *u);
            memset(m->field->g + 9 * i, 0, 9 * sizeof *g);
        }
    }
    arena_release(&device->scratch, mark);
}

static Status make_field(const Making *m, Error *err) {
    Status status = unproject_neighbours(m, err);
    if (status != STATUS_OK) return status;
    const PointCloud *now = &m->cache->now;
    Keyed *items = tape_context(m->tape, (now->count + 1) * sizeof *items);
    FlowField *field = m->field;
    real *memory = malloc(FIELD_REALS * 2 * FLOW_PIXELS * sizeof *memory);
    if (!items || !memory) {
        free(memory);
        return error_set(err, STATUS_FAILED, "out of memory for the flow of a frame");
    }
    free(field->x);
    field->x = memory;
    field->c = field->x + 3 * 2 * FLOW_PIXELS;
    field->u = field->c + 3 * 2 * FLOW_PIXELS;
    field->g = field->u + 3 * 2 * FLOW_PIXELS;
    memset(field->u, 0, 12 * 2 * FLOW_PIXELS * sizeof *field->u);
    field->count = 0;
    size_t changed = 0; // these come first
    for (int still = 0; still < 2; still++) {
        size_t count = choose_points(m, !still, items);
        for (size_t i = 0; i < count; i++, field->count++) {
            size_t from = (size_t)items[i].index;
            memcpy(field->x + 3 * field->count, now->position + 3 * from, 3 * sizeof *memory);
            memcpy(field->c + 3 * field->count, now->colour + 3 * from, 3 * sizeof *memory);
        }
        if (!still) changed = count;
    }
    if (changed > 0) measure_flow(m, changed);
    return device_status(m->tape->device, err);
}

static Status find_field(Tape *tape, const Vpd *model, const FlowFrame *frame, FlowCache *cache, const FlowField **out, Error *err) {
    VideoFrame of = {frame->first.episode, frame->first.frame + frame->index * frame->first.stride, frame->first.stride};
    if (!cache->fields) cache->fields = calloc(FLOW_ENTRIES, sizeof *cache->fields);
    if (!cache->fields) return error_set(err, STATUS_FAILED, "out of memory for scene flow");
    uint32_t hash = ((uint32_t)of.episode * 0x9E3779B1u + (uint32_t)of.frame * 0x85EBCA77u) >> 16;
    FlowField *field = &cache->fields[hash % FLOW_ENTRIES];
    *out = field;
    if (field->known && field->of.episode == of.episode && field->of.frame == of.frame && field->of.stride == of.stride)
        return STATUS_OK;
    field->of = of;
    Making making = {tape, model, cache, field, frame};
    Status status = make_field(&making, err);
    field->known = status == STATUS_OK;
    return status;
}

// ---- the term

static const real *turned(Tape *tape, const Observation *o, const real *rows, size_t count) {
    real *out = tape_context(tape, (3 * count + 1) * sizeof *out);
    for (size_t i = 0; out && i < count; i++) {
        double q[3];
        observation_turn(o, (double[3]){(double)rows[3 * i], (double)rows[3 * i + 1], (double)rows[3 * i + 2]}, q);
        for (size_t c = 0; c < 3; c++) out[3 * i + c] = (real)q[c];
    }
    return tape_upload(tape, out, 3 * count, sizeof *out);
}

// R g R' of each gradient, R the turn.
static const real *turned_gradients(Tape *tape, const Observation *o, const real *g, size_t count) {
    real *out = tape_context(tape, (9 * count + 1) * sizeof *out);
    double axis[3][3]; // where the turn takes x, y and z
    for (int c = 0; c < 3; c++) observation_turn(o, (double[3]){c == 0, c == 1, c == 2}, axis[c]);
    for (size_t i = 0; out && i < 9 * count; i++) {
        double sum = 0;
        for (size_t j = 0; j < 9; j++) sum += axis[j / 3][i % 9 / 3] * (double)g[i - i % 9 + j] * axis[j % 3][i % 3];
        out[i] = (real)sum;
    }
    return tape_upload(tape, out, 9 * count, sizeof *out);
}

// The present particles before this step are the last set but one.
static void start_track(Tape *tape, const Scene *scene, FlowTrack *track) {
    const Tensor *x = scene->sets.set[scene->sets.count - 2].x;
    track->y = tape_memory(tape, 3 * x->rows, sizeof *track->y);
    if (!tape->device->failed) tape->device->nn->copy(tape->device, track->y, x->value, 3 * x->rows * sizeof *track->y);
}

static void move_track(Tape *tape, const Vpd *model, const Scene *scene, const FlowFrame *frame, const FlowField *field, FlowTrack *track) {
    Device *device = tape->device;
    ArenaMark mark = arena_mark(&device->scratch);
    const GnnSet *present = &scene->sets.set[scene->sets.count - 1];
    size_t N = present->x->rows, count = field->count;
    GnnPoints points = {count, turned(tape, frame->frames, field->x, count), tape_upload(tape, field->c, 3 * count, sizeof(real))};
    GnnFlow flow = {points, turned(tape, frame->frames, field->u, count), turned_gradients(tape, frame->frames, field->g, count)};
    real *u = device_scratch(device, 3 * N + 1);
    flow_at(device, &flow, &(GnnPoints){N, track->y, present->c}, (real)model->config.gnn.colour_length,
            TRACK_NEIGHBOURS, u);
    if (!device->failed) device->gnn->plan_add(device, &(PlanAddArgs){3 * N, track->y, u, 1, track->y});
    arena_release(&device->scratch, mark);
}

// 1 / (their number) for moving particles, and likewise for the others.
static const real *weights_of(Tape *tape, const Vpd *model, const Scene *scene, size_t N) {
    real *weight = tape_context(tape, (N + 1) * sizeof *weight);
    size_t count[2] = {0};
    bool flags = model->config.gnn.moving_flag == 2;
    for (size_t i = 0; i < N; i++) count[!flags || scene->moving[i] > 0]++;
    for (size_t i = 0; weight && i < N; i++) weight[i] = 1 / (real)count[!flags || scene->moving[i] > 0];
    return tape_upload(tape, weight, N, sizeof *weight);
}

Status flow_term(Tape *tape, const Vpd *model, const Scene *scene, const FlowFrame *frame, FlowCache *cache, FlowTrack *track,
                 Tensor **out, Error *err) {
    const Config *c = &model->config;
    const FlowField *field;
    Tensor *x = scene->sets.set[scene->sets.count - 1].x;
    CHECK(frame->index > 0 && frame->index + 1 < frame->frames->F);
    Status status = find_field(tape, model, frame, cache, &field, err);
    if (status != STATUS_OK) return status;
    if (!track->y) start_track(tape, scene, track);
    move_track(tape, model, scene, frame, field, track);
    // The track goes on moving; the loss keeps what it is now.
    real *target = tape_memory(tape, 3 * x->rows, sizeof *target);
    if (!tape->device->failed) tape->device->nn->copy(tape->device, target, track->y, 3 * x->rows * sizeof *target);
    *out = reduce_huber(tape, x, target, weights_of(tape, model, scene, x->rows), 0.01 * c->data.extent,
                        1 / c->gnn.displacement_scale);
    return device_status(tape->device, err);
}
