// SPDX-License-Identifier: Apache-2.0
// From images to the particles of a scene: which pixels they are, the bodies that they belong to, mirror images,
// support radii, features.
#include "base/check.h"
#include "model/body_labels.h"
#include "model/vpd.h"
#include "motion/flags.h"
#include "motion/hidden.h"
#include "nn/backend.h"
#include "nn/columns.h"
#include "nn/knn.h"
#include "nn/rows.h"

#include <string.h>

// Not train.seed: the fields of one run serve those of other seeds.
enum { MOTION_SEED = 1 };

MotionOptions vpd_motion_options(const Vpd *model) {
    const Config *c = &model->config;
    return (MotionOptions){.crop = c->data.crop,
                           .moving_threshold = c->gnn.moving_threshold,
                           .colour_length = c->gnn.colour_length,
                           .extent = c->data.extent,
                           .seed = MOTION_SEED};
}

Status vpd_observe(Tape *tape, const Vpd *model, const Observation *history, MotionSeen *out, Error *err) {
    MotionOptions options = vpd_motion_options(model);
    *out = (MotionSeen){0};
    if (!vpd_has_bodies(model)) return STATUS_OK;
    vpd_part(tape, VPD_ENCODER);
    return motion_observe(tape, &options, history, out, err);
}

// ---- particles

// Chosen particles, in the tape's host memory.
typedef struct Chosen {
    size_t count;
    real *position, *colour, *moving; // (n,3), (n,3), (n)
    int32_t *pixel;                   // (n) within its frame
} Chosen;

// With room for `more`.
static void copy_chosen(Tape *tape, const PointCloud *cloud, const Hidden *hidden, const Selection *selection,
                        size_t more, Chosen *out) {
    size_t room = selection->count + more + 1;
    out->count = selection->count;
    out->position = tape_context(tape, 3 * room * sizeof(real));
    out->colour = tape_context(tape, 3 * room * sizeof(real));
    out->moving = tape_context(tape, room * sizeof(real));
    out->pixel = tape_context(tape, room * sizeof(int32_t));
    if (tape->device->failed) return;
    for (size_t i = 0; i < out->count; i++) {
        size_t from = (size_t)selection->items[i].index;
        point_cloud_get(cloud, from, out->position + 3 * i, out->colour + 3 * i);
        out->moving[i] = cloud->moving[from];
        out->pixel[i] = from < hidden->first ? cloud->pixel[from] : hidden->like[from - hidden->first];
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
    Hidden hidden = {cloud->count, NULL};
    if (status == STATUS_OK && vpd_has_bodies(model))
        status = hidden_add(tape, o, motion.crop, c->data.extent, cloud, &hidden, err);
    if (status == STATUS_OK) status = sample_particles(o, cloud, &sample, &workspace->selection, err);
    if (status != STATUS_OK) return status;
    copy_chosen(tape, cloud, &hidden, &workspace->selection, seen->field.count, out);
    return STATUS_OK;
}

void observation_background(const Observation *o, real out[3]) {
    size_t pixels = (size_t)o->F * (size_t)o->V * (size_t)o->H * (size_t)o->W, count = 0;
    double sum[3] = {0}, all[3] = {0};
    for (size_t i = 0; i < pixels; i++) {
        bool missing = !(o->depth[i] > 0);
        count += missing;
        for (size_t c = 0; c < 3; c++) {
            all[c] += o->rgb[3 * i + c];
            if (missing) sum[c] += o->rgb[3 * i + c];
        }
    }
    for (size_t c = 0; c < 3; c++) out[c] = (real)((count ? sum[c] / (double)count : all[c] / (double)pixels) / 255);
}

// Support radii R_i: from the distance to the fourth nearest particle, or r for all. *reach is the largest. `images`
// particles that follow are mirror images, which have none.
static const real *particle_radii(Tape *tape, const Vpd *model, const real *position, size_t count, size_t images,
                                  real *reach) {
    enum { FOURTH = 4 };
    double r = model->config.renderer.radius;
    size_t k = count > FOURTH ? FOURTH : count - 1, all = count + images;
    real *host = tape_context(tape, (all + count * FOURTH + 1) * sizeof *host), *distance2 = host + all;
    for (size_t i = count; host && i < all; i++) host[i] = 0;
    for (size_t i = 0; host && i < count; i++) host[i] = (real)r;
    if (host && model->config.renderer.radius_per_particle && count > 1) {
        int32_t *self = tape_context(tape, count * sizeof *self),
                *index = tape_context(tape, count * k * sizeof *index);
        for (size_t i = 0; index && i < count; i++) self[i] = (int32_t)i;
        KnnArgs args = {.points = count,
                        .queries = count,
                        .point = position,
                        .query = position,
                        .self = self,
                        .k = (int)k,
                        .index = index,
                        .distance2 = distance2};
        if (!tape->device->failed) knn_host(tape->device, &args);
        for (size_t i = 0; !tape->device->failed && i < count; i++) {
            double fourth = 1.25 * sqrt((double)distance2[i * k + k - 1]);
            host[i] = (real)fmin(fmax(fourth, 0.6 * r), 2.3 * r);
        }
    }
    *reach = host ? renderer_reach(count, host) : 0;
    return host;
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
    size_t images = scene_bodies_add_images(tape, bodies, history, field, like);
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
        scene->points[t - first] = (ScenePoints){chosen.count, chosen.position, chosen.colour, chosen.pixel};
    }
    if (chosen.count == 0)
        return error_set(err, STATUS_BAD_INPUT, "no valid depth in any input image%s",
                         model->config.data.crop ? " within the workspace box (data.crop)" : "");
    scene->radii = particle_radii(tape, model, chosen.position, chosen.count - images, images, &scene->reach);
    scene->step = vpd_has_bodies(model) ? &workspace->step : NULL;
    scene->moving = chosen.moving;
    observation_background(history, scene->background);
    observation_turn(history, seen->light, scene->light);
    return device_status(tape->device, err);
}

// ---- on the device

// Particles of the scenes in set t.
static size_t set_rows(size_t count, Scene *const *scenes, size_t t) {
    size_t rows = 0;
    for (size_t b = 0; b < count; b++) rows += scenes[b]->points[t].count;
    return rows;
}

// Positions of all scenes in set t, one behind the other.
static void add_positions(size_t count, Scene *const *scenes, size_t t, TapeUpload *upload) {
    Tensor *all = tape_constant_at(upload->tape, set_rows(count, scenes, t), 3, upload->device + upload->added);
    for (size_t b = 0, row = 0; b < count; b++) {
        const ScenePoints *points = &scenes[b]->points[t];
        tape_upload_add(upload, 3 * points->count, points->position);
        scenes[b]->sets.set[t].x = tensor_rows(upload->tape, all, row, points->count);
        row += points->count;
    }
}

static void add_radii(size_t count, Scene *const *scenes, size_t present, TapeUpload *upload) {
    Tensor *all = tape_constant_at(upload->tape, set_rows(count, scenes, present), 1, upload->device + upload->added);
    for (size_t b = 0, row = 0; b < count; b++) {
        size_t points = scenes[b]->points[present].count;
        tape_upload_add(upload, points, scenes[b]->radii);
        scenes[b]->radius = tensor_rows(upload->tape, all, row, points);
        row += points;
    }
}

// Positions, colours and radii of all scenes. Returns the colours of all sets (all,3): set by set, in each scene by
// scene.
static Tensor *upload_particles(Tape *tape, size_t count, size_t all, Scene *const *scenes) {
    size_t sets = scenes[0]->sets.count;
    TapeUpload upload;
    if (!tape_upload_begin(tape, 6 * all + set_rows(count, scenes, sets - 1), &upload))
        return tape_tensor(tape, all, 3, false);
    for (size_t t = 0; t < sets; t++)
        for (size_t b = 0; b < count; b++) {
            const ScenePoints *points = &scenes[b]->points[t];
            scenes[b]->sets.set[t].c = tape_upload_add(&upload, 3 * points->count, points->colour);
        }
    for (size_t t = 0; t < sets; t++) add_positions(count, scenes, t, &upload);
    add_radii(count, scenes, sets - 1, &upload);
    tape_upload_end(&upload);
    return tape_constant_at(tape, all, 3, upload.device);
}

// The rows of `pixels` that the particles of all scenes come from, in the order of their colours.
static const int32_t *pixel_rows(Tape *tape, size_t count, size_t all, const Observation *const *histories,
                                 Scene *const *scenes) {
    int32_t *rows = tape_context(tape, (all + 1) * sizeof *rows), *next = rows;
    for (size_t t = 0; rows && t < scenes[0]->sets.count; t++)
        for (size_t b = 0, first = 0; b < count; b++) { // row of the first pixel of the scene's first frame
            int32_t frame = (int32_t)(first + t * observation_pixels(histories[b]));
            const ScenePoints *points = &scenes[b]->points[t];
            for (size_t i = 0; i < points->count; i++) *next++ = points->pixel[i] + frame;
            first += scenes[b]->sets.count * observation_pixels(histories[b]);
        }
    return tape_upload(tape, rows, all, sizeof *rows);
}

// Particles and features of scenes whose images have one size, in one call of the encoder.
static void encode_images(Tape *tape, const Vpd *model, size_t count, const Observation *const *histories,
                          Scene *const *scenes) {
    size_t all = 0, row = 0;
    ImageShape shape = {0, (size_t)histories[0]->H, (size_t)histories[0]->W};
    for (size_t b = 0; b < count; b++) shape.n += scenes[b]->sets.count * (size_t)histories[b]->V;
    int sets = (int)scenes[0]->sets.count; // of the last frames
    for (size_t t = 0; t < (size_t)sets; t++) all += set_rows(count, scenes, t);
    Tensor *rgb = upload_particles(tape, count, all, scenes);
    Tensor *images = encoder_input(tape, &model->encoder, count, histories, histories[0]->F - sets, sets);
    Tensor *pixels = encoder_pixels(tape, &model->encoder, images, shape);
    const int32_t *rows = pixel_rows(tape, count, all, histories, scenes);
    if (tape->device->failed) return;
    Tensor *f = encoder_latents(tape, &model->encoder, pixels, all, rows);
    if (model->config.encoder.carry_rgb) f = concat_columns(tape, 2, (Tensor *[]){rgb, f});
    for (size_t t = 0; t < (size_t)sets; t++)
        for (size_t b = 0; b < count; b++) {
            GnnSet *set = &scenes[b]->sets.set[t];
            set->f = tensor_rows(tape, f, row, set->x->rows);
            row += set->x->rows;
        }
}

Status vpd_add_features(Tape *tape, const Vpd *model, size_t count, const Observation *const *histories,
                        Scene *const *scenes, Error *err) {
    const Observation **same = tape_context(tape, count * sizeof *same);
    Scene **theirs = tape_context(tape, count * sizeof *theirs);
    bool *done = tape_context(tape, count);
    vpd_part(tape, VPD_ENCODER);
    for (size_t first = 0; first < count && !tape->device->failed; first++) {
        size_t found = 0;
        for (size_t b = first; b < count; b++) {
            if (done[b] || histories[b]->H != histories[first]->H || histories[b]->W != histories[first]->W) continue;
            done[b] = true;
            same[found] = histories[b], theirs[found++] = scenes[b];
        }
        if (found) encode_images(tape, model, found, same, theirs);
    }
    return device_status(tape->device, err);
}

Status vpd_encode(Tape *tape, const Vpd *model, Workspace *workspace, const Observation *history,
                  const MotionSeen *seen, SceneKey key, Scene *scene, Error *err) {
    Status status = vpd_place(tape, model, workspace, history, seen, key, scene, err);
    return status == STATUS_OK ? vpd_add_features(tape, model, 1, &history, &scene, err) : status;
}

Status vpd_observe_and_encode(Tape *tape, const Vpd *model, Workspace *workspace, const Observation *history,
                              SceneKey key, Scene *scene, Error *err) {
    MotionSeen seen;
    Status status = vpd_observe(tape, model, history, &seen, err);
    if (status == STATUS_OK) status = vpd_encode(tape, model, workspace, history, &seen, key, scene, err);
    motion_seen_free(&seen);
    return status;
}
