// SPDX-License-Identifier: Apache-2.0
#include "motion/observe.h"

#include "motion/flags.h"
#include "motion/observe_bodies.h"
#include "nn/backend.h"
#include "nn/choose.h"

#include <stdlib.h>
#include <string.h>

// Largest number of flagged points whose motion is measured.
enum { SEEN_POINTS = 256 };

size_t motion_seen_points(void) {
    size_t of_bodies = SEEN_POINTS + MOTION_BODY_POINTS; // each may have a mirror image
    return 2 * of_bodies + MOTION_STILL_POINTS;
}

void motion_seen_free(MotionSeen *seen) {
    motion_field_free(&seen->field);
    free(seen->moving);
    *seen = (MotionSeen){0};
}

size_t motion_flag_bytes(const Observation *o) { return ((size_t)o->V * (size_t)o->H * (size_t)o->W + 7) / 8; }

// ---- points

// A subset of a cloud's points, in the tape's host memory.
typedef struct Picked {
    size_t count;
    int32_t *index;
} Picked;

static Picked pick_moving(Tape *tape, const PointCloud *cloud) {
    Picked out = {.index = tape_context(tape, (cloud->count + 1) * sizeof *out.index)};
    for (size_t i = 0; out.index && i < cloud->count; i++)
        if (cloud->moving[i] > 0) out.index[out.count++] = (int32_t)i;
    return out;
}

static FlowPoints upload_points(Tape *tape, size_t count, const real *x, const real *c) {
    return (FlowPoints){count, tape_upload(tape, x, 3 * count, sizeof *x), tape_upload(tape, c, 3 * count, sizeof *c)};
}

static FlowPoints upload_cloud(Tape *tape, const PointCloud *cloud) {
    return upload_points(tape, cloud->count, cloud->position, cloud->colour);
}

static FlowPoints upload_picked(Tape *tape, const PointCloud *cloud, const Picked *picked) {
    real *x = tape_context(tape, (6 * picked->count + 1) * sizeof *x);
    if (!x || !picked->index) return (FlowPoints){0};
    real *c = x + 3 * picked->count;
    for (size_t i = 0; i < picked->count; i++) point_cloud_get(cloud, (size_t)picked->index[i], x + 3 * i, c + 3 * i);
    return upload_points(tape, picked->count, x, c);
}

// ---- flow between clouds

// The motion at the points of a field, which is the reverse of the flow from their cloud back to the one before, both
// with corrected flags.
static Status measure(Tape *tape, const MotionOptions *o, const PointCloud *now, const PointCloud *past,
                      MotionField *field, Error *err) {
    Device *device = tape->device;
    size_t count = field->count;
    Picked from = pick_moving(tape, now), to = pick_moving(tape, past);
    real *found = tape_memory(tape, 12 * count + 1, sizeof *found),
         *host = tape_context(tape, (12 * count + 1) * sizeof *host);
    if (device->failed) return device_status(device, err);
    FlowArgs flow = {.queries = upload_points(tape, count, field->position, field->colour),
                     .from = upload_cloud(tape, now),
                     .to = upload_cloud(tape, past),
                     .from_moving = upload_picked(tape, now, &from),
                     .to_moving = upload_picked(tape, past, &to),
                     .colour_length = (real)o->colour_length,
                     .extent = (real)o->extent,
                     .u = found,
                     .g = found + 3 * count};
    ArenaMark mark = arena_mark(&device->scratch);
    flow_between(device, &flow);
    arena_release(&device->scratch, mark);
    size_t numbers = 12 * count;
    if (!device->failed) device->nn->download(device, host, found, numbers * sizeof *host);
    for (size_t i = 0; i < 3 * count; i++) field->motion[i] = -host[i];
    for (size_t i = 3 * count; i < numbers; i++) field->gradient[i - 3 * count] = -host[i];
    return device_status(device, err);
}

// ---- motion of an observation

// The points of a frame, with corrected flags.
static Status see_frame(Tape *tape, const MotionOptions *o, const Observation *observation, int frame,
                        PointCloud *cloud, Error *err) {
    UnprojectOptions options = {o->crop, o->moving_threshold};
    Status status = unproject_frame(observation, frame, options, cloud, err);
    if (status == STATUS_OK) flags_confirm(tape, o->colour_length, cloud);
    return status == STATUS_OK ? device_status(tape->device, err) : status;
}

static RandomKey seen_key(const MotionOptions *o) { return (RandomKey){o->seed, RANDOM_FLOW, 0, 0}; }

// Chooses the points with the smallest random keys.
static Status choose_points(Tape *tape, const MotionOptions *o, const PointCloud *now, MotionField *out, Error *err) {
    RandomKey key = seen_key(o);
    Keyed *items = tape_context(tape, (now->count + 1) * sizeof *items);
    size_t count = 0;
    if (!items) return device_status(tape->device, err);
    for (size_t i = 0; i < now->count; i++)
        if (now->moving[i] > 0) items[count++] = (Keyed){choose_key(key, (uint64_t)i), (int32_t)i};
    choose_sort(items, count);
    if (count > SEEN_POINTS) count = SEEN_POINTS;
    Status status = motion_field_create(count, out, err);
    for (size_t i = 0; i < count && status == STATUS_OK; i++)
        point_cloud_get(now, (size_t)items[i].index, out->position + 3 * i, out->colour + 3 * i);
    return status;
}

Status motion_from_clouds(Tape *tape, const MotionOptions *o, const PointCloud *now, const PointCloud *past,
                          MotionField *out, Error *err) {
    *out = (MotionField){0};
    Status status = choose_points(tape, o, now, out, err);
    if (status == STATUS_OK) status = measure(tape, o, now, past, out, err);
    if (status != STATUS_OK) motion_field_free(out);
    return status;
}

// Only the field, whose bodies correct the flags of the last frame.
static Status observe_field(Tape *tape, const MotionOptions *o, const Observation *observation, PointCloud *now,
                            const PointCloud *past, MotionSeen *out, Error *err) {
    Status status = motion_from_clouds(tape, o, now, past, &out->field, err);
    return status == STATUS_OK ? observe_bodies(tape, o, seen_key(o), observation, now, past, out, err) : status;
}

static Status observe(Tape *tape, const MotionOptions *o, const Observation *observation, PointCloud cloud[2],
                      MotionSeen *out, Error *err) {
    Status status = STATUS_OK;
    int F = observation->F;
    for (int f = 0; f < F && status == STATUS_OK; f++) {
        PointCloud *now = &cloud[f % 2], *past = &cloud[(f + 1) % 2];
        status = see_frame(tape, o, observation, f, now, err);
        if (status == STATUS_OK && f > 0 && f == F - 1)
            status = observe_field(tape, o, observation, now, past, out, err);
        if (status == STATUS_OK) flags_pack(now, out->moving + (size_t)f * out->flag_bytes);
    }
    return status;
}

Status motion_observe(Tape *tape, const MotionOptions *o, const Observation *observation, MotionSeen *out, Error *err) {
    PointCloud cloud[2] = {{0}};
    Observation still = *observation;
    still.turn = NULL;
    *out = (MotionSeen){.frames = (size_t)observation->F, .flag_bytes = motion_flag_bytes(observation)};
    out->moving = calloc(out->frames, out->flag_bytes);
    if (!out->moving) return error_set(err, STATUS_FAILED, "out of memory for the flags of a frame");
    Status status = observe(tape, o, &still, cloud, out, err);
    for (int i = 0; i < 2; i++) point_cloud_free(&cloud[i]);
    if (status != STATUS_OK) motion_seen_free(out);
    return status;
}
