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

// The present particles at an earlier step, as a past set.
static bool past_of_step(const RolloutFile *file, size_t step, RolloutSet *out) {
    const RolloutSet *now = &file->sets[0];
    size_t N = now->N, D = now->D;
    const float *x = step ? file->positions + (step - 1) * 3 * N : now->positions;
    const float *f = step && file->features ? file->features + (step - 1) * D * N : now->features;
    *out = (RolloutSet){.N = N, .D = D};
    out->positions = copy_bytes(x, 12 * N);
    out->features = copy_bytes(f, 4 * D * N);
    out->colour = copy_bytes(now->colour, 3 * N);
    out->labels = copy_bytes(now->labels, 2 * N);
    out->ties = scene_count_up(N);
    return out->positions && !f == !out->features && !now->colour == !out->colour && !now->labels == !out->labels &&
           out->ties;
}

// Inserts the steps before `step` before the older past sets; those that no longer fit are freed.
static Status shift_past(RolloutFile *file, size_t step, Error *err) {
    RolloutFile spare = {0};
    RolloutSet *sets = file->sets, *fresh = spare.sets;
    size_t T = (size_t)file->set_count;
    bool good = true;
    for (size_t k = 1; k < T && k <= step && good; k++) good = past_of_step(file, step - k, &fresh[k]);
    for (size_t k = 1; k + step < T && good; k++) {
        fresh[k + step] = sets[k];
        sets[k] = (RolloutSet){0}; // NOLINT: fresh has the arrays
    }
    for (size_t k = 1; k < T && good; k++) {
        RolloutSet old = sets[k];
        sets[k] = fresh[k];
        fresh[k] = old;
    }
    rollout_file_free(&spare);
    return good ? STATUS_OK : scene_no_memory(err);
}

static void shift_present(RolloutFile *file, size_t step) {
    RolloutSet *now = &file->sets[0];
    size_t N = now->N, D = now->D;
    const float *x = file->positions + (step - 1) * 3 * N;
    if (now->before) memcpy(now->before, step > 1 ? x - 3 * N : now->positions, 12 * N);
    memcpy(now->positions, x, 12 * N);
    if (file->features) memcpy(now->features, file->features + (step - 1) * D * N, 4 * D * N);
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
    if (step > file->steps)
        return error_set(err, STATUS_BAD_INPUT, "--step: expected a step of the rollout, 0 to %zu, found %zu",
                         file->steps, step);
    if ((double)step * file->frame_stride + file->first_frame > 1e9)
        return error_set(err, STATUS_BAD_INPUT,
                         "first_frame %d and frame_stride %d: the frame of step %zu would be above 1e9",
                         file->first_frame, file->frame_stride, step);
    if (step > 0) {
        Status status = shift_past(file, step, err);
        if (status != STATUS_OK) return status;
        shift_present(file, step);
    }
    for (size_t k = 0; k < file->drives.count; k++) file->drives.step[k] -= (int32_t)step;
    rollout_drives_tidy(&file->drives);
    drop_steps(file, step);
    return STATUS_OK;
}
