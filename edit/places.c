// SPDX-License-Identifier: Apache-2.0
// Edits that move, rotate, scale and throw particles.
#include "edit/scene.h"

#include "base/vector.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PI 3.14159265358979323846

static void centre_of(const EditScene *scene, const Edit *edit, const Mask *mask, double out[3]) {
    if (edit->has_about) memcpy(out, edit->about, sizeof edit->about);
    else scene_centre(scene, mask, out);
}

// p := A (p - centre) + centre
static Status transform_about(EditScene *scene, const Mask *mask, const double A[9], const double centre[3],
                              double factor, Error *err) {
    double t[3];
    for (int r = 0; r < 3; r++)
        t[r] = centre[r] - A[3 * r] * centre[0] - A[3 * r + 1] * centre[1] - A[3 * r + 2] * centre[2];
    return scene_transform(scene, mask, A, t, factor, err);
}

// Rodrigues' formula for the rotation matrix.
static void rotation(const double axis[3], double degrees, double R[9]) {
    double length = sqrt(axis[0] * axis[0] + axis[1] * axis[1] + axis[2] * axis[2]), c = cos(degrees * PI / 180),
           s = sin(degrees * PI / 180), n[3];
    for (int i = 0; i < 3; i++) n[i] = axis[i] / length;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) R[3 * i + j] = (1 - c) * n[i] * n[j] + (i == j ? c : 0);
    R[1] -= s * n[2], R[2] += s * n[1], R[3] += s * n[2];
    R[5] -= s * n[0], R[6] -= s * n[1], R[7] += s * n[0];
}

// The light turns with a whole scene.
static void turn_light(RolloutFile *file, const double R[9]) {
    double from[3];
    memcpy(from, file->light, sizeof from);
    for (int r = 0; r < 3; r++) file->light[r] = vector_dot(R + 3 * r, from);
}

Status edit_rotate(EditScene *scene, const Edit *edit, const Mask *mask, Error *err) {
    double centre[3], R[9];
    centre_of(scene, edit, mask, centre);
    rotation(edit->axis, edit->angle, R);
    if (mask_count(mask, scene_now(scene)->N) == scene_now(scene)->N) turn_light(scene->file, R);
    return transform_about(scene, mask, R, centre, 1, err);
}

Status edit_scale(EditScene *scene, const Edit *edit, const Mask *mask, Error *err) {
    const double A[9] = {edit->factor, 0, 0, 0, edit->factor, 0, 0, 0, edit->factor};
    double centre[3];
    centre_of(scene, edit, mask, centre);
    return transform_about(scene, mask, A, centre, edit->factor, err);
}

static Status check_throw(const EditScene *scene, const Edit *edit, const Mask *mask, Error *err) {
    const RolloutFile *file = scene->file;
    size_t past = 0;
    if (edit->has_gravity && !edit->replace)
        return error_set(
            err, STATUS_BAD_INPUT,
            "gravity is allowed only with `replace: true`; the motion that is kept otherwise already includes it");
    if (!(file->time_step > 0))
        return error_set(err, STATUS_BAD_INPUT, "a velocity needs a time step, found %g s", file->time_step);
    if (file->sets[0].body) return STATUS_OK;
    if (file->set_count < 2)
        return error_set(err, STATUS_BAD_INPUT, "a velocity needs bodies or a past set; the file has neither");
    for (size_t i = 0; i < file->sets[1].N; i++) past += mask[file->sets[1].ties[i]];
    if (past > 0 || edit->replace) return STATUS_OK;
    return error_set(err, STATUS_BAD_INPUT,
                     "the past set has no particles of the selection; `replace: true` adds them");
}

// The velocity of bodies lies between where they were one time step ago and where they are.
static Status throw_bodies(EditScene *scene, const Edit *edit, const Mask *mask, const double back[3], Error *err) {
    Status status = scene_release(scene, mask, err);
    if (status == STATUS_OK) status = scene_embody(scene, mask, err);
    if (status == STATUS_OK) scene_shift_before(scene, mask, back, edit->replace);
    return status;
}

Status edit_throw(EditScene *scene, const Edit *edit, const Mask *mask, Error *err) {
    const double *v = edit->velocity, dt = scene->file->time_step;
    bool moves = v[0] != 0 || v[1] != 0 || v[2] != 0;
    double by[3], bend[3], back[3];
    Status status = check_throw(scene, edit, mask, err);
    if (status != STATUS_OK) return status;
    if (!moves && !edit->replace) return scene_release(scene, mask, err);
    for (int c = 0; c < 3; c++) by[c] = -v[c] * dt, bend[c] = 0.5 * edit->gravity[c] * dt * dt;
    for (int c = 0; c < 3; c++) back[c] = by[c] + bend[c];
    if (scene_now(scene)->body) return throw_bodies(scene, edit, mask, back, err);
    if (edit->replace) status = scene_replace_past(scene, mask, err);
    if (status == STATUS_OK) scene_shift_past(scene, mask, by, bend);
    return status;
}
