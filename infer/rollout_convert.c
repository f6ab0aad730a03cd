// SPDX-License-Identifier: Apache-2.0
// Files of earlier formats: the motion field of format 1.x, and the bodies of files that models without them made.
#include "files/rollout_ties.h"
#include "infer/rollout.h"
#include "motion/bodies.h"

#include <stdlib.h>
#include <string.h>

// ---- format 1.x

// The points of a cloud; without flags in the file, none is moving.
static PointCloud load_cloud(Tape *tape, const RolloutCloud *from) {
    size_t P = from->count;
    PointCloud cloud = {.count = P,
                        .position = tape_context(tape, (3 * P + 1) * sizeof(real)),
                        .colour = tape_context(tape, (3 * P + 1) * sizeof(real)),
                        .moving = tape_context(tape, (P + 1) * sizeof(real))};
    if (tape->device->failed) return (PointCloud){0};
    for (size_t i = 0; i < 3 * P; i++) cloud.position[i] = (real)from->positions[i];
    for (size_t i = 0; i < 3 * P; i++) cloud.colour[i] = (real)from->colour[i] / 255;
    for (size_t i = 0; i < P; i++) cloud.moving[i] = from->moving && from->moving[i];
    return cloud;
}

static void forget_motion(RolloutFile *r) {
    motion_field_free(&r->motion);
    free(r->motion_owner);
    r->motion_owner = NULL;
    r->has_motion = false;
}

// Without the cloud of past particles the motion is unknown, which differs from no motion.
static bool knows_motion(const RolloutFile *r) {
    return r->clouds[1].count > 0 || (r->set_count > 1 && r->sets[1].N == 0);
}

static Status motion_of_clouds(RolloutWorkspace *w, RolloutFile *r, Error *err) {
    MotionOptions options = vpd_motion_options(w->model);
    Status status = STATUS_OK;
    tape_reset(&w->tape);
    if (knows_motion(r) && options.velocity) {
        PointCloud now = load_cloud(&w->tape, &r->clouds[0]), past = load_cloud(&w->tape, &r->clouds[1]);
        status = motion_from_clouds(&w->tape, &options, &now, &past, &r->motion, err);
        r->has_motion = status == STATUS_OK;
    }
    if (status == STATUS_OK) status = rollout_tie(r, w->model->device, err);
    if (status == STATUS_OK) rollout_free_clouds(r);
    else forget_motion(r); // the clouds stay, so that it can be found again
    return status;
}

// ---- bodies

static Status check_former(const Vpd *model, const RolloutFile *r, Error *err) {
    const RolloutSet *now = &r->sets[0];
    size_t D = (size_t)model->config.model.D;
    if (now->D != D || !now->features)
        return error_set(
            err, STATUS_BAD_INPUT,
            "the rollout: expected %zu features per particle, as this model draws, found %zu: a model with "
            "another encoder made it",
            D, now->D);
    if (!now->colour || !now->moving || !r->has_motion)
        return error_set(err, STATUS_BAD_INPUT,
                         "the rollout: expected bodies, or colours, moving flags and a motion field to find them with; "
                         "found no %s",
                         !now->colour   ? "colours"
                         : !now->moving ? "moving flags"
                                        : "motion field");
    return STATUS_OK;
}

static PointCloud load_particles(Tape *tape, const RolloutSet *set) {
    return load_cloud(tape, &(RolloutCloud){set->N, set->positions, set->colour, set->moving});
}

// Registers the bodies with the particles now and one step before.
static Status register_bodies(Tape *tape, const RolloutFile *r, const MotionField *field, BodyLengths lengths,
                              Bodies *bodies, Error *err) {
    const RolloutSet *past = &r->sets[1];
    if (r->set_count < 2 || past->N == 0 || !past->colour || !past->moving) return STATUS_OK;
    tape_reset(tape);
    PointCloud now = load_particles(tape, &r->sets[0]), before = load_particles(tape, past);
    int32_t *body = tape_context(tape, (now.count + 1) * sizeof *body);
    if (tape->device->failed) return device_status(tape->device, err);
    return bodies_register(field, &now, &before, lengths, bodies, body, err);
}

// The field with the numbers and the motion of its bodies.
static Status bodies_of_field(RolloutWorkspace *w, const RolloutFile *r, MotionField *out, Error *err) {
    MotionOptions o = vpd_motion_options(w->model);
    BodyLengths lengths = {o.extent, o.colour_length};
    Bodies bodies = {0};
    Status status = motion_field_copy(&r->motion, out, err);
    if (status == STATUS_OK) status = bodies_find(out, lengths, &bodies, err);
    if (status == STATUS_OK) status = register_bodies(&w->tape, r, out, lengths, &bodies, err);
    if (status == STATUS_OK) bodies_put(&bodies, out);
    bodies_free(&bodies);
    return status;
}

// Gives each moving particle the body, and the motion, of the field there.
static void fill_bodies(const MotionField *field, double colour_length, RolloutSet *now) {
    for (size_t i = 0; i < now->N; i++) {
        double x[3], before[3];
        real c[3];
        for (size_t k = 0; k < 3; k++) {
            before[k] = x[k] = (double)now->positions[3 * i + k];
            c[k] = (real)now->colour[3 * i + k] / 255;
        }
        now->body[i] = now->moving[i] ? motion_field_body(field, colour_length, x, c) : -1;
        now->moving[i] = now->body[i] >= 0;
        if (now->body[i] >= 0) motion_field_before(field, now->body[i], x, before);
        for (size_t k = 0; k < 3; k++) now->before[3 * i + k] = (float)before[k];
    }
}

// Bodies take the place of past sets and the motion field.
static void forget_past(RolloutFile *r) {
    RolloutFile past = {0};
    for (int k = 1; k < r->set_count; k++) {
        past.sets[k] = r->sets[k];
        r->sets[k] = (RolloutSet){0};
    }
    rollout_file_free(&past);
    forget_motion(r);
    r->set_count = 1;
}

static Status find_bodies(RolloutWorkspace *w, RolloutFile *r, Error *err) {
    const Vpd *model = w->model;
    RolloutSet *now = &r->sets[0];
    MotionField field = {0};
    Status status = check_former(model, r, err);
    if (status == STATUS_OK) status = bodies_of_field(w, r, &field, err);
    if (status == STATUS_OK) {
        now->before = malloc(3 * now->N * sizeof *now->before);
        now->body = malloc(now->N * sizeof *now->body);
        if (!now->before || !now->body) status = error_set(err, STATUS_FAILED, "out of memory for bodies");
    }
    if (status == STATUS_OK) {
        fill_bodies(&field, model->config.gnn.colour_length, now);
        forget_past(r);
    } else {
        free(now->before), free(now->body);
        now->before = NULL, now->body = NULL;
    }
    motion_field_free(&field);
    return status;
}

Status rollout_convert(RolloutWorkspace *w, RolloutFile *r, Error *err) {
    Status status = rollout_lacks_motion(r) ? motion_of_clouds(w, r, err) : STATUS_OK;
    return status == STATUS_OK && rollout_is_former(w->model, r) ? find_bodies(w, r, err) : status;
}
