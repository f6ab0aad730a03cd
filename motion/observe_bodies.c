// SPDX-License-Identifier: Apache-2.0
#include "motion/observe_bodies.h"

#include "motion/bodies.h"
#include "motion/hidden.h"
#include "motion/light.h"
#include "motion/mirror.h"
#include "nn/choose.h"

#include <string.h>

enum { LIGHT_POINTS = 16384 }; // by which a light is searched

// Points that stand still, those with the smallest keys.
static size_t choose_still(const PointCloud *now, RandomKey key, Keyed *items) {
    size_t count = 0;
    for (size_t i = 0; i < now->count; i++)
        if (!(now->moving[i] > 0)) items[count++] = (Keyed){choose_key(key, (uint64_t)i), (int32_t)i};
    choose_sort(items, count);
    return count < MOTION_STILL_POINTS ? count : MOTION_STILL_POINTS;
}

// Of `points` points, those of the bodies from number `first` on with the smallest keys; of each body the same number
// at most.
static size_t choose_resting(size_t points, const int32_t *body, int32_t first, RandomKey key, Keyed *items) {
    size_t of[BODIES_RESTING] = {0}, bodies = 0, count = 0, chosen = 0;
    for (size_t i = 0; i < points; i++) {
        if (body[i] < first) continue;
        items[count++] = (Keyed){choose_key(key, (uint64_t)i), (int32_t)i};
        bodies += of[body[i] - first]++ == 0;
    }
    choose_sort(items, count);
    memset(of, 0, sizeof of);
    for (size_t k = 0; k < count; k++)
        if (of[body[items[k].index] - first]++ < MOTION_RESTING_POINTS / bodies) items[chosen++] = items[k];
    return chosen;
}

// Behind the others. Those from number `seen` on are of no body.
static Status add_still(const PointCloud *now, const int32_t *body, size_t seen, const Keyed *items, size_t count,
                        MotionField *field, Error *err) {
    MotionField all;
    size_t moving = field->count;
    Status status = motion_field_create(moving + count, &all, err);
    if (status != STATUS_OK) return status;
    motion_field_put(field, &all);
    for (size_t i = 0; i < count; i++) {
        size_t from = (size_t)items[i].index, to = moving + i;
        memcpy(all.position + 3 * to, now->position + 3 * from, 3 * sizeof *all.position);
        memcpy(all.colour + 3 * to, now->colour + 3 * from, 3 * sizeof *all.colour);
        all.body[to] = from < seen ? (real)body[from] : -1;
    }
    motion_field_free(field);
    *field = all;
    return STATUS_OK;
}

// Points of bodies at rest, and of what stands still: hidden points too, which leave the frame again.
static Status add_resting(Tape *tape, const MotionOptions *o, RandomKey key, const Observation *observation,
                          PointCloud *now, const int32_t *body, int32_t first, MotionField *field, Error *err) {
    Hidden hidden;
    Status status = hidden_add(tape, observation, o->crop, o->extent, now, &hidden, err);
    if (status != STATUS_OK) return status;
    Keyed *items = tape_context(tape, (now->count + 1) * sizeof *items);
    if (!items) return device_status(tape->device, err);
    size_t count = choose_still(now, key, items);
    count += choose_resting(hidden.first, body, first, key, items + count);
    status = add_still(now, body, hidden.first, items, count, field, err);
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

// The frame's points with the smallest keys, in their order.
static LightScene light_scene(Tape *tape, const PointCloud *now, RandomKey key, const Bodies *bodies,
                              const int32_t *body) {
    size_t all = now->count, count = all < LIGHT_POINTS ? all : LIGHT_POINTS;
    Keyed *items = tape_context(tape, (all + 1) * sizeof *items);
    real *x = tape_context(tape, (9 * count + 1) * sizeof *x);
    int32_t *of = tape_context(tape, (2 * count + 1) * sizeof *of);
    if (tape->device->failed) return (LightScene){0};
    for (size_t i = 0; i < all; i++) items[i] = (Keyed){choose_key(key, (uint64_t)i), (int32_t)i};
    choose_sort(items, all);
    for (size_t k = 0; k < count; k++) {
        size_t i = (size_t)items[k].index;
        memcpy(x + 3 * k, now->position + 3 * i, 3 * sizeof *x);
        memcpy(x + 6 * count + 3 * k, now->colour + 3 * i, 3 * sizeof *x);
        of[k] = body[i], of[count + k] = now->pixel[i];
    }
    place_before(bodies, of, x, count, x + 3 * count);
    return (LightScene){{count, x, of}, x + 3 * count, x + 6 * count, of + count};
}

static Status find_light(Tape *tape, const Observation *observation, RandomKey key, const PointCloud *now,
                         const Bodies *bodies, const int32_t *body, double light[3], Error *err) {
    LightScene scene = light_scene(tape, now, key, bodies, body);
    double way[3];
    if (!tape->device->failed && light_find(tape, observation, &scene, way)) memcpy(light, way, sizeof way);
    return device_status(tape->device, err);
}

Status observe_bodies(Tape *tape, const MotionOptions *o, RandomKey key, const Observation *observation,
                      PointCloud *now, const PointCloud *past, MotionSeen *seen, Error *err) {
    MotionField *field = &seen->field;
    int32_t *body = tape_context(tape, (now->count + 1) * sizeof *body); // of each point of the frame
    BodyLengths lengths = {o->extent, o->colour_length};
    Bodies bodies = {0};
    if (!body) return device_status(tape->device, err);
    Status status = bodies_find(field, lengths, &bodies, err);
    if (status == STATUS_OK) status = bodies_register(field, now, past, lengths, &bodies, body, err);
    for (size_t i = 0; i < now->count && status == STATUS_OK; i++) now->moving[i] = body[i] >= 0;
    if (status == STATUS_OK)
        status = add_resting(tape, o, key, observation, now, body, (int32_t)bodies.count, field, err);
    if (status == STATUS_OK) bodies_put(&bodies, field);
    if (status == STATUS_OK) status = mirror_add(observation, now, body, o->extent, field, err);
    if (status == STATUS_OK) status = find_light(tape, observation, key, now, &bodies, body, seen->light, err);
    bodies_free(&bodies);
    return status;
}
