// SPDX-License-Identifier: Apache-2.0
// From images to the particles of a scene: which pixels they are, the bodies that they belong to, mirror images,
// support radii, features.
#include "base/array.h"
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

// Scenes whose particles are chosen, from `sets` input frames each. Frame f is the one of scene f % count in set
// f / count.
typedef struct Placing {
    Tape *tape;
    const Vpd *model;
    Workspace *workspace;
    size_t count, sets;
    const SceneInput *inputs;
    const Observation **histories;
    Hidden *hidden; // of each frame
    Chosen *chosen;
    size_t *images; // mirror images, which are the last of the chosen ones
    size_t at;      // the scene without particles, for errors
} Placing;

static Status make_room(Workspace *workspace, size_t frames, Error *err) {
    size_t more = frames > workspace->frames ? frames - workspace->frames : 0;
    if (!more) return STATUS_OK;
    if (!array_grow(&workspace->clouds, frames, sizeof *workspace->clouds) ||
        !array_grow(&workspace->selections, frames, sizeof *workspace->selections))
        return error_no_memory(err, "the points of %zu frames", frames);
    memset(workspace->clouds + workspace->frames, 0, more * sizeof *workspace->clouds);
    memset(workspace->selections + workspace->frames, 0, more * sizeof *workspace->selections);
    workspace->frames = frames;
    return STATUS_OK;
}

typedef Status FrameWork(const Placing *p, size_t f, Error *err);

// Does this for all frames, by all threads; the error is that of the first frame that has one.
static Status each_frame(const Placing *p, FrameWork *work, Error *err) {
    size_t frames = p->count * p->sets, wrong = frames;
    Status out = STATUS_OK;
#pragma omp parallel for schedule(dynamic) num_threads(p->tape->device->threads) if (frames > 1)
    for (size_t f = 0; f < frames; f++) {
        Error own;
        Status status = work(p, f, &own);
        if (status == STATUS_OK) continue;
#pragma omp critical(encode_frames)
        if (f < wrong) wrong = f, out = status, *err = own;
    }
    return out;
}

// The points of a frame with their moving flags.
static Status find_points(const Placing *p, size_t f, Error *err) {
    const SceneInput *input = &p->inputs[f % p->count];
    PointCloud *cloud = &p->workspace->clouds[f];
    size_t frame = p->model->config.model.T - p->sets + f / p->count;
    UnprojectOptions options = {.crop = p->model->config.data.crop};
    Status status = unproject_frame(input->history, (int)frame, options, cloud, err);
    if (status == STATUS_OK && input->seen->moving)
        flags_unpack(input->seen->moving + frame * input->seen->flag_bytes, cloud);
    p->hidden[f] = (Hidden){cloud->count, NULL};
    return status;
}

static Status sample_points(const Placing *p, size_t f, Error *err) {
    const Config *c = &p->model->config;
    const SceneInput *input = &p->inputs[f % p->count];
    SampleOptions sample = {.sampling = (Sampling)c->encoder.sampling,
                            .N = (size_t)c->encoder.N,
                            .moving_share = c->encoder.moving_share,
                            .extent = c->data.extent,
                            .seed = input->key.seed,
                            .step = input->key.step,
                            .episode = input->key.episode};
    return sample_particles(input->history, &p->workspace->clouds[f], &sample, &p->workspace->selections[f], err);
}

// Chooses particles of all frames.
static Status choose_points(const Placing *p, Error *err) {
    const Config *c = &p->model->config;
    Status status = make_room(p->workspace, p->count * p->sets, err);
    if (status == STATUS_OK) status = each_frame(p, find_points, err);
    if (status == STATUS_OK && vpd_has_bodies(p->model)) // one set
        status = hidden_add(p->tape, p->count, p->histories, c->data.crop, c->data.extent, p->workspace->clouds,
                            p->hidden, err);
    return status == STATUS_OK ? each_frame(p, sample_points, err) : status;
}

// Copies the chosen points of a set.
static void take_set(const Placing *p, size_t set) {
    for (size_t s = 0; s < p->count; s++) {
        size_t f = set * p->count + s;
        copy_chosen(p->tape, &p->workspace->clouds[f], &p->hidden[f], &p->workspace->selections[f],
                    p->inputs[s].seen->field.count, &p->chosen[s]);
    }
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

enum { FOURTH = 4 };

// Squared distances of the four nearest particles of each particle, in all scenes (particles, 4), from one search.
// Infinity where there are fewer; NULL if memory is short.
static const real *nearest_distances(Tape *tape, const Placing *p) {
    int32_t *first = tape_context(tape, (p->count + 1) * sizeof *first);
    for (size_t s = 0; first && s < p->count; s++)
        first[s + 1] = first[s] + (int32_t)(p->chosen[s].count - p->images[s]);
    size_t all = first ? (size_t)first[p->count] : 0;
    real *position = tape_context(tape, (3 * all + 1) * sizeof *position),
         *distance2 = tape_context(tape, (FOURTH * all + 1) * sizeof *distance2);
    int32_t *self = tape_context(tape, (all + 1) * sizeof *self);
    if (tape->device->failed) return NULL;
    for (size_t s = 0; s < p->count; s++)
        memcpy(position + 3 * first[s], p->chosen[s].position,
               3 * (size_t)(first[s + 1] - first[s]) * sizeof *position);
    for (size_t i = 0; i < all; i++) self[i] = (int32_t)i;
    SceneRows scenes = {p->count, first};
    knn_host(tape->device, &(KnnArgs){.points = all,
                                      .queries = all,
                                      .point = position,
                                      .query = position,
                                      .point_scenes = scenes,
                                      .query_scenes = scenes,
                                      .self = self,
                                      .k = FOURTH,
                                      .distance2 = distance2});
    return tape->device->failed ? NULL : distance2;
}

// Support radii R_i: from the distance to the fourth nearest particle, or r for all; none for mirror images.
static void find_radii(const Placing *p, Scene *const *scenes) {
    const RendererOptions *options = &p->model->config.renderer;
    const real *distance2 = options->radius_per_particle ? nearest_distances(p->tape, p) : NULL;
    double r = options->radius;
    for (size_t s = 0; s < p->count; s++) {
        size_t count = p->chosen[s].count - p->images[s], last = (count > FOURTH ? FOURTH : count - 1) - 1;
        real *radii = tape_context(p->tape, (p->chosen[s].count + 1) * sizeof *radii);
        if (!radii) return;
        for (size_t i = 0; i < count; i++) {
            double fourth = distance2 && count > 1 ? 1.25 * sqrt((double)distance2[FOURTH * i + last]) : r;
            radii[i] = (real)fmin(fmax(fourth, 0.6 * r), 2.3 * r);
        }
        if (distance2) distance2 += FOURTH * count;
        scenes[s]->radii = radii;
        scenes[s]->reach = renderer_reach(count, radii);
    }
}

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

static void find_bodies(Placing *p, Scene *const *scenes) {
    const Config *c = &p->model->config;
    BodiesInput *inputs = tape_context(p->tape, p->count * sizeof *inputs);
    SceneBodies *bodies = tape_context(p->tape, p->count * sizeof *bodies);
    if (p->tape->device->failed) return;
    for (size_t s = 0; s < p->count; s++) {
        const Chosen *chosen = &p->chosen[s];
        inputs[s] =
            (BodiesInput){p->histories[s], &p->inputs[s].seen->field, chosen->count, chosen->position, chosen->colour,
                          chosen->moving};
    }
    scene_bodies_find(p->tape, c->gnn.colour_length, c->data.extent, p->count, inputs, bodies);
    for (size_t s = 0; s < p->count && !p->tape->device->failed; s++) {
        keep_particles(&p->chosen[s], &bodies[s]);
        p->images[s] = add_images(p->tape, p->histories[s], inputs[s].field, &p->chosen[s], &bodies[s]);
        bodies[s].scale = (real)vpd_scale(p->model, p->histories[s]->time_step);
        scenes[s]->bodies = bodies[s];
    }
}

static void begin_scene(const Placing *p, size_t s, Scene *out) {
    const SceneInput *input = &p->inputs[s];
    const Observation *o = p->histories[s] = input->history;
    CHECK_EQ(o->F, p->model->config.model.T);
    CHECK(!input->seen->moving ||
          (input->seen->frames == (size_t)o->F && input->seen->flag_bytes == motion_flag_bytes(o)));
    *out = (Scene){
        .key = input->key, .sets.count = p->sets, .step = vpd_has_bodies(p->model) ? &p->workspace->step : NULL};
    observation_background(o, out->background);
    observation_turn(o, input->seen->light, out->light);
}

// Chooses the particles of all scenes, on the host but for searches.
static Status place(Placing *p, Scene *const *scenes, Error *err) {
    for (size_t s = 0; s < p->count; s++) begin_scene(p, s, scenes[s]);
    Status status = choose_points(p, err);
    for (size_t set = 0; set < p->sets && status == STATUS_OK; set++) {
        take_set(p, set);
        status = device_status(p->tape->device, err);
        if (status == STATUS_OK && vpd_has_bodies(p->model)) find_bodies(p, scenes);
        if (status == STATUS_OK) status = device_status(p->tape->device, err);
        for (size_t s = 0; s < p->count && status == STATUS_OK; s++) {
            const Chosen *chosen = &p->chosen[s];
            scenes[s]->points[set] = (ScenePoints){chosen->count, chosen->position, chosen->colour, chosen->pixel};
            scenes[s]->moving = chosen->moving;
        }
    }
    for (p->at = 0; p->at < p->count && status == STATUS_OK; p->at++)
        if (p->chosen[p->at].count == 0)
            return error_set(err, STATUS_BAD_INPUT, "no valid depth in any input image%s",
                             p->model->config.data.crop ? " within the workspace box (data.crop)" : "");
    if (status != STATUS_OK) return status;
    find_radii(p, scenes);
    return device_status(p->tape->device, err);
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

// ---- all of it

Status vpd_place(Tape *tape, const Vpd *model, Workspace *workspace, size_t count, const SceneInput *inputs,
                 Scene *const *scenes, size_t *at, Error *err) {
    vpd_part(tape, VPD_ENCODER);
    // Bodies need no particles of frames before the last, because the motion seen in the input tells where they were.
    size_t sets = vpd_has_bodies(model) ? 1 : (size_t)model->config.model.T;
    Placing p = {.tape = tape,
                 .model = model,
                 .workspace = workspace,
                 .count = count,
                 .sets = sets,
                 .inputs = inputs,
                 .histories = tape_context(tape, count * sizeof *p.histories),
                 .hidden = tape_context(tape, count * sets * sizeof *p.hidden),
                 .chosen = tape_context(tape, count * sizeof *p.chosen),
                 .images = tape_context(tape, count * sizeof *p.images)};
    Status status = device_status(tape->device, err);
    if (status == STATUS_OK) status = place(&p, scenes, err);
    *at = p.at;
    return status;
}

Status vpd_encode(Tape *tape, const Vpd *model, size_t count, const SceneInput *inputs, Scene *const *scenes,
                  Error *err) {
    vpd_part(tape, VPD_ENCODER);
    const Observation **same = tape_context(tape, count * sizeof *same);
    Scene **theirs = tape_context(tape, count * sizeof *theirs);
    bool *done = tape_context(tape, count);
    for (size_t first = 0; first < count && !tape->device->failed; first++) {
        size_t found = 0;
        for (size_t s = first; s < count; s++) {
            const Observation *o = inputs[s].history;
            if (done[s] || o->H != inputs[first].history->H || o->W != inputs[first].history->W) continue;
            done[s] = true;
            same[found] = o, theirs[found++] = scenes[s];
        }
        if (found) encode_images(tape, model, found, same, theirs);
    }
    return device_status(tape->device, err);
}

Status vpd_observe_and_encode(Tape *tape, const Vpd *model, Workspace *workspace, const Observation *history,
                              SceneKey key, Scene *scene, Error *err) {
    MotionSeen seen;
    size_t at;
    SceneInput input = {history, &seen, key};
    Status status = vpd_observe(tape, model, history, &seen, err);
    if (status == STATUS_OK) status = vpd_place(tape, model, workspace, 1, &input, &scene, &at, err);
    if (status == STATUS_OK) status = vpd_encode(tape, model, 1, &input, &scene, err);
    motion_seen_free(&seen);
    return status;
}
