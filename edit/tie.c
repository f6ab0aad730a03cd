// SPDX-License-Identifier: Apache-2.0
// Which present particle each point of a past set or a cloud belongs to.
#include "edit/scene.h"

#include "nn/knn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// In metres that count for the distance, as shares of the scene's diagonal: a colour that differs by its whole range,
// and a moving flag that differs. A label that differs is farther than everything.
#define COLOUR_SHARE 0.05
#define MOVING_SHARE 0.1
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

// Colour, and moving flag and label in one coordinate: labels lie apart by more than the scene is long.
typedef struct Weights {
    bool colour, moving, label;
    float colour_length, moving_length, label_length;
} Weights;

static real *extra_of(const Points *p, const Weights *w) {
    real *out = malloc((p->count * EXTRA + 1) * sizeof *out);
    for (size_t i = 0; out && i < p->count; i++) {
        for (size_t c = 0; c < 3; c++)
            out[EXTRA * i + c] = w->colour ? (real)p->colour[3 * i + c] * w->colour_length / 255 : 0;
        out[EXTRA * i + 3] = (w->moving ? (real)p->moving[i] * w->moving_length : 0) +
                             (w->label ? (real)p->label[i] * w->label_length : 0);
    }
    return out;
}

// The nearest present particle of each point.
static Status find_owners(Device *device, const Points *now, const Points *points, double length, uint32_t **out,
                          Error *err) {
    Weights w = {.colour = now->colour && points->colour,
                 .moving = now->moving && points->moving,
                 .label = now->label && points->label,
                 .colour_length = (float)(COLOUR_SHARE * length),
                 .moving_length = (float)(MOVING_SHARE * length),
                 .label_length = (float)(4 * length + 1)};
    real *extra = extra_of(now, &w), *query_extra = extra_of(points, &w);
    *out = malloc((points->count + 1) * sizeof **out);
    Status status = extra && query_extra && *out ? STATUS_OK : scene_no_memory(err);
    if (status == STATUS_OK && points->count > 0) {
        knn(device, &(KnnArgs){.points = now->count,
                               .queries = points->count,
                               .point = now->x,
                               .query = points->x,
                               .extra = EXTRA,
                               .point_extra = extra,
                               .query_extra = query_extra,
                               .k = 1,
                               .index = (int32_t *)*out});
        status = device_status(device, err);
    }
    free(extra);
    free(query_extra);
    return status;
}

static uint32_t *count_up(size_t count) {
    uint32_t *out = malloc((count + 1) * sizeof *out);
    for (size_t i = 0; out && i < count; i++) out[i] = (uint32_t)i;
    return out;
}

Status scene_open(EditScene *scene, RolloutFile *file, size_t same, Device *device, const Log *log, Error *err) {
    const RolloutSet *now = &file->sets[0];
    const Points present = particles_of(now);
    double length = diagonal(now);
    Status status = STATUS_OK;
    *scene = (EditScene){.file = file, .device = device, .log = log};
    if (now->N > EDIT_PARTICLES_MAX) return error_set(err, STATUS_BAD_INPUT, "%zu particles are too many", now->N);
    for (int k = 0; k < file->set_count && status == STATUS_OK; k++) {
        const Points points = particles_of(&file->sets[k]), cloud = cloud_of(&file->sets[k]);
        bool known = k > 0 && (size_t)k < same, cloud_known = (size_t)k < same && same > 1 && cloud.count == now->N;
        if (known) scene->owner[k] = count_up(now->N);
        else if (k > 0) status = find_owners(device, &present, &points, length, &scene->owner[k], err);
        if (cloud_known) scene->cloud_owner[k] = count_up(now->N);
        else if (status == STATUS_OK)
            status = find_owners(device, &present, &cloud, length, &scene->cloud_owner[k], err);
        if (status == STATUS_OK && ((known && !scene->owner[k]) || (cloud_known && !scene->cloud_owner[k])))
            status = scene_no_memory(err);
    }
    return status;
}

void scene_close(EditScene *scene) {
    for (int k = 0; k < ROLLOUT_SETS_MAX; k++) {
        free(scene->owner[k]);
        free(scene->cloud_owner[k]);
    }
    *scene = (EditScene){0};
}
