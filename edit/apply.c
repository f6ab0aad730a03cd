// SPDX-License-Identifier: Apache-2.0
// Applies a list of edits to the particles, in order.
#include "edit/scene.h"

#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

static Status run_one(EditScene *scene, const Edit *edit, const Mask *mask, bool *skipped, Error *err) {
    bool parts = edit->op == EDIT_MOVE || edit->op == EDIT_ROTATE || edit->op == EDIT_SCALE || edit->op == EDIT_THROW ||
                 edit->op == EDIT_DRIVE || edit->op == EDIT_SIMULATE;
    Status status = parts ? scene_part_bodies(scene, mask, err) : STATUS_OK;
    if (status != STATUS_OK) return status;
    switch (edit->op) {
    case EDIT_REMOVE: return edit_leave(scene, mask, false, err);
    case EDIT_KEEP: return edit_leave(scene, mask, true, err);
    case EDIT_MOVE: return scene_transform(scene, mask, SCENE_SAME, edit->by, 1, err);
    case EDIT_ROTATE: return edit_rotate(scene, edit, mask, err);
    case EDIT_SCALE: return edit_scale(scene, edit, mask, err);
    case EDIT_COPY: return edit_copy(scene, edit, mask, err);
    case EDIT_RECOLOUR: return edit_recolour(scene, edit, mask, err);
    case EDIT_THROW: return edit_throw(scene, edit, mask, err);
    case EDIT_DRIVE: return edit_drive(scene, edit, mask, err);
    case EDIT_SIMULATE: return edit_simulate(scene, edit, mask, err);
    case EDIT_LABEL: return edit_label(scene, edit, mask, err);
    case EDIT_CLUSTER: return edit_cluster(scene, edit, mask, err);
    case EDIT_COMPOSE: return edit_compose(scene, edit, skipped, err);
    }
    return STATUS_OK;
}

// Sets the mask of selected particles. With `if_empty: skip`, any wrong selection counts as empty, such as an unknown
// label.
static Status find_selected(const EditScene *scene, const Edit *edit, Mask *mask, bool *skipped, Error *err) {
    size_t N = scene_now(scene)->N;
    memset(mask, 1, N);
    if (!edit->select || edit->op == EDIT_COMPOSE) return STATUS_OK;
    Status status = select_evaluate(scene, edit->select, mask, err);
    if (status == STATUS_OK) status = scene_need_selected(scene, mask, "", err);
    *skipped = status == STATUS_BAD_INPUT && edit->if_empty;
    return *skipped ? STATUS_OK : status;
}

// Logs "remove: 192 particles of 2 labels", because a selection may match more or fewer particles than expected.
static void log_selection(const EditScene *scene, const Edit *edit, const Mask *mask) {
    const RolloutSet *now = scene_now(scene);
    size_t count[2] = {0}, labels = scene_labels_in(scene, mask);
    char text[60] = "", counts[80];
    bool bodies = edit->op == EDIT_SIMULATE && !edit->select && now->body; // all of them
    if (!scene->log || edit->op == EDIT_COMPOSE || (!edit->select && !bodies && edit->op != EDIT_CLUSTER)) return;
    if (labels && !bodies) snprintf(text, sizeof text, " of %zu label%s", labels, labels == 1 ? "" : "s");
    for (size_t i = 0; i < now->N; i++) count[rollout_is_hidden(now, i)] += mask[i] && (!bodies || now->body[i] >= 0);
    log_note(scene->log, "%s: %s%s", edit->word, rollout_count_text(count[0], count[1], counts), text);
}

static Status note(EditScene *scene, const Edit *edit, bool skipped, Error *err) {
    char *line = NULL;
    if (skipped && scene->log)
        log_note(scene->log, "%s:%zu: %s is left out: its selection is empty", edit->source, edit->line, edit->word);
    if (asprintf(&line, "%s%s", skipped ? "# left out, it selected nothing: " : "- ", edit->text) < 0)
        return scene_no_memory(err);
    Status status = rollout_file_note(scene->file, line, err);
    free(line);
    return status;
}

// What moves all particles moves the light with them, and the shadows that they show.
static Status run_on_all(EditScene *scene, const Edit *edit, const Mask *mask, bool *skipped, Error *err) {
    Status status = scene_cast_shadows(scene, STATUS_OK, err);
    if (status == STATUS_OK) status = run_one(scene, edit, mask, skipped, err);
    return status == STATUS_OK ? scene_see_shadows(scene, err) : status;
}

static bool places_all(const EditScene *scene, const Edit *edit, const Mask *mask) {
    size_t N = scene_now(scene)->N;
    return (edit->op == EDIT_MOVE || edit->op == EDIT_ROTATE || edit->op == EDIT_SCALE) && mask_count(mask, N) == N;
}

static Status apply_edit(EditScene *scene, const Edit *edit, EditReport *report, Error *err) {
    bool skipped = false;
    Mask *mask = malloc(scene_now(scene)->N + 1);
    Status status = mask ? find_selected(scene, edit, mask, &skipped, err) : scene_no_memory(err);
    if (status == STATUS_OK && !skipped) log_selection(scene, edit, mask);
    if (status == STATUS_OK && !skipped)
        status = (places_all(scene, edit, mask) ? run_on_all : run_one)(scene, edit, mask, &skipped, err);
    free(mask);
    *(skipped ? &report->skipped : &report->applied) += 1;
    if (status == STATUS_OK) return note(scene, edit, skipped, err);
    return error_prefix(err, "%s:%zu: %s", edit->source, edit->line, edit->word);
}

static Status note_step(RolloutFile *file, size_t step, Error *err) {
    char line[80];
    if (step == 0) return STATUS_OK;
    snprintf(line, sizeof line, "# at step %zu of a rollout (--step %zu):", step, step);
    return rollout_file_note(file, line, err);
}

// Makes the state at `step` the present and finds all owners, before the first edit.
static Status begin(EditScene *scene, size_t step, EditReport *report, Error *err) {
    const RolloutSet *now = scene_now(scene);
    *report = (EditReport){.before = now->N, .hidden_before = now->N - rollout_drawn(now)};
    rollout_surface_free(&scene->file->surface); // its numbers would be of other particles
    Status status = scene_see_shadows(scene, err);
    if (status == STATUS_OK) status = edit_take_step(scene->file, step, err);
    if (status == STATUS_OK) status = scene_forget_drives(scene, err); // their numbers may be given to new bodies
    if (status == STATUS_OK) status = note_step(scene->file, step, err);
    if (status == STATUS_OK) status = rollout_tie(scene->file, scene->device, err);
    return status;
}

// `start`: time at which the edits began.
static Status end(EditScene *scene, Status status, double start, EditReport *report, Error *err) {
    status = scene_cast_shadows(scene, status, err);
    if (status == STATUS_OK) status = scene_spread_labels(scene, err);
    report->edit_seconds = clock_now() - start;
    const RolloutSet *now = scene_now(scene);
    if (status == STATUS_OK) report->after = now->N, report->hidden_after = now->N - rollout_drawn(now);
    return status;
}

Status edit_apply(const EditList *list, Device *device, const Log *log, size_t step, RolloutFile *file,
                  EditReport *report, Error *err) {
    return edit_apply_coming(list, device, log, step, file, report, NULL, err);
}

Status edit_apply_coming(const EditList *list, Device *device, const Log *log, size_t step, RolloutFile *file,
                         EditReport *report, EditMechanics **coming, Error *err) {
    EditScene scene = {.file = file, .device = device, .log = log, .coming = coming};
    if (coming) *coming = NULL;
    double start = clock_now();
    Status status = begin(&scene, step, report, err);
    for (const Edit *edit = list->first; edit && status == STATUS_OK; edit = edit->next)
        status = apply_edit(&scene, edit, report, err);
    return end(&scene, status, start, report, err);
}

// A list with the edit `simulate`, which the caller frees.
static Status read_simulation(const char *name, const char *map, EditList **out, Error *err) {
    char *text = NULL;
    *out = edit_list_create();
    if (asprintf(&text, "simulate: %s", map) < 0) text = NULL;
    Status status = *out && text ? edit_list_add(*out, name, text, err) : scene_no_memory(err);
    free(text);
    if (status == STATUS_OK && (*out)->first->steps)
        status = error_set(err, STATUS_BAD_INPUT, "%s: steps: the rollout says how many", name);
    return status;
}

Status edit_simulation_check(const char *name, const char *map, Error *err) {
    EditList *list;
    Status status = read_simulation(name, map, &list, err);
    edit_list_free(list);
    return status;
}

Status edit_simulate_bodies(RolloutFile *file, const EditSimulation *simulation, Error *err) {
    EditScene scene = {.file = file, .log = simulation->log};
    EditList *list;
    Mask *mask = malloc(scene_now(&scene)->N + 1);
    bool skipped = false;
    Status status = read_simulation(simulation->name, simulation->map, &list, err);
    Edit *edit = status == STATUS_OK ? list->first : NULL;
    if (status == STATUS_OK && !mask) status = scene_no_memory(err);
    if (status == STATUS_OK) status = find_selected(&scene, edit, mask, &skipped, err);
    if (status == STATUS_OK && !skipped) {
        edit->steps = (long)simulation->steps;
        if (!edit->has_gravity && simulation->up) {
            edit->has_gravity = true;
            for (int c = 0; c < 3; c++) edit->gravity[c] = -EDIT_GRAVITY * simulation->up[c];
        }
        status = run_one(&scene, edit, mask, &skipped, err);
    }
    edit_list_free(list);
    free(mask);
    return status;
}

static Status note_append(RolloutFile *file, const RolloutFile *other, Error *err) {
    char line[256];
    snprintf(line, sizeof line, "# %zu particles of another scene (episode %s, frame %d) were appended through libvpd",
             other->sets[0].N, *other->episode ? other->episode : "unknown", other->first_frame);
    return rollout_file_note(file, line, err);
}

Status edit_append(RolloutFile *file, RolloutFile *other, const EditAppend *append, Device *device, EditReport *report,
                   Error *err) {
    EditScene scene = {.file = file, .device = device};
    double start = clock_now();
    Status status = begin(&scene, append->step, report, err);
    if (status == STATUS_OK) status = scene_append_file(&scene, other, append, err);
    if (status == STATUS_OK) status = note_append(file, other, err);
    report->applied = status == STATUS_OK;
    return end(&scene, status, start, report, err);
}

Status edit_set_labels(RolloutFile *file, const uint16_t *labels, const char *names, Device *device, Error *err) {
    EditScene scene = {.file = file, .device = device};
    Status status = rollout_tie(file, device, err);
    if (status == STATUS_OK) status = scene_set_labels(&scene, labels, names, err);
    if (status == STATUS_OK) status = rollout_file_note(file, "# labels were set through libvpd", err);
    return status == STATUS_OK ? scene_spread_labels(&scene, err) : status;
}
