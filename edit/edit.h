// SPDX-License-Identifier: Apache-2.0
// Editing of particles (docs/editing.md). A list of edits, read from YAML, is applied to the state of a rollout file:
//   YAML -> edit_list_load | edit_list_add -> EditList
//   RolloutFile at step s -> edit_apply -> RolloutFile without steps
// The file's edit history holds each applied edit as one line of YAML. edit_history_script turns the history into a
// list of edits again.
#ifndef VPD_EDIT_EDIT_H
#define VPD_EDIT_EDIT_H

#include "base/log.h"
#include "files/rollout_file.h"
#include "nn/device.h"

enum { EDIT_LIST_VERSION = 1, EDIT_LIST_BYTES_MAX = 1 << 20 };
#define EDIT_PARTICLES_MAX ((size_t)1 << 28) // most particles of a rollout file

typedef struct EditList EditList;

// An empty list, or NULL if memory is short.
EditList *edit_list_create(void);
void edit_list_free(EditList *list); // accepts NULL

// Appends the edits of a file {version: 1, edits: [..]}. Relative paths in it are relative to the file. A syntax error
// or an unknown edit is STATUS_BAD_INPUT.
Status edit_list_load(EditList *list, const char *path, Error *err);
// The same from text. Relative paths are relative to `folder`.
Status edit_list_parse(EditList *list, const char *text, size_t length, const char *name, const char *folder,
                       Error *err);
// Appends one edit such as "remove: {label: 2}", which errors call `name`. Relative paths are relative to the working
// folder.
Status edit_list_add(EditList *list, const char *name, const char *text, Error *err);
// Appends text from a program: a whole list, its edits alone ("- remove: {label: 2}" per line), or one edit.
Status edit_list_read(EditList *list, const char *text, const char *name, const char *folder, Error *err);
size_t edit_list_count(const EditList *list);

typedef struct EditReport {
    size_t before, after;               // number of present particles, hidden points among them
    size_t hidden_before, hidden_after; // number of hidden points
    size_t applied, skipped;
    double edit_seconds;
} EditReport;

// Replaces a rollout by its state at `step`: that step becomes the present. The step before it says where bodies were
// one time step ago; the steps before it become the past sets.
Status edit_take_step(RolloutFile *file, size_t step, Error *err);

// Takes the step and applies all edits. `log` (may be NULL) is told of edits that are left out because their selection
// is empty. An empty selection or an unknown label is otherwise STATUS_BAD_INPUT. After an error the file holds some of
// the edits, and the only valid call is rollout_file_free.
Status edit_apply(const EditList *list, Device *device, const Log *log, size_t step, RolloutFile *file,
                  EditReport *report, Error *err);

// Mechanics (`simulate`) whose steps are computed when they are asked for.
typedef struct EditMechanics EditMechanics;
// As edit_apply; but where `simulate` is the last edit, its motions are not in the file yet: *coming is to tell them.
// It is NULL otherwise.
Status edit_apply_coming(const EditList *list, Device *device, const Log *log, size_t step, RolloutFile *file,
                         EditReport *report, EditMechanics **coming, Error *err);
// Adds the motions of the first `steps` steps to a file that has those of the first *told, as far as there are any;
// raises *told. `mechanics` may be NULL: nothing is done. `log` (may be NULL) shows the progress of long work.
Status edit_mechanics_tell(EditMechanics *mechanics, RolloutFile *file, size_t *told, size_t steps, const Log *log,
                           Error *err);
// For a copy of the file. Who shares them must not use them at the same time. Each of both accepts NULL.
EditMechanics *edit_mechanics_share(EditMechanics *mechanics);
void edit_mechanics_free(EditMechanics *mechanics);

// Takes the step and appends the state of `other` at its own step, moved by `by` (metres). Labels of `other` get new
// numbers and keep their names; `as` (may be NULL) gives all of it one label. Both files are changed. After an error
// the only valid call for both is rollout_file_free.
typedef struct EditAppend {
    size_t step, other_step;
    double by[3];
    const char *as;
} EditAppend;
Status edit_append(RolloutFile *file, RolloutFile *other, const EditAppend *append, Device *device, EditReport *report,
                   Error *err);

// Sets the labels (N) of the present particles. Particles of past sets take the labels of their owners. `names`: one
// line per label, from label 0 on; NULL keeps the names. Steps are kept.
Status edit_set_labels(RolloutFile *file, const uint16_t *labels, const char *names, Device *device, Error *err);

// Drives what has a label by poses (rows, 7), as the edit `drive` does with a path, but without a line in the history.
// Nothing is done if no particle has the label.
Status edit_drive_label(RolloutFile *file, int label, size_t rows, const double *pose, Error *err);

// Simulates bodies for the coming steps as the edit `simulate` does, but without a line in the history.
typedef struct EditSimulation {
    const char *name, *map; // what errors call it; the keys of the edit but `steps`, in YAML: "{}"
    size_t steps;           // at least 1
    const double *up;       // a unit vector against gravity; NULL: as the edit finds it
    const Log *log;         // warnings; may be NULL
} EditSimulation;
Status edit_simulate_bodies(RolloutFile *file, const EditSimulation *simulation, Error *err);

// Whether it takes this map: STATUS_BAD_INPUT names what is wrong.
Status edit_simulation_check(const char *name, const char *map, Error *err);

// The labels that particles have, in rising order, malloc'ed; none if the file has no labels.
typedef struct EditLabel {
    int label;
    char name[128];
    size_t particles, hidden; // hidden points are counted apart
    double centre[3];         // metres, mean of the present particles and images
} EditLabel;
Status edit_labels(const RolloutFile *file, EditLabel **out, size_t *found, Error *err);

// The edit history as a list that can be applied to another file, malloc'ed.
Status edit_history_script(const RolloutFile *file, char **out, Error *err);

#endif
