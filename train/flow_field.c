// SPDX-License-Identifier: Apache-2.0
#include "train/flow_field.h"

#include "base/random.h"
#include "model/moving.h"
#include "model/scene_flow.h"
#include "nn/backend.h"

#include <stdlib.h>
#include <string.h>

enum { VOTERS = 8, FIELD_REALS = 18 };

static void free_fields(FlowField *fields) {
    for (size_t i = 0; fields && i < FLOW_ENTRIES; i++) {
        free(fields[i].x);
        for (size_t t = 0; t < 2; t++) free(fields[i].moving[t]);
    }
    free(fields);
}

void flow_cache_free(FlowCache *cache) {
    free_fields(cache->next);
    free_fields(cache->cue);
    for (int i = 0; i < FLOW_CLOUDS; i++) point_cloud_free(&cache->cloud[i]);
    *cache = (FlowCache){0};
}

// Room for `count` points, with no flow yet.
static Status field_reserve(FlowField *field, size_t count, Error *err) {
    real *memory = calloc(FIELD_REALS * count + 1, sizeof *memory);
    if (!memory) return error_set(err, STATUS_FAILED, "out of memory for the flow of a frame");
    free(field->x);
    field->count = count;
    field->x = memory;
    field->c = field->x + 3 * count;
    field->u = field->c + 3 * count;
    field->g = field->u + 3 * count;
    return STATUS_OK;
}

// Where the field of a frame is or goes; *found when it is there.
static Status find_slot(FlowField **fields, VideoFrame of, FlowField **out, bool *found, Error *err) {
    if (!*fields) *fields = calloc(FLOW_ENTRIES, sizeof **fields);
    if (!*fields) return error_set(err, STATUS_FAILED, "out of memory for scene flow");
    uint32_t hash = ((uint32_t)of.episode * 0x9E3779B1u + (uint32_t)of.frame * 0x85EBCA77u) >> 16;
    FlowField *field = *out = &(*fields)[hash % FLOW_ENTRIES];
    *found =
        field->known && field->of.episode == of.episode && field->of.frame == of.frame && field->of.stride == of.stride;
    field->known = *found;
    field->of = of;
    return STATUS_OK;
}

// ---- flow to the next frame

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
        if (pair == 0) status = unproject_frame(&from, 1, options, &m->cache->cloud[FLOW_BEFORE], err);
        else status = unproject_frame(&from, 0, options, &m->cache->cloud[FLOW_NOW], err);
        if (pair == 1 && status == STATUS_OK)
            status = unproject_frame(&from, 1, options, &m->cache->cloud[FLOW_NEXT], err);
    }
    return status;
}

// Points that changed, or did not, up to FLOW_PIXELS of smallest keys.
static size_t choose_points(const Making *m, bool changed, Keyed *items) {
    const PointCloud *now = &m->cache->cloud[FLOW_NOW], *before = &m->cache->cloud[FLOW_BEFORE];
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
    const PointCloud *now = &m->cache->cloud[FLOW_NOW], *before = &m->cache->cloud[FLOW_BEFORE];
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

// Flow at the first `changed` points of the field; the others stay at 0, and so do those of which most of the nearest
// did not change both ways: floor that a body left, or will cover, changes in one direction of time alone.
static void measure_flow(const Making *m, size_t changed) {
    Device *device = m->tape->device;
    real colour_length = (real)m->model->config.gnn.colour_length;
    ArenaMark mark = arena_mark(&device->scratch);
    const real *ballots;
    GnnPoints queries = upload_points(m->tape, changed, m->field->x, m->field->c), voters = list_voters(m, &ballots);
    real *shares = device_scratch(device, 3 * changed + 1), *u = device_scratch(device, 3 * changed + 1),
         *g = device_scratch(device, 9 * changed + 1), *host = tape_context(m->tape, (3 * changed + 1) * sizeof *host);
    flow_at(device, &(GnnFlow){voters, ballots, NULL}, &queries, colour_length, VOTERS, shares, NULL);
    moving_confirm(m->tape, m->model, &m->cache->cloud[FLOW_NOW]);
    moving_confirm(m->tape, m->model, &m->cache->cloud[FLOW_NEXT]);
    scene_flow(m->tape, m->model,
               &(SceneFlowArgs){&m->cache->cloud[FLOW_NOW], &m->cache->cloud[FLOW_NEXT], queries, true, u, g});
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
    const PointCloud *now = &m->cache->cloud[FLOW_NOW];
    Keyed *items[2] = {tape_context(m->tape, (now->count + 1) * sizeof **items),
                       tape_context(m->tape, (now->count + 1) * sizeof **items)};
    if (m->tape->device->failed) return device_status(m->tape->device, err);
    size_t changed = choose_points(m, true, items[0]), still = choose_points(m, false, items[1]);
    status = field_reserve(m->field, changed + still, err);
    if (status != STATUS_OK) return status;
    for (size_t i = 0; i < changed + still; i++) { // those that changed come first
        size_t from = (size_t)(i < changed ? items[0][i] : items[1][i - changed]).index;
        memcpy(m->field->x + 3 * i, now->position + 3 * from, 3 * sizeof(real));
        memcpy(m->field->c + 3 * i, now->colour + 3 * from, 3 * sizeof(real));
    }
    if (changed > 0) measure_flow(m, changed);
    return device_status(m->tape->device, err);
}

Status flow_to_next(Tape *tape, const Vpd *model, const FlowFrame *frame, FlowCache *cache, const FlowField **out,
                    Error *err) {
    VideoFrame of = {frame->first.episode, frame->first.frame + frame->index * frame->first.stride,
                     frame->first.stride};
    FlowField *field = NULL;
    bool found;
    Status status = find_slot(&cache->next, of, &field, &found, err);
    if (status == STATUS_OK && !found) {
        status = make_field(&(Making){tape, model, cache, field, frame}, err);
        field->known = status == STATUS_OK;
    }
    *out = field;
    return status;
}

// ---- the velocity cue

static Status make_cue(Tape *tape, const Vpd *model, const Observation *history, FlowCache *cache, FlowField *field,
                       Error *err) {
    Observation still = *history;
    still.turn = NULL;
    const Config *c = &model->config;
    UnprojectOptions options = {c->data.crop, c->gnn.moving_flag == 2 ? c->gnn.moving_threshold : 0};
    Status status = unproject_frame(&still, history->F - 1, options, &cache->cloud[FLOW_NOW], err);
    if (status == STATUS_OK) status = unproject_frame(&still, history->F - 2, options, &cache->cloud[FLOW_BEFORE], err);
    if (status != STATUS_OK) return status;
    moving_confirm(tape, model, &cache->cloud[FLOW_NOW]);
    moving_confirm(tape, model, &cache->cloud[FLOW_BEFORE]);
    for (int t = 0; t < 2; t++) {
        free(field->moving[t]);
        field->moving[t] = moving_pack(&cache->cloud[t == 0 ? FLOW_NOW : FLOW_BEFORE]);
        if (!field->moving[t]) return error_set(err, STATUS_FAILED, "out of memory for the flags of a frame");
    }
    GnnFlow cue = scene_cue(tape, model, &cache->cloud[FLOW_NOW], &cache->cloud[FLOW_BEFORE]);
    Device *device = tape->device;
    if (device->failed) return device_status(device, err);
    size_t count = cue.points.count;
    status = field_reserve(field, count, err);
    if (status != STATUS_OK) return status;
    device->nn->download(device, field->x, cue.points.x, 3 * count * sizeof(real));
    device->nn->download(device, field->c, cue.points.c, 3 * count * sizeof(real));
    device->nn->download(device, field->u, cue.u, 3 * count * sizeof(real));
    if (cue.g) device->nn->download(device, field->g, cue.g, 9 * count * sizeof(real));
    return device_status(device, err);
}

Status flow_cue(Tape *tape, const Vpd *model, const Observation *history, VideoFrame present, FlowCache *cache,
                GnnFlow *out, const uint8_t **moving, Error *err) {
    FlowField *field = NULL;
    bool found;
    Status status = find_slot(&cache->cue, present, &field, &found, err);
    if (status == STATUS_OK && !found) {
        status = make_cue(tape, model, history, cache, field, err);
        field->known = status == STATUS_OK;
    }
    if (status != STATUS_OK) return status;
    *out = flow_field_upload(tape, history, field);
    for (int t = 0; t < 2; t++) moving[history->F - 1 - t] = field->moving[t];
    return STATUS_OK;
}

// ---- on the device

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

GnnFlow flow_field_upload(Tape *tape, const Observation *o, const FlowField *field) {
    size_t count = field->count;
    GnnPoints points = {count, turned(tape, o, field->x, count), tape_upload(tape, field->c, 3 * count, sizeof(real))};
    return (GnnFlow){points, turned(tape, o, field->u, count), turned_gradients(tape, o, field->g, count)};
}
