// SPDX-License-Identifier: Apache-2.0
// The motions of driven bodies, while other edits change the bodies.
#include "edit/scene.h"

#include "base/camera.h"

#include <stdlib.h>
#include <string.h>

// The same motion of what has been moved by x -> A x + t, where A is a rotation times `factor`.
static void motion_carry(double motion[16], const double A[9], const double t[3], double factor) {
    double R[9], carry[16], back[16];
    for (int k = 0; k < 9; k++) R[k] = A[k] / factor;
    for (int c = 0; c < 3; c++) motion[4 * c + 3] *= factor;
    pose_from_rotation(R, t, carry);
    pose_inverse(carry, back);
    pose_product(motion, back, motion);
    pose_product(carry, motion, motion);
}

size_t scene_body_numbers(const RolloutSet *now) {
    int32_t most = 0;
    for (size_t i = 0; now->body && i < now->N; i++) most = now->body[i] >= most ? now->body[i] + 1 : most;
    return (size_t)most;
}

Mask *scene_bodies_of(const RolloutSet *now, const Mask *mask, size_t *numbers) {
    *numbers = scene_body_numbers(now);
    Mask *marks = calloc(*numbers + 1, 1);
    for (size_t i = 0; marks && *numbers && i < now->N; i++)
        if (now->body[i] >= 0 && (!mask || mask[i])) marks[now->body[i]] = 1;
    return marks;
}

// Drops the motions of bodies with (`selected`) or without selected particles.
static Status drop(EditScene *scene, const Mask *mask, bool selected, Error *err) {
    RolloutDrives *drives = &scene->file->drives;
    size_t numbers;
    if (!drives->count) return STATUS_OK;
    Mask *marks = scene_bodies_of(scene_now(scene), mask, &numbers);
    if (!marks) return scene_no_memory(err);
    for (size_t k = 0; k < drives->count; k++) {
        bool marked = (size_t)drives->body[k] < numbers && marks[drives->body[k]];
        if (marked == selected) drives->body[k] = -1;
    }
    rollout_drives_tidy(drives);
    free(marks);
    return STATUS_OK;
}

Status scene_release(EditScene *scene, const Mask *mask, Error *err) { return drop(scene, mask, true, err); }

Status scene_forget_drives(EditScene *scene, Error *err) { return drop(scene, NULL, false, err); }

Status scene_carry_drives(EditScene *scene, const Mask *mask, const double A[9], const double t[3], double factor,
                          Error *err) {
    RolloutDrives *drives = &scene->file->drives;
    size_t numbers;
    if (!drives->count) return STATUS_OK;
    Mask *marks = scene_bodies_of(scene_now(scene), mask, &numbers);
    if (!marks) return scene_no_memory(err);
    for (size_t k = 0; k < drives->count; k++)
        if ((size_t)drives->body[k] < numbers && marks[drives->body[k]])
            motion_carry(drives->motion + 16 * k, A, t, factor);
    free(marks);
    return STATUS_OK;
}

Status scene_copy_drives(EditScene *scene, const DriveCopies *copies, Error *err) {
    RolloutDrives *drives = &scene->file->drives;
    Status status = STATUS_OK;
    for (size_t k = 0, count = drives->count; k < count; k++) {
        size_t body = (size_t)drives->body[k];
        if (body >= copies->numbers || copies->kind[body] < 0) continue;
        for (size_t n = 0; n < copies->times && status == STATUS_OK; n++) {
            double motion[16], by[3];
            memcpy(motion, drives->motion + 16 * k, sizeof motion);
            for (int c = 0; c < 3; c++) by[c] = (double)(n + 1) * copies->by[c];
            motion_carry(motion, SCENE_SAME, by, 1);
            status = rollout_drive_add(drives, copies->first + (int32_t)(n * copies->kinds) + copies->kind[body],
                                       (size_t)drives->step[k], motion, err);
        }
    }
    return status;
}
