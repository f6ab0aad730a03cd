// SPDX-License-Identifier: Apache-2.0
#include "infer/truth.h"

#include "edit/edit.h"
#include "infer/motion.h"

#include <stdlib.h>
#include <string.h>

static Status check(const RolloutFile *r, const EpisodeInfo *info, Error *err) {
    if (info->O == 0 || !info->object_position)
        return error_set(err, STATUS_BAD_INPUT, "episode %s: the data have no poses of objects (state/object_position)",
                         info->name);
    if (!r->sets[0].labels)
        return error_set(err, STATUS_BAD_INPUT, "episode %s: its particles have no labels that name their objects",
                         info->name);
    if (r->edit_history && *r->edit_history)
        return error_set(err, STATUS_BAD_INPUT, "an edited rollout cannot be compared with the recording");
    if (r->first_frame < 0 || r->first_frame >= info->F || r->frame_stride < 1)
        return error_set(err, STATUS_BAD_INPUT, "episode %s: expected fewer than %d frames before step 0, found %d",
                         info->name, info->F, r->first_frame);
    return STATUS_OK;
}

static MotionStep poses(const EpisodeInfo *info, size_t first, size_t frame) {
    size_t O = (size_t)info->O;
    MotionStep step = {.objects = info->O,
                       .position0 = info->object_position + 3 * O * first,
                       .position1 = info->object_position + 3 * O * frame};
    if (info->object_quaternion) {
        step.quaternion0 = info->object_quaternion + 4 * O * first;
        step.quaternion1 = info->object_quaternion + 4 * O * frame;
    }
    return step;
}

static void move_particles(const RolloutSet *now, const MotionStep *step, const TrueMotion *motion, float *out) {
    for (size_t i = 0; i < now->N; i++) {
        const float *x = now->positions + 3 * i;
        int k = now->labels[i] - 1;
        for (size_t c = 0; c < 3; c++) {
            out[3 * i + c] = x[c];
            if (k < 0 || k >= step->objects) continue;
            double place = motion[k].t[c];
            for (size_t d = 0; d < 3; d++) place += motion[k].R[3 * c + d] * (double)x[d];
            out[3 * i + c] = (float)place;
        }
    }
}

// Drops what the recording does not reach, and features that belong to predicted steps.
static void shorten(RolloutFile *out, size_t steps) {
    if (out->camera_frames > 1) out->camera_frames = (int)steps + 1;
    out->steps = steps;
    free(out->features);
    out->features = NULL;
}

Status truth_of_rollout(const RolloutFile *rollout, const EpisodeInfo *info, RolloutFile *out, Error *err) {
    *out = (RolloutFile){0};
    Status status = check(rollout, info, err);
    TrueMotion *motion = status == STATUS_OK ? calloc((size_t)info->O, sizeof *motion) : NULL;
    if (status == STATUS_OK && !motion) status = error_set(err, STATUS_FAILED, "out of memory for true poses");
    if (status == STATUS_OK) status = rollout_file_copy(rollout, out, err);
    if (status == STATUS_OK) {
        size_t first = (size_t)rollout->first_frame, stride = (size_t)rollout->frame_stride,
               most = ((size_t)info->F - 1 - first) / stride;
        shorten(out, rollout->steps < most ? rollout->steps : most);
        for (size_t s = 1; s <= out->steps; s++) {
            MotionStep step = poses(info, first, first + s * stride);
            for (int k = 0; k < info->O; k++) motion[k] = motion_of_object(&step, k);
            move_particles(&out->sets[0], &step, motion, out->positions + (s - 1) * 3 * out->sets[0].N);
        }
    }
    free(motion);
    return status;
}

// (rows, 7) where an object is in the frames of the present and the coming steps.
static void take_poses(const EpisodeInfo *info, const RolloutFile *rollout, int object, size_t rows, double *out) {
    for (size_t row = 0; row < rows; row++, out += 7) {
        size_t frame = (size_t)rollout->first_frame + row * (size_t)rollout->frame_stride,
               at = frame * (size_t)info->O + (size_t)object;
        const double still[4] = {1, 0, 0, 0}, *turn = info->object_quaternion;
        memcpy(out, info->object_position + 3 * at, 3 * sizeof *out);
        memcpy(out + 3, turn ? turn + 4 * at : still, sizeof still);
    }
}

Status truth_objects(const EpisodeInfo *info, const IntList *asked, IntList *out, Error *err) {
    *out = *asked;
    for (int i = 0; i < asked->count; i++) {
        if (out->v[i] < 0) out->v[i] += info->O;
        if (out->v[i] < 0 || out->v[i] >= info->O)
            return error_set(
                err, STATUS_BAD_INPUT,
                "episode %s: expected a driven object from 0 to %d, or from -1 (the last) to -%d, found %d", info->name,
                info->O - 1, info->O, asked->v[i]);
    }
    return STATUS_OK;
}

static bool has_particles(const RolloutSet *now, int object) {
    for (size_t i = 0; i < now->N; i++)
        if (now->labels[i] == object + 1) return true;
    return false;
}

Status truth_drive(const EpisodeInfo *info, const IntList *objects, RolloutFile *rollout, const Log *log, Error *err) {
    IntList list;
    Status status = check(rollout, info, err);
    if (status == STATUS_OK) status = truth_objects(info, objects, &list, err);
    if (status != STATUS_OK) return status;
    size_t rows = (size_t)((info->F - 1 - rollout->first_frame) / rollout->frame_stride) + 1;
    double *pose = malloc(7 * rows * sizeof *pose);
    if (!pose) return error_no_memory(err, "true poses");
    for (int i = 0; i < list.count && status == STATUS_OK; i++) {
        if (!has_particles(&rollout->sets[0], list.v[i]))
            log_warning(
                log,
                "episode %s: object %d is not driven, because it has no particles: no input view sees it at frame %d",
                info->name, list.v[i], rollout->first_frame);
        if (rows < 2) continue;
        take_poses(info, rollout, list.v[i], rows, pose);
        status = edit_drive_label(rollout, list.v[i] + 1, rows, pose, err);
    }
    free(pose);
    return status;
}
