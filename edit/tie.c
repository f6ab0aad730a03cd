// SPDX-License-Identifier: Apache-2.0
// Which present particle each point of a past set or a cloud belongs to.
#include "edit/answers.h"
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

// The present particles for points that tell as much: what was answered already, and, once something has to be
// searched, sorted.
typedef struct Index {
    Device *device;
    Points now;
    double diagonal, reach; // of the scene; of the particles
    bool built, sorted;
    Tells tells;
    Answers answers;
    KnnIndex knn;
    ArenaMark mark;
} Index;

// Point i as the search sees it: its place, and in metres too what it tells beside.
static inline void coordinates(const Points *p, const Index *index, size_t i, real out[ANSWER_DIMS]) {
    const Tells tells = index->tells;
    const float colour = (float)(COLOUR_REACHES * index->reach / 255), moving = (float)(MOVING_REACHES * index->reach),
                label = (float)(4 * index->diagonal + 1);
    for (size_t c = 0; c < 3; c++) out[c] = p->x[3 * i + c];
    for (size_t c = 0; c < 3; c++) out[3 + c] = tells.colour ? (real)p->colour[3 * i + c] * colour : 0;
    out[6] = (tells.moving ? (real)p->moving[i] * moving : 0) + (tells.label ? (real)p->label[i] * label : 0);
}

// Rows of coordinates, which the search takes apart.
typedef struct Rows {
    size_t count;
    real *x, *extra; // (count, 3), (count, EXTRA)
} Rows;

static bool rows_open(Rows *rows, size_t count) {
    *rows = (Rows){count, malloc((3 * count + 1) * sizeof(real)), malloc((EXTRA * count + 1) * sizeof(real))};
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
        real all[ANSWER_DIMS];
        coordinates(p, index, which ? which[r] : r, all);
        memcpy(rows->x + 3 * r, all, 3 * sizeof *all);
        memcpy(rows->extra + EXTRA * r, all + 3, EXTRA * sizeof *all);
    }
}

static void index_close(Index *index) {
    if (index->sorted) arena_release(&index->device->scratch, index->mark);
    answers_close(&index->answers);
    index->built = index->sorted = false;
}

static Status index_sort(Index *index, Error *err) {
    Rows rows;
    if (index->sorted) return STATUS_OK;
    if (!rows_open(&rows, index->now.count)) {
        rows_close(&rows);
        return scene_no_memory(err);
    }
    rows_fill(&rows, &index->now, index, NULL);
    const KnnArgs args = {.points = rows.count, .point = rows.x, .extra = EXTRA, .point_extra = rows.extra, .k = 1};
    index->mark = arena_mark(&index->device->scratch);
    index->sorted = true;
    knn_index(index->device, &index->device->scratch, &args, &index->knn);
    rows_close(&rows);
    return device_status(index->device, err);
}

// ---- answers without a search

// Whether a particle there is at distance 0 from none but those with the same coordinates. Differences of numbers below
// TINY may vanish when they are squared, those of larger ones do not.
#define TINY 1e-10f
static bool stands_apart(const Index *index, const real x[ANSWER_DIMS]) {
    bool fine = index->reach == 0 || COLOUR_REACHES * index->reach / 255 > 10 * TINY;
    return fine && fabsf(x[0]) > TINY && fabsf(x[1]) > TINY && fabsf(x[2]) > TINY;
}

enum { BLOCK = 32 }; // points whose places are fetched at once

// Adds points with their owners (NULL: each is a particle and its own).
static void remember(Index *index, const Points *points, const uint32_t *which, size_t count, const uint32_t *owner) {
    real x[BLOCK][ANSWER_DIMS];
    size_t place[BLOCK];
    for (size_t first = 0; first < count; first += BLOCK) {
        size_t n = count - first < BLOCK ? count - first : BLOCK;
        for (size_t b = 0; b < n; b++) {
            coordinates(points, index, which ? which[first + b] : first + b, x[b]);
            place[b] = answers_place(&index->answers, x[b]);
            __builtin_prefetch(&index->answers.places[place[b]], 1);
        }
        for (size_t b = 0; b < n; b++)
            if (owner || stands_apart(index, x[b]))
                answers_add(&index->answers, place[b], x[b], owner ? owner[which[first + b]] : (uint32_t)(first + b));
    }
}

// Owners of points that were met before, ANSWER_NONE of the others.
static void recall(const Index *index, const Points *points, uint32_t *owner) {
    const Tells tells = index->tells;
    CHECK(points->colour || !tells.colour);
    CHECK(points->moving || !tells.moving);
    CHECK(points->label || !tells.label);
#pragma omp parallel for schedule(static)
    for (size_t block = 0; block < (points->count + BLOCK - 1) / BLOCK; block++) {
        real x[BLOCK][ANSWER_DIMS];
        size_t place[BLOCK], first = block * BLOCK;
        size_t n = points->count - first < BLOCK ? points->count - first : BLOCK;
        for (size_t b = 0; b < n; b++) {
            coordinates(points, index, first + b, x[b]);
            place[b] = answers_place(&index->answers, x[b]);
            __builtin_prefetch(&index->answers.places[place[b]]);
        }
        for (size_t b = 0; b < n; b++) owner[first + b] = answers_find(&index->answers, place[b], x[b]);
    }
}

static bool tell_alike(Tells a, Tells b) { return a.colour == b.colour && a.moving == b.moving && a.label == b.label; }

static Status index_open(Index *index, Tells tells, size_t points, Error *err) {
    if (index->built && tell_alike(index->tells, tells)) return STATUS_OK;
    index_close(index);
    index->tells = tells;
    index->built = true;
    if (!answers_open(&index->answers, index->now.count + points)) return scene_no_memory(err);
    remember(index, &index->now, NULL, index->now.count, NULL);
    return STATUS_OK;
}

// ---- with one

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
                        .extra = EXTRA,
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

// The nearest present particle of each point; *out stays NULL after an error.
static Status find_owners(Index *index, const Points *points, uint32_t **out, Error *err) {
    const Points *now = &index->now;
    const Tells tells = {now->colour && points->colour, now->moving && points->moving, now->label && points->label};
    uint32_t *owner = malloc((points->count + 1) * sizeof *owner), *which = malloc((points->count + 1) * sizeof *which);
    size_t left = 0;
    Status status = owner && which ? STATUS_OK : scene_no_memory(err);
    if (status == STATUS_OK) status = index_open(index, tells, points->count, err);
    if (status == STATUS_OK) recall(index, points, owner);
    for (size_t i = 0; status == STATUS_OK && i < points->count; i++) {
        which[left] = (uint32_t)i;
        left += owner[i] == ANSWER_NONE;
    }
    if (status == STATUS_OK && left > 0) status = search(index, points, which, left, owner, err);
    if (status == STATUS_OK && left > 0) remember(index, points, which, left, owner);
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
    // Clouds first: they tell alike, and points of past sets are among them.
    if (status == STATUS_OK && clouds) status = tie(scene->file, &index, true, err);
    if (status == STATUS_OK) status = tie(scene->file, &index, false, err);
    index_close(&index);
    return status;
}
