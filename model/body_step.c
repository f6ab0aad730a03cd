// SPDX-License-Identifier: Apache-2.0
#include "model/body_step.h"

#include "base/array.h"
#include "model/body_labels.h"
#include "nn/backend.h"

#include <math.h>
#include <string.h>

void body_step_free(BodyStep *step) {
    body_set_free(&step->set);
    body_inputs_free(&step->inputs);
    free(step->surface);
    *step = (BodyStep){0};
}

// By the field alone. x (count, 3): the particles in the field's frame.
static void find_bodies(Tape *tape, const BodiesInput *in, double colour_length, double *x, int32_t *body) {
#pragma omp parallel for schedule(static) num_threads(tape->device->threads) if (in->count > 64)
    for (size_t i = 0; i < in->count; i++) {
        const real *position = in->position + 3 * i;
        observation_turn_back(in->observation,
                              (const double[3]){(double)position[0], (double)position[1], (double)position[2]},
                              x + 3 * i);
        body[i] = in->moving[i] > 0 ? motion_field_body(in->field, colour_length, x + 3 * i, in->colour + 3 * i) : -1;
    }
}

static void find_before(Tape *tape, const BodiesInput *in, const double *x, SceneBodies *out) {
    out->count = in->count;
    memcpy(out->now, in->position, 3 * in->count * sizeof *out->now);
    memcpy(out->before, in->position, 3 * in->count * sizeof *out->before);
#pragma omp parallel for schedule(static) num_threads(tape->device->threads) if (in->count > 64)
    for (size_t i = 0; i < in->count; i++) {
        double before[3], turned[3];
        if (out->body[i] < 0) continue;
        motion_field_before(in->field, out->body[i], x + 3 * i, before);
        observation_turn(in->observation, before, turned);
        for (size_t c = 0; c < 3; c++) out->before[3 * i + c] = (real)turned[c];
    }
}

void scene_bodies_find(Tape *tape, double colour_length, double extent, size_t scenes, const BodiesInput *in,
                       SceneBodies *out) {
    LabelledParticles *particles = tape_context(tape, scenes * sizeof *particles);
    double **x = tape_context(tape, scenes * sizeof *x);
    for (size_t s = 0; s < scenes; s++) {
        size_t room = in[s].count + in[s].field->count + 1;
        out[s] = (SceneBodies){.scale = 1,
                               .body = tape_context(tape, room * sizeof *out->body),
                               .before = tape_context(tape, 3 * room * sizeof *out->before),
                               .now = tape_context(tape, 3 * room * sizeof *out->now),
                               .image = tape_context(tape, room)};
        double *there = tape_context(tape, (3 * in[s].count + 1) * sizeof *there);
        if (tape->device->failed) return;
        x[s] = there;
        particles[s] = (LabelledParticles){in[s].count, in[s].position, in[s].colour, out[s].body};
        find_bodies(tape, &in[s], colour_length, there, out[s].body);
    }
    body_labels_settle(tape, extent, scenes, particles);
    for (size_t s = 0; s < scenes && !tape->device->failed; s++) find_before(tape, &in[s], x[s], &out[s]);
}

static void add_image(const Observation *observation, const MotionField *field, size_t point, SceneBodies *bodies) {
    double now[3], before[3], turned[3];
    size_t i = bodies->count;
    for (size_t c = 0; c < 3; c++) {
        now[c] = (double)field->position[3 * point + c];
        before[c] = now[c] - (double)field->motion[3 * point + c];
    }
    observation_turn(observation, now, turned);
    for (size_t c = 0; c < 3; c++) bodies->now[3 * i + c] = (real)turned[c];
    observation_turn(observation, before, turned);
    for (size_t c = 0; c < 3; c++) bodies->before[3 * i + c] = (real)turned[c];
    bodies->body[i] = (int32_t)field->body[point];
    bodies->image[i] = 1;
}

// Of `count` particles, the one of the same body as particle i that is nearest to it; -1: there is none.
static int32_t nearest_of_body(const SceneBodies *bodies, const int32_t *particle, size_t count, size_t i) {
    double least = INFINITY;
    int32_t nearest = -1;
    for (size_t k = 0; k < count; k++) {
        size_t j = (size_t)particle[k];
        double d2 = 0;
        if (bodies->body[j] != bodies->body[i]) continue;
        for (size_t c = 0; c < 3; c++) d2 += pow((double)bodies->now[3 * j + c] - (double)bodies->now[3 * i + c], 2);
        if (d2 < least) least = d2, nearest = (int32_t)j;
    }
    return nearest;
}

size_t scene_bodies_add_images(Tape *tape, SceneBodies *bodies, const Observation *observation,
                               const MotionField *field, int32_t *like) {
    size_t of_bodies = 0, images = 0;
    int32_t *particle = tape_context(tape, (bodies->count + 1) * sizeof *particle);
    for (size_t i = 0; particle && i < bodies->count; i++)
        if (bodies->body[i] >= 0) particle[of_bodies++] = (int32_t)i;
    for (size_t point = 0; point < field->count; point++) {
        if (!(field->mirrored[point] > 0)) continue;
        add_image(observation, field, point, bodies);
        like[images] = nearest_of_body(bodies, particle, of_bodies, bodies->count);
        if (like[images] >= 0) images++, bodies->count++;
    }
    return images;
}

// Points of a body that are looked at.
enum { POINTS = 2048 };

typedef struct Points {
    size_t count;
    real now[6 * POINTS], before[6 * POINTS]; // room for as many mirror images
} Points;

// The particles in the order of their bodies: those of body b are particle[first[b + 1]], .., before first[b + 2].
// Those that stand still count as body -1.
typedef struct Order {
    size_t numbers, *first; // (numbers + 2)
    uint32_t *particle;
} Order;

static Order order_of(Tape *tape, const SceneBodies *bodies, size_t numbers) {
    Order out = {.numbers = numbers,
                 .first = tape_context(tape, (numbers + 3) * sizeof *out.first),
                 .particle = tape_context(tape, bodies->count * sizeof *out.particle)};
    if (tape->device->failed) return (Order){0};
    size_t *next = out.first + 1; // where the next particle of each body goes; at last, where the body ends
    memset(out.first, 0, (numbers + 3) * sizeof *out.first);
    for (size_t i = 0; i < bodies->count; i++) next[bodies->body[i] + 2]++;
    for (size_t b = 1; b <= numbers; b++) next[b] += next[b - 1];
    for (size_t i = 0; i < bodies->count; i++) out.particle[next[bodies->body[i] + 1]++] = (uint32_t)i;
    return out;
}

static bool is_image(const SceneBodies *bodies, size_t i) { return bodies->image && bodies->image[i]; }

static void take_point(const SceneBodies *bodies, size_t i, Points *out) {
    for (size_t c = 0; c < 3; c++) {
        out->now[3 * out->count + c] = bodies->scale * bodies->now[3 * i + c];
        out->before[3 * out->count + c] = bodies->scale * bodies->before[3 * i + c];
    }
    out->count++;
}

// At most `most` particles of a group that are seen, or that are not, spread evenly over them, because composed scenes
// follow each other. They are added to *out.
static void gather(const SceneBodies *bodies, const Order *order, size_t group, bool seen, size_t most, Points *out) {
    size_t all = 0, passed = 0, taken = 0, first = order->first[group], end = order->first[group + 1];
    for (size_t k = first; k < end; k++) all += is_image(bodies, order->particle[k]) != seen;
    size_t count = all < most ? all : most;
    for (size_t k = first; k < end && taken < count; k++) {
        if (is_image(bodies, order->particle[k]) == seen) continue;
        if (passed++ < taken * all / count) continue;
        take_point(bodies, order->particle[k], out);
        taken++;
    }
}

// A motion where lengths are `scale` times as large.
static RigidMotion scaled(const RigidMotion *motion, double scale) {
    RigidMotion out = *motion;
    for (size_t c = 0; c < 3; c++) out.from[c] *= scale, out.to[c] *= scale;
    return out;
}

// How the body moves as the network sees it, in the tape's memory; NULL: it is free.
static const RigidMotion *drive_of(Tape *tape, const SceneBodies *bodies, int32_t number) {
    for (size_t k = 0; k < bodies->drives; k++) {
        if (bodies->drive[k].body != number) continue;
        RigidMotion *seen = tape_context(tape, sizeof *seen);
        if (seen) *seen = scaled(&bodies->drive[k].motion, (double)bodies->scale);
        return seen;
    }
    return NULL;
}

// Room for the surfaces of so many scenes.
static Status reserve_surfaces(BodyStep *step, size_t scenes, Error *err) {
    if (scenes <= step->surfaces) return STATUS_OK;
    if (!array_grow(&step->surface, scenes, sizeof *step->surface))
        return error_set(err, STATUS_FAILED, "out of memory for the surfaces of %zu scenes", scenes);
    memset(step->surface + step->surfaces, 0, (scenes - step->surfaces) * sizeof *step->surface);
    step->surfaces = scenes;
    return STATUS_OK;
}

// Patches at the points. They are made anew only where a point is another one than in the last step.
static Status add_surface(BodySet *set, const Points *points, StepSurface *known, Error *err) {
    size_t count = points->count, bytes = 3 * count * sizeof *known->point, first = set->patches;
    Status status = STATUS_OK;
    if (known->count == count && !memcmp(known->point, points->now, bytes)) {
        for (size_t p = 0; p < count && status == STATUS_OK; p++)
            status = body_set_add_patch(set, known->patch[p], err);
        return status;
    }
    known->count = 0;
    status = body_set_add_surface(set, count, points->now, err);
    if (status != STATUS_OK || !count) return status;
    memcpy(known->point, points->now, bytes);
    memcpy(known->patch, set->patch + first, count * sizeof *known->patch);
    known->count = count;
    return STATUS_OK;
}

// A window of the set: its bodies are in the order of their numbers; index[number] is the place of each.
static Status add_scene(Tape *tape, BodySet *set, const SceneBodies *bodies, const Order *order, StepSurface *known,
                        Points *points, int32_t *index, Error *err) {
    Status status = body_set_add_window(set, err);
    points->count = 0;
    gather(bodies, order, 0, true, BODY_PATCHES, points);
    if (status == STATUS_OK) status = add_surface(set, points, known, err);
    for (size_t b = 0; b < order->numbers && status == STATUS_OK; b++) {
        points->count = 0;
        gather(bodies, order, b + 1, true, POINTS, points);
        size_t seen = points->count;
        gather(bodies, order, b + 1, false, POINTS, points);
        index[b] = (int32_t)set->bodies;
        if (!points->count) continue;
        status = body_set_add_points(set, points->count, points->now, points->before, NULL, err);
        if (status == STATUS_OK && points->count > seen)
            status = body_set_add_hull(set, points->count, points->now, err);
        if (status == STATUS_OK) set->given[index[b]] = drive_of(tape, bodies, (int32_t)b);
    }
    return status;
}

static void move_particles(const RigidMotion *motion, const int32_t *index, SceneBodies *bodies) {
    memcpy(bodies->before, bodies->now, 3 * bodies->count * sizeof *bodies->now);
    for (size_t i = 0; i < bodies->count; i++) {
        if (bodies->body[i] < 0) continue;
        RigidMotion metres = scaled(&motion[index[bodies->body[i]]], 1 / (double)bodies->scale);
        rigid_motion_apply(&metres, bodies->before + 3 * i, bodies->now + 3 * i);
    }
}

static size_t numbers_of(const SceneBodies *bodies) {
    int32_t most = 0;
    for (size_t i = 0; i < bodies->count; i++) most = bodies->body[i] >= most ? bodies->body[i] + 1 : most;
    return (size_t)most;
}

// (nodes, 3) in host memory. Gradients do not go through a rigid motion, so nothing is recorded.
static real *predict(Tape *tape, const BodyNetwork *network, const BodyStep *step) {
    bool recording = tape->recording;
    tape->recording = false;
    Tensor *output = body_network_run(tape, network, &step->set, &step->inputs);
    tape->recording = recording;
    real *host = tape_context(tape, 3 * step->set.nodes * sizeof *host);
    if (host && !tape->device->failed)
        tape->device->nn->download(tape->device, host, output->value, 3 * step->set.nodes * sizeof *host);
    return host;
}

// Fills the set; index[scene][number] is the place of each body, NULL in a scene without bodies.
static Status fill(Tape *tape, BodyStep *step, size_t scenes, SceneBodies *const *bodies, int32_t **index, Error *err) {
    Points *points = tape_context(tape, sizeof *points);
    Status status = device_status(tape->device, err);
    if (status == STATUS_OK) status = reserve_surfaces(step, scenes, err);
    body_set_clear(&step->set);
    for (size_t s = 0; s < scenes && status == STATUS_OK; s++) {
        size_t numbers = numbers_of(bodies[s]);
        if (!numbers) continue;
        Order order = order_of(tape, bodies[s], numbers);
        index[s] = tape_context(tape, numbers * sizeof *index[s]);
        status = device_status(tape->device, err);
        if (status == STATUS_OK)
            status = add_scene(tape, &step->set, bodies[s], &order, &step->surface[s], points, index[s], err);
    }
    return status;
}

// With fewer nodes each, threads wait for one another longer than they work (docs/speed_experiments.md).
enum { NODES_OF_A_THREAD = 256 };

static int useful_threads(int threads, size_t nodes) {
    size_t most = nodes / NODES_OF_A_THREAD;
    return most < 1 ? 1 : most < (size_t)threads ? (int)most : threads;
}

// The motions of all bodies of the set.
static void find_motions(Tape *tape, const BodyNetwork *network, const BodyScales *scales, BodyStep *step,
                         RigidMotion *motion) {
    Error err;
    int threads = tape->device->threads, useful = useful_threads(threads, step->set.nodes);
    Status status = body_inputs_make(&step->set, scales, useful, &step->inputs, &err);
    if (status != STATUS_OK) device_fail(tape->device, status, "%s", err.text);
    tape->device->threads = useful;
    const real *output = tape->device->failed ? NULL : predict(tape, network, step);
    tape->device->threads = threads;
    if (!tape->device->failed) body_motions(&step->set, scales, useful, &step->inputs, output, motion);
}

void body_step(Tape *tape, const BodyNetwork *network, const BodyScales *scales, BodyStep *step, size_t scenes,
               SceneBodies *const *bodies) {
    BodySet *set = &step->set;
    Error err;
    int32_t **index = tape_context(tape, scenes * sizeof *index);
    if (!index) return;
    Status status = fill(tape, step, scenes, bodies, index, &err);
    RigidMotion *motion = tape_context(tape, (set->bodies + 1) * sizeof *motion);
    if (status == STATUS_OK && set->nodes == 0) return;
    if (status != STATUS_OK) device_fail(tape->device, status, "%s", err.text);
    if (!tape->device->failed) find_motions(tape, network, scales, step, motion);
    if (tape->device->failed) return;
    for (size_t s = 0; s < scenes; s++)
        if (index[s]) move_particles(motion, index[s], bodies[s]);
}
