// SPDX-License-Identifier: Apache-2.0
// Which present particle each point of a past set or a cloud belongs to.
#include "edit/nearby.h"
#include "edit/scene.h"

#include "base/check.h"
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

// What a search near by may take; sorting a tree takes as long as to look at LOOKS particles for each of them.
static const NearbyLimits NEAR = {4, 1024};
enum { FEW = 1024, LOOKS = 256 };

// What further coordinates tell: colour, and moving flag and label in one; labels lie apart by more than the scene is
// long.
typedef struct Tells {
    bool colour, moving, label;
} Tells;

// Rows of coordinates as a search takes them.
typedef struct Rows {
    size_t count;
    real *x, *extra; // (count, 3), (count, NEARBY_EXTRA)
} Rows;

// The present particles for points that tell as much: in a grid, and, once something has to be searched, in a tree.
typedef struct Index {
    Device *device;
    Points now;
    double diagonal, reach; // of the scene; of the particles
    bool built, sorted;
    Tells tells;
    Rows rows;
    Nearby nearby;
    KnnIndex knn;
    ArenaMark mark;
} Index;

// Point i as the search sees it: its place, and in metres too what it tells beside.
static inline void coordinates(const Points *p, const Index *index, size_t i, real out[NEARBY_DIMS]) {
    const Tells tells = index->tells;
    const float colour = (float)(COLOUR_REACHES * index->reach / 255), moving = (float)(MOVING_REACHES * index->reach),
                label = (float)(4 * index->diagonal + 1);
    for (size_t c = 0; c < 3; c++) out[c] = p->x[3 * i + c];
    for (size_t c = 0; c < 3; c++) out[3 + c] = tells.colour ? (real)p->colour[3 * i + c] * colour : 0;
    out[6] = (tells.moving ? (real)p->moving[i] * moving : 0) + (tells.label ? (real)p->label[i] * label : 0);
}

static bool rows_open(Rows *rows, size_t count) {
    *rows = (Rows){count, malloc((3 * count + 1) * sizeof(real)), malloc((NEARBY_EXTRA * count + 1) * sizeof(real))};
    return rows->x && rows->extra;
}

static void rows_close(Rows *rows) {
    free(rows->x);
    free(rows->extra);
}

// Rows `which` of the points (NULL: all).
static void rows_fill(Rows *rows, const Points *p, const Index *index, const uint32_t *which) {
#pragma omp parallel for schedule(static)
    for (size_t r = 0; r < rows->count; r++) {
        real all[NEARBY_DIMS];
        coordinates(p, index, which ? which[r] : r, all);
        memcpy(rows->x + 3 * r, all, 3 * sizeof *all);
        memcpy(rows->extra + NEARBY_EXTRA * r, all + 3, NEARBY_EXTRA * sizeof *all);
    }
}

static void index_close(Index *index) {
    if (index->sorted) arena_release(&index->device->scratch, index->mark);
    nearby_close(&index->nearby);
    rows_close(&index->rows);
    index->built = index->sorted = false;
}

static bool tell_alike(Tells a, Tells b) { return a.colour == b.colour && a.moving == b.moving && a.label == b.label; }

static Status index_open(Index *index, Tells tells, Error *err) {
    if (index->built && tell_alike(index->tells, tells)) return STATUS_OK;
    index_close(index);
    index->tells = tells;
    index->built = true;
    if (!rows_open(&index->rows, index->now.count)) return scene_no_memory(err);
    rows_fill(&index->rows, &index->now, index, NULL);
    const Rows *rows = &index->rows;
    return nearby_open(&index->nearby, rows->count, rows->x, rows->extra, index->device->threads)
               ? STATUS_OK
               : scene_no_memory(err);
}

static Status index_sort(Index *index, Error *err) {
    const Rows *rows = &index->rows;
    if (index->sorted) return STATUS_OK;
    const KnnArgs args = {
        .points = rows->count, .point = rows->x, .extra = NEARBY_EXTRA, .point_extra = rows->extra, .k = 1};
    index->mark = arena_mark(&index->device->scratch);
    index->sorted = true;
    knn_index(index->device, &index->device->scratch, &args, &index->knn);
    return device_status(index->device, err);
}

// Owners of the points `which` (NULL: all) that have them within the limits, NEARBY_NONE of the others.
static void look_nearby(const Index *index, const Points *points, const uint32_t *which, size_t count,
                        NearbyLimits limits, uint32_t *owner) {
#pragma omp parallel for schedule(dynamic, 64) num_threads(index->device->threads)
    for (size_t first = 0; first < count; first += NEARBY_POINTS) {
        real x[NEARBY_POINTS][NEARBY_DIMS];
        uint32_t found[NEARBY_POINTS];
        size_t n = count - first < NEARBY_POINTS ? count - first : NEARBY_POINTS;
        for (size_t i = 0; i < n; i++) coordinates(points, index, which ? which[first + i] : first + i, x[i]);
        nearby_find(&index->nearby, limits, n, x, found);
        for (size_t i = 0; i < n; i++) owner[which ? which[first + i] : first + i] = found[i];
    }
}

// Which points have no owner yet, and how many they are.
static size_t list_left(const uint32_t *owner, size_t count, uint32_t *which) {
    size_t left = 0;
    for (size_t i = 0; i < count; i++) {
        which[left] = (uint32_t)i;
        left += owner[i] == NEARBY_NONE;
    }
    return left;
}

// The nearest present particles of the rows `which`.
static Status search(Index *index, const Points *points, const uint32_t *which, size_t count, uint32_t *owner,
                     Error *err) {
    Rows rows;
    uint32_t *found = malloc((count + 1) * sizeof *found);
    bool good = rows_open(&rows, count);
    Status status = good && found ? index_sort(index, err) : scene_no_memory(err);
    if (status == STATUS_OK) {
        rows_fill(&rows, points, index, which);
        KnnArgs args = {.points = index->now.count,
                        .queries = count,
                        .query = rows.x,
                        .extra = NEARBY_EXTRA,
                        .query_extra = rows.extra,
                        .k = 1,
                        .index = (int32_t *)found};
        knn_search(index->device, &index->knn, &args);
        status = device_status(index->device, err);
    }
    for (size_t r = 0; status == STATUS_OK && r < count; r++) owner[which[r]] = found[r];
    rows_close(&rows);
    free(found);
    return status;
}

// The nearest present particle of each point: near by; else farther for the few that no tree is worth; else in a tree.
static Status find_in(Index *index, const Points *points, uint32_t *owner, uint32_t *which, Error *err) {
    look_nearby(index, points, NULL, points->count, NEAR, owner);
    size_t left = list_left(owner, points->count, which);
    if (left > 0 && left < index->now.count / FEW) {
        look_nearby(index, points, which, left, (NearbyLimits){INFINITY, LOOKS * index->now.count / left}, owner);
        left = list_left(owner, points->count, which);
    }
    return left > 0 ? search(index, points, which, left, owner, err) : STATUS_OK;
}

// *out stays NULL after an error.
static Status find_owners(Index *index, const Points *points, uint32_t **out, Error *err) {
    const Points *now = &index->now;
    const Tells tells = {now->colour && points->colour, now->moving && points->moving, now->label && points->label};
    uint32_t *owner = malloc((points->count + 1) * sizeof *owner), *which = malloc((points->count + 1) * sizeof *which);
    Status status = owner && which ? index_open(index, tells, err) : scene_no_memory(err);
    if (status == STATUS_OK) status = find_in(index, points, owner, which, err);
    free(which);
    if (status == STATUS_OK) *out = owner;
    else free(owner);
    return status;
}

static bool untied(const RolloutFile *file, int k, bool cloud) {
    const RolloutSet *set = &file->sets[k];
    return cloud ? set->P > 0 && !set->cloud_ties : k > 0 && set->N > 0 && !set->ties;
}

static Status tie(RolloutFile *file, Index *index, bool cloud, Error *err) {
    Status status = STATUS_OK;
    for (int k = 0; k < file->set_count && status == STATUS_OK; k++) {
        RolloutSet *set = &file->sets[k];
        const Points points = cloud ? cloud_of(set) : particles_of(set);
        if (untied(file, k, cloud)) status = find_owners(index, &points, cloud ? &set->cloud_ties : &set->ties, err);
    }
    return status;
}

Status scene_tie(EditScene *scene, bool clouds, Error *err) {
    const RolloutSet *now = scene_now(scene);
    bool done = true;
    for (int k = 0; k < scene->file->set_count; k++)
        done = done && !untied(scene->file, k, false) && !(clouds && untied(scene->file, k, true));
    if (done) return STATUS_OK;
    Index index = {.device = scene->device, .now = particles_of(now), .diagonal = diagonal(now)};
    Status status = STATUS_OK;
    index.reach = REACH_SHARE * index.diagonal;
    if (now->radius) status = scene_reach(scene, &index.reach, err);
    if (now->N > EDIT_PARTICLES_MAX) return error_set(err, STATUS_BAD_INPUT, "%zu particles are too many", now->N);
    // Clouds first: they tell alike.
    if (status == STATUS_OK && clouds) status = tie(scene->file, &index, true, err);
    if (status == STATUS_OK) status = tie(scene->file, &index, false, err);
    index_close(&index);
    return status;
}
