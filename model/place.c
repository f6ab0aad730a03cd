// SPDX-License-Identifier: Apache-2.0
// The particles of a scene: which pixels they are, the bodies that they belong to, mirror images, support radii.
#include "base/check.h"
#include "model/body_labels.h"
#include "model/vpd.h"
#include "motion/flags.h"
#include "nn/backend.h"
#include "nn/knn.h"

#include <string.h>

// Chosen particles, in the tape's host memory.
typedef struct Chosen {
    size_t count;
    real *position, *colour, *moving; // (n,3), (n,3), (n)
    int32_t *pixel;                   // (n) within its frame
} Chosen;

// With room for `more`.
static void copy_chosen(Tape *tape, const PointCloud *cloud, const Selection *selection, size_t more, Chosen *out) {
    size_t room = selection->count + more + 1;
    out->count = selection->count;
    out->position = tape_context(tape, 3 * room * sizeof(real));
    out->colour = tape_context(tape, 3 * room * sizeof(real));
    out->moving = tape_context(tape, room * sizeof(real));
    out->pixel = tape_context(tape, room * sizeof(int32_t));
    if (tape->device->failed) return;
    for (size_t i = 0; i < out->count; i++) {
        size_t from = (size_t)selection->items[i].index;
        memcpy(out->position + 3 * i, cloud->position + 3 * from, 3 * sizeof(real));
        memcpy(out->colour + 3 * i, cloud->colour + 3 * from, 3 * sizeof(real));
        out->moving[i] = cloud->moving[from];
        out->pixel[i] = cloud->pixel[from];
    }
}

static Status choose_frame(Tape *tape, const Vpd *model, Workspace *workspace, const Observation *o, int frame,
                           const MotionSeen *seen, SceneKey key, Chosen *out, Error *err) {
    const Config *c = &model->config;
    MotionOptions motion = vpd_motion_options(model);
    SampleOptions sample = {.sampling = (Sampling)c->encoder.sampling,
                            .N = (size_t)c->encoder.N,
                            .moving_share = c->encoder.moving_share,
                            .extent = c->data.extent,
                            .seed = key.seed,
                            .step = key.step,
                            .episode = key.episode};
    PointCloud *cloud = &workspace->cloud;
    Status status = unproject_frame(o, frame, (UnprojectOptions){.crop = motion.crop}, cloud, err);
    if (status == STATUS_OK && seen->moving) flags_unpack(seen->moving + (size_t)frame * seen->flag_bytes, cloud);
    if (status == STATUS_OK) status = sample_particles(o, cloud, &sample, &workspace->selection, err);
    if (status != STATUS_OK) return status;
    copy_chosen(tape, cloud, &workspace->selection, seen->field.count, out);
    return STATUS_OK;
}

// Support radii R_i: from the distance to the fourth nearest particle, or r for all. *reach is the largest. `images`
// particles that follow are mirror images, which have none.
static real *particle_radii(Tape *tape, const Vpd *model, const real *position, size_t count, size_t images,
                            real *reach) {
    enum { FOURTH = 4 };
    double r = model->config.renderer.radius;
    size_t k = count > FOURTH ? FOURTH : count - 1, all = count + images;
    real *host = tape_context(tape, (all + count * FOURTH + 1) * sizeof *host), *distance2 = host + all;
    for (size_t i = count; host && i < all; i++) host[i] = 0;
    for (size_t i = 0; host && i < count; i++) host[i] = (real)r;
    if (host && model->config.renderer.radius_per_particle && count > 1) {
        int32_t *self = tape_context(tape, count * sizeof *self);
        for (size_t i = 0; self && i < count; i++) self[i] = (int32_t)i;
        KnnArgs args = {.points = count,
                        .queries = count,
                        .point = position,
                        .query = position,
                        .self = tape_upload(tape, self, count, sizeof *self),
                        .k = (int)k,
                        .index = tape_memory(tape, count * k, sizeof(int32_t)),
                        .distance2 = tape_memory(tape, count * k, sizeof(real))};
        if (!tape->device->failed) knn(tape->device, &args);
        if (!tape->device->failed)
            tape->device->nn->download(tape->device, distance2, args.distance2, count * k * sizeof(real));
        for (size_t i = 0; !tape->device->failed && i < count; i++) {
            double fourth = 1.25 * sqrt((double)distance2[i * k + k - 1]);
            host[i] = (real)fmin(fmax(fourth, 0.6 * r), 2.3 * r);
        }
    }
    *reach = host ? renderer_reach(count, host) : 0;
    return tape_upload(tape, host, all, sizeof *host);
}

// Bodies need no particles of frames before the last, because the motion seen in the input tells where they were.
static int first_set(const Vpd *model) { return vpd_has_bodies(model) ? (int)model->config.model.T - 1 : 0; }

// Particles of disputed bodies go.
static void keep_particles(Chosen *chosen, SceneBodies *bodies) {
    size_t kept = 0;
    for (size_t i = 0; i < bodies->count; i++) {
        if (bodies->body[i] == BODY_DISPUTED) continue;
        memmove(chosen->position + 3 * kept, chosen->position + 3 * i, 3 * sizeof *chosen->position);
        memmove(chosen->colour + 3 * kept, chosen->colour + 3 * i, 3 * sizeof *chosen->colour);
        memmove(bodies->before + 3 * kept, bodies->before + 3 * i, 3 * sizeof *bodies->before);
        bodies->image[kept] = bodies->image[i];
        memmove(bodies->now + 3 * kept, bodies->now + 3 * i, 3 * sizeof *bodies->now);
        chosen->moving[kept] = chosen->moving[i];
        chosen->pixel[kept] = chosen->pixel[i];
        bodies->body[kept++] = bodies->body[i];
    }
    chosen->count = bodies->count = kept;
}

// Mirror images are particles that are not drawn. Each has the pixel of a particle near to it, so that it has a label
// and features too. Returns their number.
static size_t add_images(Tape *tape, const Observation *history, const MotionField *field, Chosen *chosen,
                         SceneBodies *bodies) {
    int32_t *like = tape_context(tape, (field->count + 1) * sizeof *like);
    if (!like) return 0;
    size_t images = scene_bodies_add_images(bodies, history, field, like);
    for (size_t k = 0; k < images; k++) {
        size_t i = chosen->count++, j = (size_t)like[k];
        memcpy(chosen->position + 3 * i, bodies->now + 3 * i, 3 * sizeof *chosen->position);
        memcpy(chosen->colour + 3 * i, chosen->colour + 3 * j, 3 * sizeof *chosen->colour);
        chosen->moving[i] = chosen->moving[j];
        chosen->pixel[i] = chosen->pixel[j];
    }
    return images;
}

// Returns the number of mirror images, which come last.
static size_t find_bodies(Tape *tape, const Vpd *model, const Observation *history, const MotionSeen *seen,
                          Chosen *chosen, Scene *scene) {
    const Config *c = &model->config;
    scene->bodies = scene_bodies_of(tape, history, &seen->field, c->gnn.colour_length, c->data.extent, chosen->count,
                                    chosen->position, chosen->colour, chosen->moving);
    if (tape->device->failed) return 0;
    keep_particles(chosen, &scene->bodies);
    return add_images(tape, history, &seen->field, chosen, &scene->bodies);
}

Status vpd_place(Tape *tape, const Vpd *model, Workspace *workspace, const Observation *history, const MotionSeen *seen,
                 SceneKey key, Scene *scene, Error *err) {
    int T = (int)model->config.model.T, first = first_set(model);
    CHECK_EQ(history->F, T);
    CHECK(!seen->moving || (seen->frames == (size_t)T && seen->flag_bytes == motion_flag_bytes(history)));
    Chosen chosen = {0};
    size_t images = 0;
    *scene = (Scene){.key = key, .sets.count = (size_t)(T - first)};
    vpd_part(tape, VPD_ENCODER);
    for (int t = first; t < T; t++) {
        Status status = choose_frame(tape, model, workspace, history, t, seen, key, &chosen, err);
        if (status != STATUS_OK) return status;
        if (vpd_has_bodies(model)) images = find_bodies(tape, model, history, seen, &chosen, scene);
        scene->sets.set[t - first] = (GnnSet){.x = tape_constant(tape, chosen.count, 3, chosen.position),
                                              .c = tape_upload(tape, chosen.colour, 3 * chosen.count, sizeof(real))};
        scene->pixel[t - first] = chosen.pixel;
    }
    if (chosen.count == 0)
        return error_set(err, STATUS_BAD_INPUT, "no valid depth in any input image%s",
                         model->config.data.crop ? " within the workspace box (data.crop)" : "");
    scene->radius =
        particle_radii(tape, model, scene_present(scene)->x->value, chosen.count - images, images, &scene->reach);
    scene->step = vpd_has_bodies(model) ? &workspace->step : NULL;
    scene->colour = chosen.colour;
    scene->moving = chosen.moving;
    observation_background(history, scene->background);
    return device_status(tape->device, err);
}
