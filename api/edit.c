// SPDX-License-Identifier: Apache-2.0
// Edits of scenes (edit/edit.h). Each works on a copy that takes the scene's place when all went well: after an error
// the scene is what it was.
#include "edit/edit.h"
#include "api/api.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 128 }; // of a label

// One of three ways to edit a scene.
typedef struct Change {
    const EditList *list;     // edits; or
    const EditAppend *append; // `other` appended; or
    const vpd_scene *other;
    const uint16_t *labels; // (count) labels, with their names
    const char *names;
    size_t count, step;
} Change;

// Does it fit the scene?
static Status check_change(const Change *change, const RolloutFile *file, Error *err) {
    if (change->labels) return api_check_count(file, change->count, "labels", err);
    return api_check_step(file, change->step, err);
}

// The scene as it is changed. Labels leave its coming steps as they are.
typedef struct Changed {
    RolloutFile file;
    EditMechanics *coming;
    size_t told;
} Changed;

static Status change_file(const Change *change, Device *device, const Log *log, Changed *out, RolloutFile *other,
                          EditReport *report, Error *err) {
    RolloutFile *file = &out->file;
    if (change->list)
        return edit_apply_coming(change->list, device, log, change->step, file, report, &out->coming, err);
    if (change->append) return edit_append(file, other, change->append, device, report, err);
    return edit_set_labels(file, change->labels, change->names, device, err);
}

static Status copy_for(const vpd_scene *scene, const Change *change, Changed *out, Error *err) {
    if (!change->labels) return scene_copy_whole(scene, &out->file, err);
    out->coming = edit_mechanics_share(scene->coming);
    out->told = scene->told;
    return rollout_file_copy(&scene->file, &out->file, err);
}

// The model's own device may be a GPU; edits are made on the CPU.
static Status change_copy(const vpd_scene *scene, const Change *change, const Log *log, Changed *out,
                          RolloutFile *other, EditReport *report, Error *err) {
    Device *device = NULL;
    Status status = check_change(change, &scene->file, err);
    if (status == STATUS_OK) status = copy_for(scene, change, out, err);
    if (status == STATUS_OK) status = device_open("cpu", scene->model->session.device->threads, &device, err);
    if (status == STATUS_OK) status = change_file(change, device, log, out, other, report, err);
    device_close(device);
    return status;
}

// Its model may be another one than the scene's: never both locks at once.
static Status copy_other(const vpd_scene *other, size_t step, RolloutFile *out, Error *err) {
    Call call = call_begin(other->model, 0, false);
    Status status = api_check_step(&other->file, step, err);
    if (status != STATUS_OK) error_prefix(err, "other");
    else status = scene_copy_whole(other, out, err);
    call_end(&call);
    return status;
}

static Status check_report(const vpd_edit_report *report, Error *err) {
    return report ? API_CHECK_STRUCT(report, vpd_edit_report, err) : STATUS_OK;
}

static void give_report(const vpd_scene *scene, const EditReport *from, vpd_edit_report *to) {
    if (!to) return;
    *to = (vpd_edit_report){.struct_size = sizeof *to,
                            .before = from->before,
                            .after = from->after,
                            .applied = from->applied,
                            .skipped = from->skipped,
                            .warnings = scene->warnings};
}

// The scene takes what is in *changed and the warnings; *changed gets what the scene had.
static Status take_change(vpd_scene *scene, const ApiNotes *notes, Changed *changed, Error *err) {
    const Changed old = {scene->file, scene->coming, scene->told};
    char *warnings = api_notes_text(notes);
    if (!warnings) return error_set(err, STATUS_FAILED, "out of memory for warnings");
    free(scene->warnings);
    scene->warnings = warnings;
    scene->file = changed->file;
    scene->coming = changed->coming;
    scene->told = changed->told;
    *changed = old;
    return STATUS_OK;
}

// `report` may be NULL.
static Status change_scene(vpd_scene *scene, const Change *change, vpd_edit_report *report, Error *err) {
    Changed changed = {.coming = NULL};
    RolloutFile other = {0};
    ApiNotes notes = {0};
    EditReport done = {0};
    Status status = STATUS_OK;
    if (change->other) status = copy_other(change->other, change->append->other_step, &other, err);
    if (status == STATUS_OK) status = api_notes_open(&notes, err);
    if (status == STATUS_OK) {
        Call call = call_begin(scene->model, 0, false);
        status = change_copy(scene, change, &notes.log, &changed, &other, &done, err);
        if (status == STATUS_OK) status = take_change(scene, &notes, &changed, err);
        if (status == STATUS_OK) give_report(scene, &done, report);
        edit_mechanics_free(changed.coming);
        call_end(&call);
    }
    api_notes_free(&notes);
    rollout_file_free(&changed.file);
    rollout_file_free(&other);
    return status;
}

vpd_status vpd_scene_edit(vpd_scene *scene, size_t step, const char *edits, const char *folder, vpd_edit_report *report,
                          vpd_error *err) {
    Error e = {0};
    EditList *list = NULL;
    Status status = api_check_pointer(scene, "scene", &e);
    if (status == STATUS_OK) status = api_check_pointer(edits, "edits", &e);
    if (status == STATUS_OK) status = check_report(report, &e);
    if (status == STATUS_OK && !(list = edit_list_create()))
        status = error_set(&e, STATUS_FAILED, "out of memory for a list of edits");
    if (status == STATUS_OK) status = edit_list_read(list, edits, "edits", folder ? folder : ".", &e);
    if (status == STATUS_OK) status = change_scene(scene, &(Change){.list = list, .step = step}, report, &e);
    edit_list_free(list);
    return api_result(status, &e, err);
}

static Status check_append(const double by[3], const char *label, Error *err) {
    for (int c = 0; by && c < 3; c++)
        if (!isfinite(by[c])) return error_set(err, STATUS_BAD_INPUT, "by: expected finite metres, found %g", by[c]);
    if (!label || (*label && strlen(label) < NAME_BYTES && text_is_plain(label))) return STATUS_OK;
    return error_set(err, STATUS_BAD_INPUT,
                     "label: expected a name of 1 to %d bytes of UTF-8 without control characters, found %zu bytes",
                     NAME_BYTES - 1, strlen(label));
}

vpd_status vpd_scene_append(vpd_scene *scene, size_t step, const vpd_scene *other, size_t other_step,
                            const double by[3], const char *label, vpd_edit_report *report, vpd_error *err) {
    Error e = {0};
    EditAppend append = {.step = step, .other_step = other_step, .as = label};
    Status status = api_check_pointer(scene, "scene", &e);
    if (status == STATUS_OK) status = api_check_pointer(other, "other", &e);
    if (status == STATUS_OK) status = check_report(report, &e);
    if (status == STATUS_OK) status = check_append(by, label, &e);
    if (by) memcpy(append.by, by, sizeof append.by);
    if (status == STATUS_OK)
        status = change_scene(scene, &(Change){.append = &append, .other = other, .step = step}, report, &e);
    return api_result(status, &e, err);
}

vpd_status vpd_scene_set_labels(vpd_scene *scene, const uint16_t *labels, size_t count, const char *names,
                                vpd_error *err) {
    Error e = {0};
    Status status = api_check_pointer(scene, "scene", &e);
    if (status == STATUS_OK) status = api_check_pointer(labels, "labels", &e);
    const Change change = {.labels = labels, .names = names, .count = count};
    if (status == STATUS_OK) status = change_scene(scene, &change, NULL, &e);
    return api_result(status, &e, err);
}
