// SPDX-License-Identifier: Apache-2.0
#include "bench/bodies_bench.h"

#include "base/random.h"
#include "bodies/body_network.h"
#include "device/room_video.h"
#include "motion/bodies.h"
#include "motion/flags.h"
#include "motion/observe.h"
#include "nn/backend.h"
#include "nn/reduce.h"

#include <stdlib.h>

enum { WINDOWS = 64, NODES = BODY_NODES, TIMES = 4 };

static real uniform(size_t i) { return random_uniform((RandomKey){.seed = 1, .purpose = RANDOM_TEST}, i); }

// Nodes on a ball of 0.1 m that goes towards the other one and down; its hull has as many points.
static Status add_ball(BodySet *set, double side, Error *err) {
    size_t row;
    Status status = body_set_add_body(set, NODES, &row, err);
    for (size_t i = row; i < row + NODES && status == STATUS_OK; i++) {
        double p[3], length = 1e-6;
        for (size_t c = 0; c < 3; c++) p[c] = 2 * (double)uniform(3 * i + c) - 1, length += p[c] * p[c];
        for (size_t c = 0; c < 3; c++) {
            double centre = c == 0 ? 0.11 * side : c == 2 ? 0.12 : 0, step = c == 0 ? -0.02 * side : c == 2 ? -0.03 : 0;
            set->now[3 * i + c] = (real)(centre + 0.1 * p[c] / sqrt(length));
            set->before[3 * i + c] = set->now[3 * i + c] - (real)step;
            set->normal[3 * i + c] = (real)(p[c] / sqrt(length));
        }
    }
    return status == STATUS_OK ? body_set_add_hull(set, NODES, set->now + 3 * row, err) : status;
}

// A floor of 2 m x 2 m, as video shows it.
static Status add_floor(BodySet *set, Error *err) {
    real point[3 * BODY_PATCHES] = {0};
    for (size_t i = 0; i < BODY_PATCHES; i++)
        for (size_t c = 0; c < 2; c++) point[3 * i + c] = 2 * uniform(100000 + 2 * i + c) - 1;
    return body_set_add_surface(set, BODY_PATCHES, point, err);
}

static Status make_set(BodySet *set, Error *err) {
    Status status = STATUS_OK;
    for (int w = 0; w < WINDOWS && status == STATUS_OK; w++) {
        status = body_set_add_window(set, err);
        if (status == STATUS_OK) status = add_floor(set, err);
        for (int side = -1; side <= 1 && status == STATUS_OK; side += 2) status = add_ball(set, side, err);
    }
    return status;
}

typedef struct Bench {
    Device *device;
    BodySet set;
    BodyInputs inputs;
    real output[3 * 2 * WINDOWS * NODES];
    RigidMotion motion[2 * WINDOWS];
    Parameters parameters;
    BodyNetwork network;
    Tape tape;
} Bench;

static Status one_step(void *context, BenchTime *times, Error *err) {
    Bench *b = context;
    static const BodyScales scales = {.reach = 0.15f, .length = 0.125f, .speed = 0.1f, .step = 0.05f};
    BenchTime start = bench_now(b->device);
    Status status = body_inputs_make(&b->set, &scales, b->device->threads, &b->inputs, err);
    times[0] = bench_since(b->device, start);
    if (status != STATUS_OK) return status;
    tape_reset(&b->tape);
    parameters_zero_grad(&b->parameters);
    start = bench_now(b->device);
    Tensor *output = body_network_run(&b->tape, &b->network, &b->set, &b->inputs),
           *loss = reduce_mean(&b->tape, output);
    times[1] = bench_since(b->device, start);
    b->device->nn->download(b->device, b->output, output->value, sizeof b->output);
    start = bench_now(b->device);
    tape_backward(&b->tape, loss);
    times[2] = bench_since(b->device, start);
    start = bench_now(b->device);
    body_motions(&b->set, &scales, b->device->threads, &b->inputs, b->output, b->motion);
    times[3] = bench_since(b->device, start);
    return device_status(b->device, err);
}

static Status measure(Bench *b, int repetitions, BodiesBench *out, Error *err) {
    BenchTime times[TIMES];
    Status status = bench_medians(one_step, b, 1, repetitions, TIMES, times, err); // the first one allocates
    if (status != STATUS_OK) return status;
    out->inputs = times[0], out->forward = times[1], out->backward = times[2], out->motions = times[3];
    out->windows = WINDOWS, out->nodes = b->set.nodes;
    out->weights = parameters_element_count(&b->parameters);
    out->tape_bytes = tape_peak_bytes(&b->tape);
    return STATUS_OK;
}

Status bodies_bench(Device *device, size_t C, size_t L, int repetitions, BodiesBench *out, Error *err) {
    Bench b = {.device = device};
    *out = (BodiesBench){0};
    parameters_init(&b.parameters, device);
    body_network_create(&b.parameters, C, L, &b.network);
    tape_init(&b.tape, device);
    Status status = parameters_allocate(&b.parameters, 1, err);
    if (status == STATUS_OK) status = make_set(&b.set, err);
    if (status == STATUS_OK) status = measure(&b, repetitions, out, err);
    tape_free(&b.tape);
    parameters_free(&b.parameters);
    body_inputs_free(&b.inputs);
    body_set_free(&b.set);
    return status;
}

// ---- finding bodies in video

// The room's boxes stand 3 m apart at most.
static const MotionOptions room_motion = {.moving_threshold = 0.0075, .colour_length = 1.5, .extent = 3};

static Status see_frame(Tape *tape, const Observation *room, int frame, PointCloud *cloud, Error *err) {
    Status status = unproject_frame(room, frame, (UnprojectOptions){false, room_motion.moving_threshold}, cloud, err);
    if (status == STATUS_OK) flags_confirm(tape, room_motion.colour_length, cloud);
    return status;
}

typedef struct Find {
    Device *device;
    MotionField field;
    PointCloud cloud[2]; // of the frame before, and of the frame
    size_t bodies;       // found last
} Find;

static Status find_once(void *context, BenchTime *times, Error *err) {
    Find *f = context;
    BodyLengths lengths = {room_motion.extent, room_motion.colour_length};
    Bodies bodies = {0};
    int32_t *body = malloc((f->cloud[1].count + 1) * sizeof *body);
    if (!body) return error_set(err, STATUS_FAILED, "out of memory for the bodies of a frame");
    BenchTime start = bench_now(f->device);
    Status status = bodies_find(&f->field, lengths, &bodies, err);
    times[0] = bench_since(f->device, start);
    start = bench_now(f->device);
    if (status == STATUS_OK)
        status = bodies_register(&f->field, &f->cloud[1], &f->cloud[0], lengths, &bodies, body, err);
    times[1] = bench_since(f->device, start);
    f->bodies = bodies.count;
    bodies_free(&bodies);
    free(body);
    return status;
}

static Status find_in_room(Tape *tape, const Observation *room, int repetitions, FindBench *out, Error *err) {
    BenchTime times[2] = {{0}};
    Find find = {.device = tape->device};
    PointCloud *cloud = find.cloud;
    Status status = STATUS_OK;
    for (int f = 0; f < 2 && status == STATUS_OK; f++) status = see_frame(tape, room, f, &cloud[f], err);
    if (status == STATUS_OK) status = motion_from_clouds(tape, &room_motion, &cloud[1], &cloud[0], &find.field, err);
    if (status == STATUS_OK) status = bench_medians(find_once, &find, 0, repetitions, 2, times, err);
    out->pixels = cloud[1].count, out->points = find.field.count, out->bodies = find.bodies;
    out->find = times[0], out->register_all = times[1];
    for (int f = 0; f < 2; f++) point_cloud_free(&cloud[f]);
    motion_field_free(&find.field);
    return status;
}

Status bodies_bench_find(Device *device, int side, int repetitions, FindBench *out, Error *err) {
    RoomVideo room;
    Tape tape;
    *out = (FindBench){0};
    tape_init(&tape, device);
    Status status = room_video_make(&room, 2, 4, side, side, err);
    if (status == STATUS_OK) status = find_in_room(&tape, &room.observation, repetitions, out, err);
    room_video_free(&room);
    tape_free(&tape);
    return status;
}
