// SPDX-License-Identifier: Apache-2.0
// Positions of selected particles, in all sets.
#include "edit/scene.h"

#include <math.h>

static void transform_points(const RolloutSet *set, float *x, const Mask *mask, const double A[9], const double t[3]) {
    for (size_t i = 0; x && i < set->N; i++) {
        if (!scene_selected(set, mask, i)) continue;
        float *p = x + 3 * i;
        double q[3];
        for (int r = 0; r < 3; r++) q[r] = A[3 * r] * p[0] + A[3 * r + 1] * p[1] + A[3 * r + 2] * p[2] + t[r];
        for (int r = 0; r < 3; r++) p[r] = (float)q[r];
    }
}

Status scene_transform(EditScene *scene, const Mask *mask, const double A[9], const double t[3], double factor,
                       Error *err) {
    for (int k = 0; k < scene->file->set_count; k++) {
        RolloutSet *set = &scene->file->sets[k];
        transform_points(set, set->positions, mask, A, t);
        transform_points(set, set->before, mask, A, t);
        for (size_t i = 0; set->radius && factor != 1 && i < set->N; i++)
            if (scene_selected(set, mask, i)) set->radius[i] = (float)(set->radius[i] * factor);
    }
    return scene_carry_drives(scene, mask, A, t, factor, err);
}

void scene_shift_past(EditScene *scene, const Mask *mask, const double by[3], const double bend[3]) {
    for (int k = 1; k < scene->file->set_count; k++) {
        double t[3];
        for (int c = 0; c < 3; c++) t[c] = k * by[c] + k * k * bend[c];
        transform_points(&scene->file->sets[k], scene->file->sets[k].positions, mask, SCENE_SAME, t);
    }
}

static void shift_rows(const RolloutSet *set, float *x, size_t first, size_t more, const double by[3]) {
    for (size_t i = 0; x && i < set->N; i++) {
        size_t particle = set->ties ? set->ties[i] : i;
        if (particle < first) continue;
        size_t copy = (particle - first) / more + 1;
        for (size_t c = 0; c < 3; c++) x[3 * i + c] = (float)(x[3 * i + c] + (double)copy * by[c]);
    }
}

void scene_shift_copies(EditScene *scene, size_t first, size_t more, const double by[3]) {
    for (int k = 0; k < scene->file->set_count; k++) {
        const RolloutSet *set = &scene->file->sets[k];
        shift_rows(set, set->positions, first, more, by);
        shift_rows(set, set->before, first, more, by);
    }
}

void scene_centre(const EditScene *scene, const Mask *mask, double centre[3]) {
    const RolloutSet *now = scene_now(scene);
    double sum[3] = {0}, count = 0;
    for (size_t i = 0; i < now->N; i++) {
        for (size_t c = 0; c < 3; c++) sum[c] += mask[i] ? now->positions[3 * i + c] : 0;
        count += mask[i];
    }
    for (int c = 0; c < 3; c++) centre[c] = sum[c] / fmax(count, 1);
}
