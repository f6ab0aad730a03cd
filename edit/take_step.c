// SPDX-License-Identifier: Apache-2.0
// Makes a step of a rollout the present of a file without steps.
#include "edit/scene.h"

#include <stdlib.h>
#include <string.h>

static void *copy_bytes(const void *from, size_t bytes) {
    void *out = from ? malloc(bytes + 1) : NULL;
    if (out) memcpy(out, from, bytes);
    return out;
}

// What the present set alone has, at a step > 0.
static bool present_of_step(const RolloutFile *file, size_t step, RolloutSet *out) {
    const RolloutSet *now = &file->sets[0];
    size_t N = now->N;
    out->radius = copy_bytes(now->radius, 4 * N);
    if (!now->radius != !out->radius || !now->body) return !now->radius == !out->radius;
    out->body = copy_bytes(now->body, 4 * N);
    out->moving = copy_bytes(now->moving, N);
    out->before = copy_bytes(step > 1 ? file->positions + (step - 2) * 3 * N : now->positions, 12 * N);
    return out->body && out->moving && out->before;
}

// The present particles at a step of the rollout.
static bool set_of_step(const RolloutFile *file, size_t step, bool present, RolloutSet *out) {
    const RolloutSet *now = &file->sets[0];
    size_t N = now->N, D = now->D;
    const float *x = step ? file->positions + (step - 1) * 3 * N : now->positions;
    const float *f = step && file->features ? file->features + (step - 1) * D * N : now->features;
    *out = (RolloutSet){.N = N, .D = D};
    out->positions = copy_bytes(x, 12 * N);
    out->features = copy_bytes(f, 4 * D * N);
    out->colour = copy_bytes(now->colour, 3 * N);
    out->labels = copy_bytes(now->labels, 2 * N);
    bool good = out->positions && !f == !out->features && !now->colour == !out->colour && !now->labels == !out->labels;
    if (present) return good && present_of_step(file, step, out);
    out->ties = scene_count_up(N);
    return good && out->ties;
}

static void free_set(RolloutSet *set) {
    RolloutFile file = {.set_count = 1};
    file.sets[0] = *set;
    rollout_file_free(&file);
    *set = (RolloutSet){0};
}

// Inserts the states of the rollout before the older past sets; sets that no longer fit are freed.
static void shift_sets(RolloutFile *file, size_t step, RolloutSet *fresh, size_t same) {
    RolloutSet old[ROLLOUT_SETS_MAX];
    memcpy(old, file->sets, sizeof old);
    for (size_t k = 0; k < (size_t)file->set_count; k++) file->sets[k] = k < same ? fresh[k] : old[k - step];
    for (size_t k = 0; k < (size_t)file->set_count; k++) {
        bool kept = k > 0 && k + step < (size_t)file->set_count && step > 0;
        if (!kept) free_set(&old[k]);
    }
}

static void drop_steps(RolloutFile *file, size_t step) {
    size_t poses = 16 * (size_t)file->V;
    free(file->positions);
    free(file->features);
    file->positions = file->features = NULL;
    file->time[0] = file->time[step];
    if (file->camera_frames > 1)
        memmove(file->world_from_camera, file->world_from_camera + step * poses, poses * sizeof(double));
    if (file->V > 0) file->camera_frames = 1;
    file->first_frame = (int)((long)file->first_frame + (long)step * file->frame_stride);
    file->steps = 0;
}

Status edit_take_step(RolloutFile *file, size_t step, Error *err) {
    RolloutSet fresh[ROLLOUT_SETS_MAX] = {{0}};
    // number of sets that are states of the rollout
    size_t T = (size_t)file->set_count, same = step + 1 < T ? step + 1 : T;
    bool good = true;
    if (step > file->steps)
        return error_set(err, STATUS_BAD_INPUT, "--step: expected a step of the rollout, 0 to %zu, found %zu",
                         file->steps, step);
    if ((double)step * file->frame_stride + file->first_frame > 1e9)
        return error_set(err, STATUS_BAD_INPUT,
                         "first_frame %d and frame_stride %d: the frame of step %zu would be above 1e9",
                         file->first_frame, file->frame_stride, step);
    for (size_t k = 0; step > 0 && k < same && good; k++) good = set_of_step(file, step - k, k == 0, &fresh[k]);
    if (!good) {
        for (size_t k = 0; k < same; k++) free_set(&fresh[k]);
        return scene_no_memory(err);
    }
    if (step > 0) shift_sets(file, step, fresh, same);
    drop_steps(file, step);
    return STATUS_OK;
}
