// SPDX-License-Identifier: Apache-2.0
// Gives one object the look of another. With the centres of both aligned, each point takes features and colour from the
// nearest particle of the source.
#include "edit/scene.h"

#include "nn/knn.h"

#include <stdlib.h>
#include <string.h>

// Copies of the source particles, because the present particles change while they are read.
typedef struct Look {
    size_t count, D;
    float *x, *f;
    uint8_t *colour;
    double centre[3];
    Device *device;
} Look;

static void look_free(Look *look) {
    free(look->x);
    free(look->f);
    free(look->colour);
}

static Status copy_look(const EditScene *scene, const Mask *source, Look *out, Error *err) {
    const RolloutSet *now = scene_now(scene);
    size_t count = mask_count(source, now->N), n = 0;
    *out = (Look){.count = count, .D = now->D, .device = scene->device};
    out->x = malloc((3 * count + 1) * sizeof *out->x);
    out->f = now->features ? malloc((now->D * count + 1) * sizeof *out->f) : NULL;
    out->colour = now->colour ? malloc(3 * count + 1) : NULL;
    if (!out->x || !now->features != !out->f || !now->colour != !out->colour) return scene_no_memory(err);
    for (size_t i = 0; i < now->N; i++) {
        if (!source[i]) continue;
        memcpy(out->x + 3 * n, now->positions + 3 * i, 3 * sizeof *out->x);
        if (out->f) memcpy(out->f + now->D * n, now->features + now->D * i, now->D * sizeof *out->f);
        if (out->colour) memcpy(out->colour + 3 * n, now->colour + 3 * i, 3);
        n++;
    }
    scene_centre(scene, source, out->centre);
    return STATUS_OK;
}

// Finds the selected rows of a set, and their positions after their centre is moved to the source's.
static size_t place_rows(const RolloutSet *set, const Mask *mask, const double to[3], uint32_t *index, float *place) {
    const float *x = set->positions;
    double centre[3] = {0};
    size_t count = 0;
    for (size_t i = 0; i < set->N; i++) {
        if (!scene_selected(set, mask, i)) continue;
        index[count++] = (uint32_t)i;
        for (size_t c = 0; c < 3; c++) centre[c] += x[3 * i + c];
    }
    for (size_t r = 0; r < count; r++)
        for (size_t c = 0; c < 3; c++)
            place[3 * r + c] = (float)(x[3 * (size_t)index[r] + c] - centre[c] / (double)count + to[c]);
    return count;
}

static Status apply_look(const Look *look, RolloutSet *set, const Mask *mask, Error *err) {
    uint32_t *index = malloc((set->N + 1) * sizeof *index);
    int32_t *nearest = malloc((set->N + 1) * sizeof *nearest);
    float *place = malloc((3 * set->N + 1) * sizeof *place);
    Status status = index && nearest && place ? STATUS_OK : scene_no_memory(err);
    size_t count = status == STATUS_OK ? place_rows(set, mask, look->centre, index, place) : 0;
    if (count > 0) {
        knn_host(
            look->device,
            &(KnnArgs){
                .points = look->count, .queries = count, .point = look->x, .query = place, .k = 1, .index = nearest});
        status = device_status(look->device, err);
    }
    for (size_t r = 0; status == STATUS_OK && r < count; r++) {
        size_t from = (size_t)nearest[r], to = index[r], D = look->D;
        if (set->features && look->f) memcpy(set->features + D * to, look->f + D * from, D * sizeof *look->f);
        if (set->colour && look->colour) memcpy(set->colour + 3 * to, look->colour + 3 * from, 3);
    }
    free(index);
    free(nearest);
    free(place);
    return status;
}

Status scene_recolour(EditScene *scene, const Mask *mask, const Mask *source, Error *err) {
    Look look;
    Status status = copy_look(scene, source, &look, err);
    for (int k = 0; k < scene->file->set_count && status == STATUS_OK; k++)
        status = apply_look(&look, &scene->file->sets[k], mask, err);
    look_free(&look);
    return status;
}
