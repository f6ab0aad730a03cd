// SPDX-License-Identifier: Apache-2.0
// Bodies that move as they are told, such as a gripper (docs/editing.md, "Driven bodies").
#include "edit/scene.h"

#include "base/camera.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROW_SHORT = 3, ROW_LONG = 7 };

// ---- reading

static Status read_row(const ArgumentReader *reader, const YamlNode *row, size_t number, double pose[7]) {
    size_t n = 0;
    double square = 0;
    bool good = row->kind == YAML_LIST && (row->count == ROW_SHORT || row->count == ROW_LONG);
    memcpy(pose, (double[]){0, 0, 0, 1, 0, 0, 0}, ROW_LONG * sizeof *pose);
    for (const YamlNode *item = good ? row->child : NULL; item; item = item->next)
        good = yaml_tree_number(item, &pose[n++]) && isfinite(pose[n - 1]) && fabs(pose[n - 1]) <= EDIT_FAR && good;
    for (int k = ROW_SHORT; k < ROW_LONG; k++) square += pose[k] * pose[k];
    if (good && fabs(square - 1) <= 2e-3) return STATUS_OK;
    return argument_error(reader, row,
                          "path, row %zu: expected [x, y, z], or [x, y, z, qw, qx, qy, qz] with a quaternion of length "
                          "1; numbers from %g to %g",
                          number, -EDIT_FAR, EDIT_FAR);
}

Status edit_path_read(const ArgumentReader *reader, const YamlNode *node, void *field) {
    EditPath *path = field;
    if (node->kind != YAML_LIST || node->count < 2 || node->count > EDIT_DRIVE_STEPS_MAX + 1)
        return argument_error(reader, node, "path: expected a list of poses, first the present one: 2 to %d rows",
                              EDIT_DRIVE_STEPS_MAX + 1);
    double *pose = calloc(node->count, ROW_LONG * sizeof *pose);
    Status status = pose ? STATUS_OK : error_no_memory(reader->err, "a path of %zu poses", node->count);
    *path = (EditPath){node->count, pose};
    size_t row = 0;
    for (const YamlNode *item = node->child; item && status == STATUS_OK; item = item->next, row++) {
        status = read_row(reader, item, row, pose + ROW_LONG * row);
        if (status == STATUS_OK && item->count != node->child->count)
            status = argument_error(reader, item, "path, row %zu: expected %zu numbers, as in row 0, found %zu", row,
                                    node->child->count, item->count);
    }
    return status;
}

// ---- motions [R t; 0 1]: x becomes R x + t

static void pose_of(const double row[7], double out[16]) {
    double R[9];
    rotation_from_quaternion(row + ROW_SHORT, R);
    pose_from_rotation(R, row, out);
}

static void motion_between(const double from[7], const double to[7], double out[16]) {
    double pose[16];
    pose_of(from, out);
    pose_inverse(out, out);
    pose_of(to, pose);
    pose_product(pose, out, out);
}

// ---- the edit

static Status check(const EditScene *scene, const Edit *edit, Error *err) {
    if (edit->has_velocity == (edit->path.rows > 0) || edit->has_velocity != (edit->steps > 0))
        return error_set(err, STATUS_BAD_INPUT, "expected `path`, or `velocity` and `steps`");
    if (!scene_now(scene)->body)
        return error_set(err, STATUS_BAD_INPUT,
                         "only bodies can be driven, and a model with the graph of the paper has none");
    if (edit->has_velocity && !(scene->file->time_step > 0))
        return error_set(err, STATUS_BAD_INPUT, "a velocity needs a time step, found %g s", scene->file->time_step);
    return STATUS_OK;
}

static Status add_steps(EditScene *scene, const Edit *edit, int32_t body, Error *err) {
    size_t steps = edit->has_velocity ? (size_t)edit->steps : edit->path.rows - 1;
    Status status = STATUS_OK;
    for (size_t step = 1; step <= steps && status == STATUS_OK; step++) {
        double motion[16];
        pose_identity(motion);
        for (int c = 0; c < 3; c++) motion[4 * c + 3] = edit->velocity[c] * scene->file->time_step;
        if (!edit->has_velocity)
            motion_between(edit->path.pose + ROW_LONG * (step - 1), edit->path.pose + ROW_LONG * step, motion);
        status = rollout_drive_add(&scene->file->drives, body, step, motion, err);
    }
    return status;
}

Status edit_drive(EditScene *scene, const Edit *edit, const Mask *mask, Error *err) {
    Status status = check(scene, edit, err);
    if (status == STATUS_OK) status = scene_embody(scene, mask, err);
    if (status == STATUS_OK) status = scene_release(scene, mask, err);
    if (status != STATUS_OK) return status;
    size_t numbers;
    Mask *marks = scene_bodies_of(scene_now(scene), mask, &numbers);
    if (!marks) return scene_no_memory(err);
    for (size_t b = 0; b < numbers && status == STATUS_OK; b++)
        if (marks[b]) status = add_steps(scene, edit, (int32_t)b, err);
    free(marks);
    return status;
}

Status edit_drive_label(RolloutFile *file, int label, size_t rows, const double *pose, Error *err) {
    EditScene scene = {.file = file};
    const Edit edit = {.op = EDIT_DRIVE, .path = {rows, pose}};
    const RolloutSet *now = scene_now(&scene);
    Mask *mask = calloc(now->N + 1, 1);
    if (!mask) return scene_no_memory(err);
    for (size_t i = 0; now->labels && i < now->N; i++) mask[i] = now->labels[i] == label;
    bool any = mask_count(mask, now->N) > 0;
    Status status = any ? scene_part_bodies(&scene, mask, err) : STATUS_OK;
    if (any && status == STATUS_OK) status = edit_drive(&scene, &edit, mask, err);
    free(mask);
    return status;
}
