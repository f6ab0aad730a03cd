// SPDX-License-Identifier: Apache-2.0
#include "train/loss.h"

#include "base/random.h"
#include "nn/backend.h"
#include "nn/combine.h"
#include "nn/knn.h"
#include "nn/reduce.h"
#include "nn/row_ops.h"
#include "nn/rows.h"
#include "nn/ssim_loss.h"

#include <math.h>
#include <string.h>

void loss_workspace_free(LossWorkspace *workspace) {
    workspace_free(&workspace->scene);
    ray_batch_free(&workspace->rays);
    point_cloud_free(&workspace->cloud);
    motion_cache_close(&workspace->motion);
}

// ---- terms of rendered pictures

// Weight of each ray in the pixel loss: 0 outside the workspace box (data.crop).
static const real *crop_weights(LossEpisode *e) {
    const RayBatch *rays = &e->workspace->rays;
    const double *bounds = e->frames->bounds;
    if (!e->model->config.data.crop || !bounds) return NULL;
    real *weight = tape_context(e->tape, rays->count * sizeof *weight);
    for (size_t r = 0; weight && r < rays->count; r++) {
        weight[r] = rays->depth[r] > 0;
        double turned[3], x[3];
        for (size_t c = 0; c < 3; c++)
            turned[c] = (double)(rays->origin[3 * r + c] + rays->depth[r] * rays->direction[3 * r + c]);
        observation_turn_back(e->frames, turned, x);
        for (size_t c = 0; c < 3; c++) {
            if (x[c] < bounds[c] || x[c] > bounds[3 + c]) weight[r] = 0;
        }
    }
    return weight ? tape_upload(e->tape, weight, rays->count, sizeof *weight) : NULL;
}

static Status loss_pixels(LossEpisode *e, Tensor **out, Error *err) {
    const real *weights = crop_weights(e);
    if (e->tape->device->failed) return device_status(e->tape->device, err);
    *out = reduce(e->tape, e->drawn.colour, REDUCE_SQUARE, e->colours, weights,
                  1 / (3.0 * (double)e->workspace->rays.count));
    if (e->step == 0) e->step0 = *out;
    e->last = *out;
    return STATUS_OK;
}

// Mean of |opacity (depth - truth)| / X over rays with depth. Opacity carries no gradient.
Status loss_depth(LossEpisode *e, Tensor **out, Error *err) {
    const RayBatch *rays = &e->workspace->rays;
    size_t n = rays->count, valid = 0;
    real *weight = tape_context(e->tape, n * sizeof *weight), *opacity = tape_context(e->tape, n * sizeof *opacity);
    if (!weight || !opacity) return device_status(e->tape->device, err);
    e->tape->device->nn->download(e->tape->device, opacity, e->drawn.opacity->value, n * sizeof *opacity);
    for (size_t r = 0; r < n; r++) valid += rays->depth[r] > 0 && opacity[r] > 0;
    for (size_t r = 0; r < n; r++) weight[r] = rays->depth[r] > 0 ? opacity[r] : 0;
    if (valid == 0) return STATUS_OK;
    *out = reduce(e->tape, e->drawn.depth, REDUCE_ABS, tape_upload(e->tape, rays->depth, n, sizeof(real)),
                  tape_upload(e->tape, weight, n, sizeof *weight), 1 / ((double)valid * e->model->config.data.extent));
    return STATUS_OK;
}

// The rays of patches come after the single rays of each view.
Status loss_ssim(LossEpisode *e, Tensor **out, Error *err) {
    size_t views = (size_t)e->frames->V, per_view = e->workspace->rays.count / views;
    size_t singles = (size_t)e->model->config.train.rays, side2 = SSIM_SIDE * SSIM_SIDE;
    size_t patches = (per_view - singles) / side2;
    int32_t *first = tape_context(e->tape, (views * patches + 1) * sizeof *first);
    if (!first) return device_status(e->tape->device, err);
    if (patches == 0) return STATUS_OK;
    for (size_t i = 0; i < views * patches; i++)
        first[i] = (int32_t)(i / patches * per_view + singles + i % patches * side2);
    *out = ssim_loss(e->tape, e->drawn.colour, e->colours, views * patches,
                     tape_upload(e->tape, first, views * patches, sizeof *first));
    return STATUS_OK;
}

// ---- the scene-flow term

// Predicted positions against those that follow the scene flow between consecutive frames of the video. Flow needs only
// depth and colour. It gives every particle a target, and so teaches motion in far fewer steps than pixels do.

enum { TRACK_NEIGHBOURS = 4 };

// Starts at the particles before this step, which are the last set but one.
static void start_track(Tape *tape, const Scene *scene, FlowTrack *track) {
    const Tensor *x = scene->sets.set[scene->sets.count - 2].x;
    track->y = tape_memory(tape, 3 * x->rows, sizeof *track->y);
    if (!tape->device->failed) tape->device->nn->copy(tape->device, track->y, x->value, 3 * x->rows * sizeof *track->y);
}

static void move_track(Tape *tape, const Vpd *model, const Scene *scene, const Observation *frames,
                       const MotionField *field, FlowTrack *track) {
    Device *device = tape->device;
    ArenaMark mark = arena_mark(&device->scratch);
    const GnnSet *present = &scene->sets.set[scene->sets.count - 1];
    size_t N = present->x->rows;
    Flow flow = motion_upload(tape, frames, field);
    real *u = device_scratch(device, 3 * N + 1);
    flow_at(device, &flow, &(FlowPoints){N, track->y, present->c}, (real)model->config.gnn.colour_length,
            TRACK_NEIGHBOURS, u, NULL);
    if (!device->failed) device->nn->row_add(device, &(RowAddArgs){3 * N, track->y, u, 1, track->y});
    arena_release(&device->scratch, mark);
}

// Weights 1 / (number of moving particles) for moving ones, and likewise for static ones.
static const real *weights_of(Tape *tape, const Vpd *model, const Scene *scene, size_t N) {
    real *weight = tape_context(tape, (N + 1) * sizeof *weight);
    size_t count[2] = {0};
    bool flags = vpd_has_bodies(model);
    for (size_t i = 0; i < N; i++) count[!flags || scene->moving[i] > 0]++;
    for (size_t i = 0; weight && i < N; i++) weight[i] = 1 / (real)count[!flags || scene->moving[i] > 0];
    return tape_upload(tape, weight, N, sizeof *weight);
}

Status flow_term(Tape *tape, const Vpd *model, const Scene *scene, const Observation *frames, const MotionField *field,
                 FlowTrack *track, Tensor **out, Error *err) {
    const Config *c = &model->config;
    Tensor *x = scene->sets.set[scene->sets.count - 1].x;
    if (!track->y) start_track(tape, scene, track);
    move_track(tape, model, scene, frames, field, track);
    // The track moves again at the next step, so the loss needs a copy.
    real *target = tape_memory(tape, 3 * x->rows, sizeof *target);
    if (!tape->device->failed) tape->device->nn->copy(tape->device, target, track->y, 3 * x->rows * sizeof *target);
    *out = reduce_huber(tape, x, target, weights_of(tape, model, scene, x->rows), 0.05 * c->data.extent,
                        1 / c->gnn.displacement_scale);
    return device_status(tape->device, err);
}

Status loss_flow(LossEpisode *e, Tensor **out, Error *err) {
    MotionFrame frame = {e->frames, e->last_input + e->step - 1, e->first};
    MotionField field;
    Status status = motion_cache_next(&e->workspace->motion, e->tape, e->model, &frame, &field, err);
    if (status != STATUS_OK) return status;
    return flow_term(e->tape, e->model, &e->scene, e->frames, &field, &e->track, out, err);
}

// ---- the nearest-point term

// Predicted particles against the depth of a later frame. It teaches contact: an object that sinks into another is
// hidden, and no pixel gives it a gradient. In metres over s,
//   (a) moving particles to the nearest point of the later frame,
//   (b) up to NEAREST_PIXELS pixels whose depth decreased, to the nearest moving particle.

enum { NEAREST_PIXELS = 200 };
enum { COLOUR = 3, APPEARANCE = 4 }; // extra coordinates: colour; colour and the moving flag

typedef struct NearestTerm {
    Tape *tape;
    const Vpd *model;
    const Scene *scene;
    Tensor *x; // (N,3) present positions
    size_t moving_count;
    const PointCloud *cloud; // of the later frame
    double X, colour_length, huber;
} NearestTerm;

static bool particle_moves(const NearestTerm *t, size_t i) {
    return !vpd_has_bodies(t->model) || t->scene->moving[i] > 0;
}

// Colours, scaled to metres. With `flags`, a fourth column puts static particles out of reach.
static real *appearance(const NearestTerm *t, const real *colour, size_t count, const int32_t *rows, bool flags) {
    size_t width = flags ? APPEARANCE : COLOUR;
    real *host = tape_context(t->tape, (count * width + 1) * sizeof *host);
    for (size_t i = 0; host && i < count; i++) {
        size_t row = rows ? (size_t)rows[i] : i;
        for (size_t c = 0; c < COLOUR; c++)
            host[i * width + c] = (real)(t->colour_length * (double)colour[3 * row + c]);
        if (flags) host[i * width + COLOUR] = !rows && !particle_moves(t, i) ? (real)(1e3 * t->X) : 0;
    }
    return tape_upload(t->tape, host, count * width, sizeof *host);
}

// (a) from every moving particle to the nearest point of the later frame
static Tensor *particles_to_points(const NearestTerm *t) {
    size_t n = t->x->rows, points = t->cloud->count;
    int32_t *index = tape_memory(t->tape, n, sizeof *index);
    real *weight = tape_context(t->tape, n * sizeof *weight),
         *place = tape_upload(t->tape, t->cloud->position, 3 * points, sizeof(real));
    const real *point_extra = appearance(t, t->cloud->colour, points, NULL, false),
               *query_extra = appearance(t, t->scene->colour, n, NULL, false);
    if (t->tape->device->failed) return NULL;
    knn(t->tape->device, &(KnnArgs){.points = points,
                                    .queries = n,
                                    .point = place,
                                    .query = t->x->value,
                                    .extra = COLOUR,
                                    .point_extra = point_extra,
                                    .query_extra = query_extra,
                                    .k = 1,
                                    .index = index});
    for (size_t i = 0; i < n; i++) weight[i] = particle_moves(t, i) ? 1 / (real)t->moving_count : 0;
    Tensor target = {.value = place, .rows = points, .cols = 3};
    Tensor *nearest = gather_rows(t->tape, &target, n, index);
    return reduce_huber(t->tape, t->x, nearest->value, tape_upload(t->tape, weight, n, sizeof *weight), t->huber,
                        1 / t->model->config.gnn.displacement_scale);
}

// Points of static cameras whose depth is smaller than in the last input frame by at least 0.01 X. If there are too
// many, those with the smallest random keys.
static size_t closer_points(const NearestTerm *t, const Observation *o, int frame, int last_input, int32_t *out) {
    size_t pixels = (size_t)o->H * (size_t)o->W, image = pixels * (size_t)o->V, found = 0;
    Keyed *items = tape_context(t->tape, (t->cloud->count + 1) * sizeof *items);
    const SceneKey *scene = &t->scene->key;
    RandomKey key = {scene->seed, RANDOM_NEAREST, scene->step * 64 + t->scene->rollout_step, scene->episode};
    for (size_t i = 0; items && i < t->cloud->count; i++) {
        size_t p = (size_t)t->cloud->pixel[i], view = p / pixels;
        const double *now_pose = o->world_from_camera + 16 * ((size_t)(frame * o->V) + view),
                     *then_pose = o->world_from_camera + 16 * ((size_t)(last_input * o->V) + view);
        double now = (double)o->depth[image * (size_t)frame + p],
               then = (double)o->depth[image * (size_t)last_input + p];
        if (!(then > 0) || then - now < 0.01 * t->X || memcmp(now_pose, then_pose, 16 * sizeof(double))) continue;
        items[found++] = (Keyed){choose_key(key, (uint64_t)o->views[view] * pixels + p % pixels), (int32_t)i};
    }
    if (!items) return 0;
    choose_sort(items, found);
    if (found > NEAREST_PIXELS) found = NEAREST_PIXELS;
    for (size_t i = 0; i < found; i++) out[i] = items[i].index;
    return found;
}

// (b) from pixels whose depth decreased to the nearest moving particle
static Tensor *points_to_particles(const NearestTerm *t, const Observation *o, int frame, int last_input) {
    int32_t *rows = tape_context(t->tape, NEAREST_PIXELS * sizeof *rows);
    size_t count = rows ? closer_points(t, o, frame, last_input, rows) : 0;
    if (count == 0) return NULL;
    real *place = tape_context(t->tape, 3 * count * sizeof *place);
    int32_t *index = tape_memory(t->tape, count, sizeof *index);
    for (size_t i = 0; place && i < count; i++)
        memcpy(place + 3 * i, t->cloud->position + 3 * rows[i], 3 * sizeof *place);
    const real *query = tape_upload(t->tape, place, 3 * count, sizeof *place);
    const real *point_extra = appearance(t, t->scene->colour, t->x->rows, NULL, true),
               *query_extra = appearance(t, t->cloud->colour, count, rows, true);
    if (t->tape->device->failed) return NULL;
    knn(t->tape->device, &(KnnArgs){.points = t->x->rows,
                                    .queries = count,
                                    .point = t->x->value,
                                    .query = query,
                                    .extra = APPEARANCE,
                                    .point_extra = point_extra,
                                    .query_extra = query_extra,
                                    .k = 1,
                                    .index = index});
    double scale = 1 / ((double)count * t->model->config.gnn.displacement_scale);
    return reduce_huber(t->tape, gather_rows(t->tape, t->x, count, index), query, NULL, t->huber, scale);
}

Status loss_nearest(LossEpisode *e, Tensor **out, Error *err) {
    const Config *c = &e->model->config;
    PointCloud *cloud = &e->workspace->cloud;
    int frame = e->last_input + e->step;
    NearestTerm t = {e->tape,
                     e->model,
                     &e->scene,
                     scene_present(&e->scene)->x,
                     0,
                     cloud,
                     c->data.extent,
                     c->gnn.colour_length,
                     0.01 * c->data.extent};
    Status status = unproject_frame(e->frames, frame, (UnprojectOptions){.crop = c->data.crop}, cloud, err);
    if (status != STATUS_OK) return status;
    for (size_t i = 0; i < t.x->rows; i++) t.moving_count += particle_moves(&t, i);
    if (cloud->count == 0 || t.moving_count == 0) return STATUS_OK;
    Tensor *a = particles_to_points(&t), *b = points_to_particles(&t, e->frames, frame, e->last_input);
    *out = a && b ? tensor_add(e->tape, a, b) : a;
    return STATUS_OK;
}

// ---- all terms

typedef struct LossTerm {
    const char *name, *words; // metric; its name in errors
    LossKind kind;
    size_t weight; // offset of the weight in TrainConfig; unused for pixels and bodies, whose weight is 1
    LossFunction *record;
} LossTerm;

#define LOSS_ROW(NAME, name, KIND, words, ...)                                                                         \
    [LOSS_##NAME] = {#name, words, LOSS_OF_##KIND, offsetof(TrainConfig, name##_term), loss_##name},
static const LossTerm terms[LOSS_TERM_COUNT] = {[LOSS_PIXELS] = {"pixels", "pixel", LOSS_OF_PICTURES, 0, loss_pixels},
                                                [LOSS_BODIES] = {"bodies", "bodies'", LOSS_OF_WINDOWS, 0, NULL},
                                                LOSS_TERMS(LOSS_ROW)};

const char *loss_term_name(LossTermId term) { return terms[term].name; }

static double weight_of(const TrainConfig *train, int term) {
    return term == LOSS_PIXELS || term == LOSS_BODIES ? 1 : *(const double *)((const char *)train + terms[term].weight);
}

Status loss_add_terms(LossEpisode *e, LossKind kind, double share, Error *err) {
    Status status = STATUS_OK;
    for (int i = 0; i < LOSS_TERM_COUNT && status == STATUS_OK; i++) {
        double weight = weight_of(&e->model->config.train, i);
        Tensor *term = NULL, **sum = &e->sum[i];
        if (terms[i].kind != kind || !(weight > 0)) continue;
        status = terms[i].record(e, &term, err);
        if (status != STATUS_OK || !term) continue;
        if (*sum) *sum = tensor_add_scaled(e->tape, *sum, term, (real)(weight * share));
        else *sum = tensor_scale(e->tape, term, (real)(weight * share));
    }
    return status;
}

void loss_parts_add(LossParts *sum, const LossParts *one, double weight) {
    sum->total += weight * one->total;
    for (int i = 0; i < LOSS_TERM_COUNT; i++) sum->term[i] += weight * one->term[i];
    sum->step0 += weight * one->step0;
    sum->last += weight * one->last;
    sum->spread += weight * one->spread;
    sum->motion += weight * one->motion;
    sum->particles = one->particles;
}

const char *loss_parts_not_finite(const LossParts *parts) {
    for (int i = 0; i < LOSS_TERM_COUNT; i++)
        if (!isfinite(parts->term[i])) return terms[i].words;
    return NULL;
}
