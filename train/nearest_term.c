// SPDX-License-Identifier: Apache-2.0
// The nearest-point term of the loss: predicted particles against the depth of a later frame (docs/model.md, "Losses").
// It teaches contact: an object that sinks into another is hidden, and no pixel gives it a gradient.
//   (a) moving particles to the nearest point of the later frame,
// (b) up to NEAREST_PIXELS pixels whose depth decreased, to the nearest moving particle,
// in metres over s.
#include "train/loss.h"

#include "base/random.h"
#include "nn/backend.h"
#include "nn/combine.h"
#include "nn/knn.h"
#include "nn/reduce.h"
#include "nn/rows.h"

#include <string.h>

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
    return t->model->config.gnn.moving_flag != SWITCH_ON || t->scene->moving[i] > 0;
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
