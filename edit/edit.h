// SPDX-License-Identifier: Apache-2.0
// Editing of particles (docs/editing.md): a list of edits, from YAML, is applied to the state of a rollout file.
//   YAML  ->  edit_list_load | edit_list_add  ->  EditList;   RolloutFile (step s)  ->  edit_apply  ->  RolloutFile
//   without steps
// Each edit that was applied stands as one line of YAML in the file's edit history; edit_history_script makes a list of
// them again.
#ifndef VPD_EDIT_EDIT_H
#define VPD_EDIT_EDIT_H

#include "base/log.h"
#include "files/rollout_file.h"
#include "nn/device.h"

enum { EDIT_LIST_VERSION = 1, EDIT_LIST_BYTES_MAX = 1 << 20 };
#define EDIT_PARTICLES_MAX ((size_t)1 << 28) // what a rollout file may hold

typedef struct EditList EditList;

// An empty list; NULL without memory.
EditList *edit_list_create(void);
void edit_list_free(EditList *list); // accepts NULL

// Appends the edits of a file {version: 1, edits: [..]}; files that it names lie beside it. What is not understood is
// STATUS_BAD_INPUT.
Status edit_list_load(EditList *list, const char *path, Error *err);
// The same from text; `folder` is where files that it names lie.
Status edit_list_parse(EditList *list, const char *text, size_t length, const char *name, const char *folder,
                       Error *err);
// Appends one edit, "remove: {label: 2}"; files that it names lie in the working folder.
Status edit_list_add(EditList *list, const char *text, Error *err);
// Appends what a program gives: such a list, its edits alone ("- remove: {label: 2}" per line) or one edit.
Status edit_list_read(EditList *list, const char *text, const char *name, const char *folder, Error *err);
size_t edit_list_count(const EditList *list);

typedef struct EditReport {
    size_t before, after; // present particles
    size_t applied, skipped;
    double tie_seconds;  // rollout_tie, of what the file did not tell
    double edit_seconds; // the edits, without files that they read
} EditReport;

// Turns the state at `step` into a file without steps: that step is the present, the ones before it are the past sets.
// Motion is then that of the particles themselves. Step 0 of a file of format 1.x is an error: rollout_find_motion
// first.
Status edit_take_step(RolloutFile *file, size_t step, Error *err);

// Takes the step and applies all edits. What is left out because it selects nothing is said to `log` (NULL: not). After
// an error the file holds some of the edits and is good for rollout_file_free alone. A selection that is empty, a label
// that is not there and the like are STATUS_BAD_INPUT.
Status edit_apply(const EditList *list, Device *device, const Log *log, size_t step, RolloutFile *file,
                  EditReport *report, Error *err);

// Takes the step and appends the state of `other` at its step, as `compose` does: moved by `by` (metres), labels keep
// their names and get new numbers, `as` (NULL: not) gives all of it one label. Both files
// are changed; after an error they are good for rollout_file_free alone.
typedef struct EditAppend {
    size_t step, other_step;
    double by[3];
    const char *as;
} EditAppend;
Status edit_append(RolloutFile *file, RolloutFile *other, const EditAppend *append, Device *device, EditReport *report,
                   Error *err);

// Gives the present particles labels (N); past sets take those of the particles that their points are tied to. `names`:
// one line each, of label 0 first; NULL: the names stay. Steps stay.
Status edit_set_labels(RolloutFile *file, const uint16_t *labels, const char *names, Device *device, Error *err);

// The labels that particles have, in order, malloc'ed; none where the file has no labels.
typedef struct EditLabel {
    int label;
    char name[128];
    size_t particles;
    double centre[3]; // metres, of the present ones
} EditLabel;
Status edit_labels(const RolloutFile *file, EditLabel **out, size_t *count, Error *err);

// The history of a file as a list that can be applied to another, malloc'ed.
Status edit_history_script(const RolloutFile *file, char **out, Error *err);

#endif
