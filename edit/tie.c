// SPDX-License-Identifier: Apache-2.0
// Which present particle each point of a past set or a cloud belongs to.
#include "edit/scene.h"

#include "nn/knn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// In metres that count for the distance, as multiples of the particles' reach: a colour that differs by its whole
// range, and a moving flag that differs. A label that differs is farther than everything. Without radii the reach is
// taken as a share of the scene's diagonal.
#define COLOUR_REACHES 2
#define MOVING_REACHES 4
#define REACH_SHARE 0.02
enum { EXTRA = 4 };

// Points of one set or cloud.
typedef struct Points {
    size_t count;
    const float *x;
    const uint8_t *colour, *moving;
    const uint16_t *label;
} Points;

static Points particles_of(const RolloutSet *set) {
    return (Points){set->N, set->positions, set->colour, set->moving, set->labels};
}
static Points cloud_of(const RolloutSet *set) {
    return (Points){set->P, set->cloud_positions, set->cloud_colour, set->cloud_moving, NULL};
}

// Diagonal of the box around the particles.
static double diagonal(const RolloutSet *set) {
    double sum = 0;
    for (int c = 0; c < 3; c++) {
        float low = INFINITY, high = -INFINITY;
        for (size_t i = 0; i < set->N; i++) {
            low = fminf(low, set->positions[3 * i + (size_t)c]);
            high = fmaxf(high, set->positions[3 * i + (size_t)c]);
        }
        sum += ((double)high - low) * ((double)high - low);
    }
    return sqrt(sum);
}

// What further coordinates tell: colour, and moving flag and label in one; labels lie apart by more than the scene is
// long.
typedef struct Tells {
    bool colour, moving, label;
} Tells;

// The sorted present particles, for points that tell as much.
typedef struct Index {
    Device *device;
    Points now;
    double diagonal, reach; // of the scene; of the particles
    bool built;
    Tells tells;
    KnnIndex knn;
    ArenaMark mark;
} Index;

static real *extra_of(const Points *p, Tells tells, const Index *index) {
    const float colour = (float)(COLOUR_REACHES * index->reach / 255), moving = (float)(MOVING_REACHES * index->reach),
                label = (float)(4 * index->diagonal + 1);
    real *out = malloc((p->count * EXTRA + 1) * sizeof *out);
#pragma omp parallel for
    for (size_t i = 0; i < (out ? p->count : 0); i++) {
        for (size_t c = 0; c < 3; c++) out[EXTRA * i + c] = tells.colour ? (real)p->colour[3 * i + c] * colour : 0;
        out[EXTRA * i + 3] =
            (tells.moving ? (real)p->moving[i] * moving : 0) + (tells.label ? (real)p->label[i] * label : 0);
    }
    return out;
}

static KnnArgs knn_args(const Index *index, const real *point_extra) {
    return (KnnArgs){
        .points = index->now.count, .point = index->now.x, .extra = EXTRA, .point_extra = point_extra, .k = 1};
}

static void index_close(Index *index) {
    if (index->built) arena_release(&index->device->scratch, index->mark);
    index->built = false;
}

static Status index_open(Index *index, Tells tells, Error *err) {
    if (index->built && memcmp(&index->tells, &tells, sizeof tells) == 0) return STATUS_OK;
    index_close(index);
    real *extra = extra_of(&index->now, tells, index);
    if (!extra) return scene_no_memory(err);
    const KnnArgs args = knn_args(index, extra);
    index->mark = arena_mark(&index->device->scratch);
    index->built = true;
    index->tells = tells;
    knn_index(index->device, &index->device->scratch, &args, &index->knn);
    free(extra);
    return device_status(index->device, err);
}

// The nearest present particle of each point.
static Status find_owners(Index *index, const Points *points, uint32_t **out, Error *err) {
    const Points *now = &index->now;
    const Tells tells = {now->colour && points->colour, now->moving && points->moving, now->label && points->label};
    *out = malloc((points->count + 1) * sizeof **out);
    if (!*out) return scene_no_memory(err);
    if (points->count == 0) return STATUS_OK;
    Status status = index_open(index, tells, err);
    real *extra = status == STATUS_OK ? extra_of(points, tells, index) : NULL;
    if (status == STATUS_OK && !extra) status = scene_no_memory(err);
    if (status == STATUS_OK) {
        KnnArgs args = knn_args(index, NULL);
        args.queries = points->count;
        args.query = points->x;
        args.query_extra = extra;
        args.index = (int32_t *)*out;
        knn_search(index->device, &index->knn, &args);
        status = device_status(index->device, err);
    }
    free(extra);
    return status;
}

static uint32_t *count_up(size_t count) {
    uint32_t *out = malloc((count + 1) * sizeof *out);
    for (size_t i = 0; out && i < count; i++) out[i] = (uint32_t)i;
    return out;
}

Status scene_open(EditScene *scene, RolloutFile *file, size_t same, Device *device, const Log *log, Error *err) {
    const RolloutSet *now = &file->sets[0];
    Index index = {.device = device, .now = particles_of(now), .diagonal = diagonal(now)};
    Status status = STATUS_OK;
    *scene = (EditScene){.file = file, .device = device, .log = log};
    index.reach = REACH_SHARE * index.diagonal;
    if (now->radius) status = scene_reach(scene, &index.reach, err);
    if (now->N > EDIT_PARTICLES_MAX) return error_set(err, STATUS_BAD_INPUT, "%zu particles are too many", now->N);
    for (int k = 0; k < file->set_count && status == STATUS_OK; k++) {
        const Points points = particles_of(&file->sets[k]), cloud = cloud_of(&file->sets[k]);
        bool known = k > 0 && (size_t)k < same, cloud_known = (size_t)k < same && same > 1 && cloud.count == now->N;
        if (known) scene->owner[k] = count_up(now->N);
        else if (k > 0) status = find_owners(&index, &points, &scene->owner[k], err);
        if (cloud_known) scene->cloud_owner[k] = count_up(now->N);
        else if (status == STATUS_OK) status = find_owners(&index, &cloud, &scene->cloud_owner[k], err);
        if (status == STATUS_OK && ((known && !scene->owner[k]) || (cloud_known && !scene->cloud_owner[k])))
            status = scene_no_memory(err);
    }
    index_close(&index);
    return status;
}

void scene_close(EditScene *scene) {
    for (int k = 0; k < ROLLOUT_SETS_MAX; k++) {
        free(scene->owner[k]);
        free(scene->cloud_owner[k]);
    }
    *scene = (EditScene){0};
}
