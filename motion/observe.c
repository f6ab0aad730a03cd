// SPDX-License-Identifier: Apache-2.0
#include "motion/observe.h"

#include "base/check.h"
#include "motion/flags.h"
#include "motion/observe_bodies.h"
#include "nn/backend.h"
#include "nn/choose.h"

#include <stdlib.h>
#include <string.h>

// Largest number of points of an observation's field: chosen among the moving points, or among all without moving
// flags. Half of the points of a field to the next frame. Neighbours that decide whether a point changed in both
// directions of time.
enum { SEEN_POINTS = 256, SEEN_POINTS_OF_ALL = 1024, HALF_POINTS = MOTION_NEXT_POINTS / 2, BOTH_WAYS = 8 };

// Those that are looked at: how far they moved is measured.
static size_t looked_at(const MotionOptions *o) { return o->flags ? SEEN_POINTS : SEEN_POINTS_OF_ALL; }

size_t motion_seen_points(const MotionOptions *o) { return looked_at(o) + (o->flags ? MOTION_STILL_POINTS : 0); }

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

static void copy_point(const PointCloud *cloud, size_t from, real *x, real *c) {
    memcpy(x, cloud->position + 3 * from, 3 * sizeof *x);
    memcpy(c, cloud->colour + 3 * from, 3 * sizeof *c);
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
    for (size_t i = 0; i < picked->count; i++) copy_point(cloud, (size_t)picked->index[i], x + 3 * i, c + 3 * i);
    return upload_points(tape, picked->count, x, c);
}

// ---- flow between clouds

// Measures flow at the first `count` points of a field, from one cloud to another, both with corrected flags. The
// field's motion is `sign` times the flow.
typedef struct Between {
    const PointCloud *from, *to;
    size_t count;
    int sign;
} Between;

static Status measure(Tape *tape, const MotionOptions *o, const Between *b, MotionField *field, Error *err) {
    Device *device = tape->device;
    size_t count = b->count;
    Picked from = pick_moving(tape, b->from), to = pick_moving(tape, b->to);
    real *found = tape_memory(tape, 12 * count + 1, sizeof *found),
         *host = tape_context(tape, (12 * count + 1) * sizeof *host);
    if (device->failed) return device_status(device, err);
    FlowArgs flow = {.queries = upload_points(tape, count, field->position, field->colour),
                     .from = upload_cloud(tape, b->from),
                     .to = upload_cloud(tape, b->to),
                     .from_moving = upload_picked(tape, b->from, &from),
                     .to_moving = upload_picked(tape, b->to, &to),
                     .colour_length = (real)o->colour_length,
                     .extent = (real)o->extent,
                     .u = found,
                     .g = found + 3 * count};
    ArenaMark mark = arena_mark(&device->scratch);
    flow_between(device, &flow);
    arena_release(&device->scratch, mark);
    size_t numbers = 12 * count;
    if (!device->failed) device->nn->download(device, host, found, numbers * sizeof *host);
    for (size_t i = 0; i < 3 * count; i++) field->motion[i] = (real)b->sign * host[i];
    for (size_t i = 3 * count; i < numbers; i++) field->gradient[i - 3 * count] = (real)b->sign * host[i];
    return device_status(device, err);
}

// ---- motion of an observation

// The points of a frame, with corrected flags.
static Status see_frame(Tape *tape, const MotionOptions *o, const Observation *observation, int frame,
                        PointCloud *cloud, Error *err) {
    UnprojectOptions options = {o->crop, o->flags ? o->moving_threshold : 0};
    Status status = unproject_frame(observation, frame, options, cloud, err);
    if (status == STATUS_OK) flags_confirm(tape, o, cloud);
    return status == STATUS_OK ? device_status(tape->device, err) : status;
}

static RandomKey seen_key(const MotionOptions *o) { return (RandomKey){o->seed, RANDOM_FLOW, 0, 0}; }

// Chooses the points with the smallest random keys.
static Status choose_points(Tape *tape, const MotionOptions *o, const PointCloud *now, MotionField *out, Error *err) {
    RandomKey key = seen_key(o);
    Keyed *items = tape_context(tape, (now->count + 1) * sizeof *items);
    size_t count = 0, most = looked_at(o);
    if (!items) return device_status(tape->device, err);
    for (size_t i = 0; i < now->count; i++)
        if (!o->flags || now->moving[i] > 0) items[count++] = (Keyed){choose_key(key, (uint64_t)i), (int32_t)i};
    choose_sort(items, count);
    if (count > most) count = most;
    Status status = motion_field_create(count, out, err);
    for (size_t i = 0; i < count && status == STATUS_OK; i++)
        copy_point(now, (size_t)items[i].index, out->position + 3 * i, out->colour + 3 * i);
    return status;
}

Status motion_from_clouds(Tape *tape, const MotionOptions *o, const PointCloud *now, const PointCloud *past,
                          MotionField *out, Error *err) {
    *out = (MotionField){0};
    Status status = choose_points(tape, o, now, out, err);
    // The motion into this frame is the reverse of the flow back to the frame before.
    if (status == STATUS_OK) status = measure(tape, o, &(Between){now, past, out->count, -1}, out, err);
    if (status != STATUS_OK) motion_field_free(out);
    return status;
}

// Only the field, whose bodies correct the flags of the last frame.
static Status observe_field(Tape *tape, const MotionOptions *o, PointCloud *now, const PointCloud *past,
                            MotionField *out, Error *err) {
    Status status = motion_from_clouds(tape, o, now, past, out, err);
    return status == STATUS_OK && o->flags ? observe_bodies(tape, o, seen_key(o), now, past, out, err) : status;
}

static Status observe(Tape *tape, const MotionOptions *o, const Observation *observation, PointCloud cloud[2],
                      MotionSeen *out, Error *err) {
    Status status = STATUS_OK;
    int F = observation->F;
    for (int f = 0; f < F && status == STATUS_OK; f++) {
        PointCloud *now = &cloud[f % 2], *past = &cloud[(f + 1) % 2];
        status = see_frame(tape, o, observation, f, now, err);
        if (status == STATUS_OK && o->velocity && f > 0 && f == F - 1)
            status = observe_field(tape, o, now, past, &out->field, err);
        if (status == STATUS_OK && o->flags) flags_pack(now, out->moving + (size_t)f * out->flag_bytes);
    }
    return status;
}

Status motion_observe(Tape *tape, const MotionOptions *o, const Observation *observation, MotionSeen *out, Error *err) {
    PointCloud cloud[2] = {{0}};
    Observation still = *observation;
    still.turn = NULL;
    *out = (MotionSeen){0};
    if (!o->flags && !o->velocity) return STATUS_OK;
    if (o->flags) {
        out->frames = (size_t)observation->F;
        out->flag_bytes = motion_flag_bytes(observation);
        out->moving = calloc(out->frames, out->flag_bytes);
        if (!out->moving) return error_set(err, STATUS_FAILED, "out of memory for the flags of a frame");
    }
    Status status = observe(tape, o, &still, cloud, out, err);
    for (int i = 0; i < 2; i++) point_cloud_free(&cloud[i]);
    if (status != STATUS_OK) motion_seen_free(out);
    return status;
}

// ---- motion to the next frame

// A frame with flags relative to the frame before, the same frame with flags relative to the next, and the next frame.
typedef struct Neighbours {
    PointCloud before, now, next;
} Neighbours;

static Status unproject_neighbours(const MotionOptions *o, const Observation *frames, int index, Neighbours *out,
                                   Error *err) {
    size_t image = (size_t)frames->V * (size_t)frames->H * (size_t)frames->W;
    UnprojectOptions options = {o->crop, o->moving_threshold};
    Status status = STATUS_OK;
    for (size_t pair = 0; pair < 2 && status == STATUS_OK; pair++) {
        size_t first = (size_t)index - 1 + pair;
        Observation two = *frames;
        two.turn = NULL;
        two.F = 2;
        two.rgb += 3 * image * first;
        two.depth += image * first;
        two.world_from_camera += 16 * (size_t)frames->V * first;
        if (pair == 0) status = unproject_frame(&two, 1, options, &out->before, err);
        else status = unproject_frame(&two, 0, options, &out->now, err);
        if (pair == 1 && status == STATUS_OK) status = unproject_frame(&two, 1, options, &out->next, err);
    }
    return status;
}

static bool has_changed(const Neighbours *n, size_t i) { return n->now.moving[i] > 0 || n->before.moving[i] > 0; }

// Chooses points that changed (or did not) with the smallest random keys.
static size_t choose_half(const Neighbours *n, bool changed, RandomKey key, Keyed *items) {
    size_t found = 0;
    for (size_t i = 0; i < n->now.count; i++)
        if (has_changed(n, i) == changed)
            items[found++] = (Keyed){choose_key(key, (uint64_t)n->now.pixel[i]), (int32_t)i};
    choose_sort(items, found);
    return found < HALF_POINTS ? found : HALF_POINTS;
}

// All points that changed in either direction of time, with a "flow" of (1,1,1) if they changed in both, else 0.
static Flow both_ways(Tape *tape, const Neighbours *n) {
    size_t most = n->now.count, count = 0;
    real *x = tape_context(tape, (9 * most + 1) * sizeof *x);
    if (!x) return (Flow){0};
    real *c = x + 3 * most, *both = c + 3 * most;
    for (size_t i = 0; i < most; i++) {
        if (!has_changed(n, i)) continue;
        copy_point(&n->now, i, x + 3 * count, c + 3 * count);
        for (size_t d = 0; d < 3; d++) both[3 * count + d] = n->now.moving[i] * n->before.moving[i];
        count++;
    }
    const real *shares = tape_upload(tape, both, 3 * count, sizeof *both);
    return (Flow){upload_points(tape, count, x, c), shares, NULL};
}

// For each of the first points of a field: the share of its nearest changed points that changed in both directions.
static const real *shares_of_both(Tape *tape, const MotionOptions *o, const Neighbours *n, size_t changed,
                                  const MotionField *field) {
    Device *device = tape->device;
    ArenaMark mark = arena_mark(&device->scratch);
    Flow both = both_ways(tape, n);
    FlowPoints queries = upload_points(tape, changed, field->position, field->colour);
    real *share = device_scratch(device, 3 * changed + 1), *host = tape_context(tape, (3 * changed + 1) * sizeof *host);
    flow_at(device, &both, &queries, (real)o->colour_length, BOTH_WAYS, share, NULL);
    if (!device->failed) device->nn->download(device, host, share, 3 * changed * sizeof *host);
    arena_release(&device->scratch, mark);
    return host;
}

// Sets the motion of the first points of a field, which changed. It stays 0 if most neighbours changed in one direction
// of time only: this is floor that a body uncovers or will cover.
static Status move_changed(Tape *tape, const MotionOptions *o, Neighbours *n, size_t changed, MotionField *field,
                           Error *err) {
    const real *share = shares_of_both(tape, o, n, changed, field); // needs the uncorrected flags
    flags_confirm(tape, o, &n->now);
    flags_confirm(tape, o, &n->next);
    if (tape->device->failed) return device_status(tape->device, err);
    Status status = measure(tape, o, &(Between){&n->now, &n->next, changed, 1}, field, err);
    for (size_t i = 0; i < changed && status == STATUS_OK; i++) {
        if (share[3 * i] >= (real)0.5) continue;
        memset(field->motion + 3 * i, 0, 3 * sizeof *share);
        memset(field->gradient + 9 * i, 0, 9 * sizeof *share);
    }
    return status;
}

static Status make_next(Tape *tape, const MotionOptions *o, Neighbours *n, RandomKey key, MotionField *out,
                        Error *err) {
    Keyed *items[2];
    for (int i = 0; i < 2; i++) items[i] = tape_context(tape, (n->now.count + 1) * sizeof **items);
    if (tape->device->failed) return device_status(tape->device, err);
    size_t changed = choose_half(n, true, key, items[0]), still = choose_half(n, false, key, items[1]);
    Status status = motion_field_create(changed + still, out, err);
    if (status != STATUS_OK) return status;
    for (size_t i = 0; i < changed + still; i++)
        copy_point(&n->now, (size_t)(i < changed ? items[0][i] : items[1][i - changed]).index, out->position + 3 * i,
                   out->colour + 3 * i);
    return changed ? move_changed(tape, o, n, changed, out, err) : STATUS_OK;
}

Status motion_to_next(Tape *tape, const MotionOptions *o, const Observation *frames, int index, RandomKey key,
                      MotionField *out, Error *err) {
    Neighbours n = {{0}, {0}, {0}};
    CHECK(index > 0 && index + 1 < frames->F);
    *out = (MotionField){0};
    Status status = unproject_neighbours(o, frames, index, &n, err);
    if (status == STATUS_OK) status = make_next(tape, o, &n, key, out, err);
    point_cloud_free(&n.before);
    point_cloud_free(&n.now);
    point_cloud_free(&n.next);
    if (status != STATUS_OK) motion_field_free(out);
    return status;
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

// Rotated gradients R g R^T.
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

// The points that move.
static Picked pick_bodies(Tape *tape, const MotionField *field) {
    Picked out = {.index = tape_context(tape, (field->count + 1) * sizeof *out.index)};
    for (size_t i = 0; out.index && i < field->count; i++)
        if (field->body[i] >= 0) out.index[out.count++] = (int32_t)i;
    return out;
}

static const real *pick_rows(Tape *tape, const Picked *picked, const real *rows, size_t width) {
    real *out = tape_context(tape, (width * picked->count + 1) * sizeof *out);
    for (size_t i = 0; out && i < picked->count; i++)
        memcpy(out + width * i, rows + width * (size_t)picked->index[i], width * sizeof *out);
    return out;
}

Flow motion_upload(Tape *tape, const Observation *o, const MotionField *field) {
    static const Observation still;
    Picked picked = pick_bodies(tape, field);
    size_t count = picked.count;
    const real *x = pick_rows(tape, &picked, field->position, 3), *c = pick_rows(tape, &picked, field->colour, 3),
               *motion = pick_rows(tape, &picked, field->motion, 3), *g = pick_rows(tape, &picked, field->gradient, 9);
    if (!o) o = &still;
    if (tape->device->failed) return (Flow){.points = {0}};
    FlowPoints points = {count, turned(tape, o, x, count), tape_upload(tape, c, 3 * count, sizeof(real))};
    return (Flow){points, turned(tape, o, motion, count), turned_gradients(tape, o, g, count)};
}
