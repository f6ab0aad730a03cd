// SPDX-License-Identifier: Apache-2.0
#include "motion/observe_bodies.h"

#include "motion/bodies.h"
#include "motion/hidden.h"
#include "motion/light.h"
#include "motion/mirror.h"
#include "nn/choose.h"

#include <string.h>

enum { LIGHT_POINTS = 16384 }; // by which a light is searched

// Of each point of the last frame.
typedef struct Labels {
    int32_t *body; // or -1
    bool *flagged; // before bodies were found
} Labels;

// Room for the field's points that stand still, and those of bodies that follow.
typedef struct Chosen {
    size_t count;
    int32_t point[MOTION_STILL_POINTS + MOTION_BODY_POINTS];
} Chosen;

// All of `count` points, sorted by their keys; NULL if memory is short.
static const Keyed *sort_points(Tape *tape, RandomKey key, size_t count) {
    Keyed *items = tape_context(tape, (count + 1) * sizeof *items);
    for (size_t i = 0; items && i < count; i++) items[i] = (Keyed){choose_key(key, (uint64_t)i), (int32_t)i};
    if (items) choose_sort(items, count);
    return items;
}

// Points that stand still, those with the smallest keys.
static void choose_still(const PointCloud *now, const Keyed *sorted, Chosen *out) {
    for (size_t k = 0; k < now->count && out->count < MOTION_STILL_POINTS; k++)
        if (!(now->moving[sorted[k].index] > 0)) out->point[out->count++] = sorted[k].index;
}

// How many points of the field each of `count` bodies has, of which those that move come first.
static size_t *count_points(Tape *tape, const Bodies *moving, size_t count) {
    size_t *have = tape_context(tape, (count + 1) * sizeof *have);
    for (size_t k = 0; have && k < count; k++) have[k] = 0;
    for (size_t i = 0; have && i < moving->points; i++)
        if (moving->body[i] >= 0) have[moving->body[i]]++;
    return have;
}

// Of the first `seen` points, those of bodies with the smallest keys, until each body has the same number in the field.
// Those with a flag and the smallest keys are there already.
static Status choose_of_bodies(Tape *tape, const PointCloud *now, const Keyed *sorted, size_t seen,
                               const Labels *labels, const Bodies *moving, Chosen *out, Error *err) {
    const int32_t *body = labels->body;
    size_t bodies = moving->count, room = out->count + MOTION_BODY_POINTS, there = 0;
    for (size_t i = 0; i < seen; i++)
        if (body[i] >= 0 && (size_t)body[i] >= bodies) bodies = (size_t)body[i] + 1;
    size_t *have = count_points(tape, moving, bodies);
    if (!have) return device_status(tape->device, err);
    for (size_t k = 0; k < now->count && out->count < room; k++) {
        size_t i = (size_t)sorted[k].index;
        if (i >= seen || (labels->flagged[i] && there++ < moving->points) || body[i] < 0) continue;
        if (have[body[i]]++ < MOTION_BODY_POINTS / bodies) out->point[out->count++] = sorted[k].index;
    }
    return STATUS_OK;
}

// Behind the field's points. Those from number `seen` on are of no body.
static Status add_chosen(const PointCloud *now, const int32_t *body, size_t seen, const Chosen *chosen,
                         MotionField *field, Error *err) {
    MotionField all;
    size_t moving = field->count;
    Status status = motion_field_create(moving + chosen->count, &all, err);
    if (status != STATUS_OK) return status;
    motion_field_put(field, &all);
    for (size_t i = 0; i < chosen->count; i++) {
        size_t from = (size_t)chosen->point[i], to = moving + i;
        point_cloud_get(now, from, all.position + 3 * to, all.colour + 3 * to);
        all.body[to] = from < seen ? (real)body[from] : -1;
    }
    motion_field_free(field);
    *field = all;
    return STATUS_OK;
}

// Points of bodies, and of what stands still: hidden points too, which leave the frame again. *sorted: all of these
// points.
static Status add_points(Tape *tape, const MotionOptions *o, RandomKey key, const Observation *observation,
                         PointCloud *now, const Labels *labels, const Bodies *moving, const Keyed **sorted,
                         MotionField *field, Error *err) {
    Hidden hidden;
    Chosen chosen = {0};
    Status status = hidden_add(tape, 1, &observation, o->crop, o->extent, now, &hidden, err);
    if (status != STATUS_OK) return status;
    *sorted = sort_points(tape, key, now->count);
    if (!*sorted) return device_status(tape->device, err);
    choose_still(now, *sorted, &chosen);
    status = choose_of_bodies(tape, now, *sorted, hidden.first, labels, moving, &chosen, err);
    if (status == STATUS_OK) status = add_chosen(now, labels->body, hidden.first, &chosen, field, err);
    now->count = hidden.first;
    return status;
}

// Where each of `count` points was in the frame before.
static void place_before(const Bodies *bodies, const int32_t *body, const real *x, size_t count, real *before) {
    memcpy(before, x, 3 * count * sizeof *x);
    for (size_t i = 0; i < count; i++) {
        double at[3];
        if (body[i] < 0 || (size_t)body[i] >= bodies->count) continue; // it stands, or rests
        body_place_before(&bodies->list[body[i]], x + 3 * i, at);
        for (size_t c = 0; c < 3; c++) before[3 * i + c] = (real)at[c];
    }
}

// The frame's points that come first in `sorted`, which may hold others too.
static LightScene light_scene(Tape *tape, const PointCloud *now, const Keyed *sorted, const Bodies *bodies,
                              const int32_t *body) {
    size_t count = now->count < LIGHT_POINTS ? now->count : LIGHT_POINTS;
    real *x = tape_context(tape, (9 * count + 1) * sizeof *x);
    int32_t *of = tape_context(tape, (2 * count + 1) * sizeof *of);
    if (tape->device->failed) return (LightScene){0};
    for (size_t k = 0; k < count; sorted++) {
        size_t i = (size_t)sorted->index;
        if (i >= now->count) continue;
        point_cloud_get(now, i, x + 3 * k, x + 6 * count + 3 * k);
        of[k] = body[i], of[count + k++] = now->pixel[i];
    }
    place_before(bodies, of, x, count, x + 3 * count);
    return (LightScene){{count, x, of}, x + 3 * count, x + 6 * count, of + count};
}

static Status find_light(Tape *tape, const Observation *observation, const PointCloud *now, const Keyed *sorted,
                         const Bodies *bodies, const int32_t *body, double light[3], Error *err) {
    LightScene scene = light_scene(tape, now, sorted, bodies, body);
    double way[3];
    if (!tape->device->failed && light_find(tape, observation, &scene, way)) memcpy(light, way, sizeof way);
    return device_status(tape->device, err);
}

Status observe_bodies(Tape *tape, const MotionOptions *o, RandomKey key, const Observation *observation,
                      PointCloud *now, const PointCloud *past, MotionSeen *seen, Error *err) {
    MotionField *field = &seen->field;
    Labels labels = {tape_context(tape, (now->count + 1) * sizeof *labels.body),
                     tape_context(tape, (now->count + 1) * sizeof *labels.flagged)};
    int32_t *body = labels.body;
    BodyLengths lengths = {o->extent, o->colour_length};
    Bodies bodies = {0};
    const Keyed *sorted = NULL;
    if (!body || !labels.flagged) return device_status(tape->device, err);
    for (size_t i = 0; i < now->count; i++) labels.flagged[i] = now->moving[i] > 0;
    Status status = bodies_find(field, lengths, &bodies, err);
    if (status == STATUS_OK) status = bodies_register(field, now, past, lengths, &bodies, body, err);
    for (size_t i = 0; i < now->count && status == STATUS_OK; i++) now->moving[i] = body[i] >= 0;
    if (status == STATUS_OK) status = add_points(tape, o, key, observation, now, &labels, &bodies, &sorted, field, err);
    if (status == STATUS_OK) bodies_put(&bodies, field);
    if (status == STATUS_OK) status = mirror_add(observation, now, body, o->extent, field, err);
    if (status == STATUS_OK) status = find_light(tape, observation, now, sorted, &bodies, body, seen->light, err);
    bodies_free(&bodies);
    return status;
}
