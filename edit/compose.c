// SPDX-License-Identifier: Apache-2.0
// Adds the particles of another file.
#include "edit/scene.h"

#include "base/time_step.h"

#include <stdlib.h>
#include <string.h>

// Features can only be combined if the same model made them.
static Status check_model(const RolloutFile *a, const RolloutFile *b, Error *err) {
    size_t D = a->sets[0].D, E = b->sets[0].D;
    if (D != E || a->set_count != b->set_count)
        return error_set(
            err, STATUS_BAD_INPUT,
            "expected %d input sets of %zu features as in the edited file, found %d of %zu: another model made it",
            a->set_count, D, b->set_count, E);
    if (*a->checkpoint_hash && *b->checkpoint_hash && strcmp(a->checkpoint_hash, b->checkpoint_hash) != 0)
        return error_set(err, STATUS_BAD_INPUT,
                         "expected particles of the checkpoint %s, found those of %s: another model made them",
                         a->checkpoint_hash, b->checkpoint_hash);
    if (!time_step_same(a->time_step, b->time_step))
        return error_set(err, STATUS_BAD_INPUT, "expected a time step of %g s as in the edited file, found %g s",
                         a->time_step, b->time_step);
    return STATUS_OK;
}

// Labels of the other file, except the background, get numbers that are free here. They keep their names.
static Status renumber(EditScene *scene, EditScene *other, const char *as, Error *err) {
    RolloutSet *from = scene_now(other);
    if (!from->labels && !*as) return STATUS_OK;
    Status status = scene_need_labels(scene, err);
    if (status == STATUS_OK) status = scene_need_labels(other, err);
    uint16_t *map = calloc(LABELS, sizeof *map);
    EditName *names = malloc(LABELS * sizeof *names);
    if (status == STATUS_OK && (!map || !names)) status = scene_no_memory(err);
    long count = 0, first = 0;
    for (size_t i = 0; status == STATUS_OK && i < from->N; i++) map[*as ? 1 : from->labels[i]] = 1;
    const char *line = scene_names(other);
    for (long l = 0; status == STATUS_OK && l < LABELS; l++) {
        EditName name;
        line = rollout_label_line(line, l, name, sizeof name);
        if (l == 0 || !map[l]) continue;
        memcpy(names[count], *as ? as : name, EDIT_NAME_SIZE);
        map[l] = (uint16_t)++count;
    }
    if (status == STATUS_OK && count > 0) status = scene_new_labels(scene, count, &first, err);
    if (status == STATUS_OK && count > 0) status = scene_name_labels(scene, first, count, (const EditName *)names, err);
    for (size_t i = 0; status == STATUS_OK && i < from->N; i++) {
        uint16_t rank = *as ? 1 : map[from->labels[i]];
        from->labels[i] = from->labels[i] == 0 && !*as ? 0 : (uint16_t)(first + rank - 1);
    }
    free(map);
    free(names);
    return status;
}

static Status narrow(EditScene *other, const Edit *edit, bool *skipped, Error *err) {
    size_t N = scene_now(other)->N;
    Mask *mask = malloc(N + 1);
    Status status = mask ? STATUS_OK : scene_no_memory(err);
    if (status == STATUS_OK) memset(mask, 1, N);
    if (status == STATUS_OK && edit->select) status = select_evaluate(other, edit->select, mask, err);
    if (status == STATUS_OK) status = scene_need_selected(other, mask, "", err);
    *skipped = status == STATUS_BAD_INPUT && edit->if_empty;
    if (status == STATUS_OK) status = scene_keep(other, mask, err);
    if (status == STATUS_OK) {
        memset(mask, 1, scene_now(other)->N);
        status = scene_transform(other, mask, SCENE_SAME, edit->by, 1, err);
    }
    free(mask);
    return *skipped ? STATUS_OK : status;
}

// Joins all of `file`, at the edit's step, with the scene. `file` is changed.
static Status join_file(EditScene *scene, RolloutFile *file, const Edit *edit, bool *skipped, Error *err) {
    EditScene other = {.file = file, .device = scene->device, .log = scene->log};
    Status status = check_model(scene->file, file, err);
    if (status == STATUS_OK && scene->shadows) status = scene_see_shadows(&other, err);
    if (status == STATUS_OK) status = edit_take_step(file, (size_t)edit->step, err);
    if (status == STATUS_OK) status = rollout_tie(file, scene->device, err);
    if (status == STATUS_OK) status = narrow(&other, edit, skipped, err);
    if (status == STATUS_OK && !*skipped) status = renumber(scene, &other, edit->as, err);
    if (status == STATUS_OK && !*skipped) status = scene_join(scene, &other, err);
    arena_free(&other.memory);
    return status;
}

Status edit_compose(EditScene *scene, const Edit *edit, bool *skipped, Error *err) {
    RolloutFile file = {0};
    Status status = rollout_file_read(edit->file, &file, err);
    if (status != STATUS_OK) return status;
    status = join_file(scene, &file, edit, skipped, err);
    if (status != STATUS_OK) error_prefix(err, "%s", edit->file);
    rollout_file_free(&file);
    return status;
}

Status scene_append_file(EditScene *scene, RolloutFile *other, const EditAppend *append, Error *err) {
    Edit edit = {.op = EDIT_COMPOSE, .step = (long)append->other_step};
    bool skipped = false;
    memcpy(edit.by, append->by, sizeof edit.by);
    if (append->as) snprintf(edit.as, sizeof edit.as, "%s", append->as);
    return join_file(scene, other, &edit, &skipped, err);
}
