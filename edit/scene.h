// SPDX-License-Identifier: Apache-2.0
// The scene under edit, shared by edit/*.c alone. Some scenes have rigid bodies, others past sets, whose particles are
// each owned by one present particle (files/rollout_ties.h). An edit selects present particles and treats everything
// that they own alike, so that past sets stay consistent with the present.
#ifndef VPD_EDIT_SCENE_H
#define VPD_EDIT_SCENE_H

#include "edit/list.h"
#include "files/rollout_ties.h"
#include "model/shadows.h"

typedef struct EditScene {
    RolloutFile *file; // has no rollout steps
    Device *device;
    const Log *log;
    Shadows *shadows; // that were seen, in `memory`; NULL: none
    Arena memory;
    EditMechanics **coming; // those of the last edit, which are not computed yet; NULL: all are, at once
} EditScene;

// (N) 1 for each present particle that is selected, else 0.
typedef uint8_t Mask;

static inline RolloutSet *scene_now(const EditScene *scene) { return &scene->file->sets[0]; }
// Whether the owner of a row is selected; a present particle owns itself.
static inline bool scene_selected(const RolloutSet *set, const Mask *mask, size_t row) {
    return mask[set->ties ? set->ties[row] : row];
}
static inline Status scene_no_memory(Error *err) {
    return error_set(err, STATUS_FAILED, "out of memory for the edited particles");
}

// ---- rows of all sets (edit/rows.c)

size_t mask_count(const Mask *mask, size_t count);
// An error if `mask` selects no particle; `argument` begins it: "" for the selection itself, which `if_empty` allows.
Status scene_need_selected(const EditScene *scene, const Mask *mask, const char *argument, Error *err);
// (count) the numbers 0, 1, ..; NULL if memory is short.
uint32_t *scene_count_up(size_t count);
// Keeps the selected particles alone.
Status scene_keep(EditScene *scene, const Mask *mask, Error *err);
// Appends `times` copies of the selected particles. New present particles come last, copy by copy.
Status scene_append(EditScene *scene, const Mask *mask, size_t times, Error *err);
// Appends all particles of another scene with as many sets and features.
Status scene_join(EditScene *scene, EditScene *other, Error *err);
// Replaces the past of the selected particles by their present positions.
Status scene_replace_past(EditScene *scene, const Mask *mask, Error *err);

// ---- values (edit/values.c)

// p := A p + t for the selected particles; A is stored by rows. Radii are multiplied by the factor.
static const double SCENE_SAME[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}; // no rotation
Status scene_transform(EditScene *scene, const Mask *mask, const double A[9], const double t[3], double factor,
                       Error *err);
// Moves the selected particles of past set k by k `by` + k^2 `bend`.
void scene_shift_past(EditScene *scene, const Mask *mask, const double by[3], const double bend[3]);
// From particle `first` on, the particles are copies of `more` particles each. Copy n = 1, 2, .. is moved by n `by`.
void scene_shift_copies(EditScene *scene, size_t first, size_t more, const double by[3]);
// Mean position of the selected particles, of which there is at least one.
void scene_centre(const EditScene *scene, const Mask *mask, double centre[3]);
// The selected particles take features and colours of those in `source` (edit/recolour.c).
Status scene_recolour(EditScene *scene, const Mask *mask, const Mask *source, Error *err);

// ---- rigid bodies (edit/bodies.c)

// The selected particles of a body that also has others become a body of their own, which is driven like the rest.
Status scene_part_bodies(EditScene *scene, const Mask *mask, Error *err);
// From particle N on, the particles are copies of `more` particles each; the bodies of each copy become its own. Copy n
// = 1, 2, .. was moved by n `by`.
Status scene_number_copies(EditScene *scene, size_t N, size_t more, const double by[3], Error *err);
// The bodies of `other` get numbers that are free in the scene.
Status scene_shift_numbers(const EditScene *scene, EditScene *other, Error *err);
// Selected particles that stood still join the body of most selected particles of their label, as if they had moved
// with it. Where there is none, those of one label become a body that stands still. Without labels, all count as one.
Status scene_embody(EditScene *scene, const Mask *mask, Error *err);
// One time step ago, the selected particles were at: where they were, or where they are if `from_now`; moved by `by`.
void scene_shift_before(EditScene *scene, const Mask *mask, const double by[3], bool from_now);

// ---- motions of driven bodies (edit/drives.c)

// One more than the largest number of a body; 0 without bodies.
size_t scene_body_numbers(const RolloutSet *now);
// Marks the bodies, by number, that have selected particles, or with `mask` NULL particles at all; malloc'ed
// (*numbers). NULL if memory is short.
Mask *scene_bodies_of(const RolloutSet *now, const Mask *mask, size_t *numbers);

// Bodies with selected particles are free again.
Status scene_release(EditScene *scene, const Mask *mask, Error *err);
// Forgets how bodies were driven that have no particles.
Status scene_forget_drives(EditScene *scene, Error *err);
// Selected bodies were moved by x -> A x + t, where A is a rotation times `factor`: they are driven from there.
Status scene_carry_drives(EditScene *scene, const Mask *mask, const double A[9], const double t[3], double factor,
                          Error *err);
// Copies of bodies: copy n = 1, 2, .. of body b is body first + (n - 1) kinds + kind[b], and lies beside it by n `by`.
typedef struct DriveCopies {
    const int32_t *kind; // (numbers) -1: has no copies
    size_t numbers, kinds, times;
    int32_t first;
    double by[3]; // metres
} DriveCopies;

// They are driven as the bodies that they are copies of.
Status scene_copy_drives(EditScene *scene, const DriveCopies *copies, Error *err);

// ---- shadows (edit/shadows.c)

// Notes what each present particle shows of shadows, before particles are changed.
Status scene_see_shadows(EditScene *scene, Error *err);
// Shadows fall where bodies are now. Whatever `status` is, the notes are freed; returns it, or an error.
Status scene_cast_shadows(EditScene *scene, Status status, Error *err);

// ---- labels (edit/labels.c)

// Creates labels, all 0, if there are none.
Status scene_need_labels(EditScene *scene, Error *err);
enum { LABELS = 65536 }; // u16
// Marks in mark[LABELS] all labels with this name, or else the one with this number. A label that neither particles nor
// names have is an error, which lists the labels of the particles.
Status scene_find_labels(const EditScene *scene, const char *name, uint8_t *mark, Error *err);
// Number of different labels of the selected particles; 0 without labels.
size_t scene_labels_in(const EditScene *scene, const Mask *mask);
// The first of `count` consecutive numbers that neither particles nor names use.
Status scene_new_labels(EditScene *scene, long count, long *first, Error *err);
// The first label with this name.
bool scene_label_named(const EditScene *scene, const char *name, long *out);
typedef char EditName[EDIT_NAME_SIZE];
Status scene_name_labels(EditScene *scene, long first, long count, const EditName *names, Error *err);
// The names of labels, one a line, for rollout_label_line.
const char *scene_names(const EditScene *scene);
// Sets the labels of all present particles, with names as edit_set_labels takes them.
Status scene_set_labels(EditScene *scene, const uint16_t *labels, const char *names, Error *err);
// Past particles take the labels of their owners.
Status scene_spread_labels(EditScene *scene, Error *err);

// ---- shapes (edit/floor.c, edit/clusters.c)

// Median support radius of the particles, the default of several lengths.
Status scene_median_radius(const EditScene *scene, double *out, Error *err);
// The largest plane: its unit normal, towards the cameras (or +z without cameras), and offset = n . p.
Status scene_floor(const EditScene *scene, const FloorOptions *options, double normal[3], double *offset,
                   double *within, Error *err);
// Cluster of each particle, 1 being the largest and 0 none, malloc'ed. `among` (may be NULL) restricts it to selected
// particles. Of equal sizes, the one whose first particle comes first is numbered first.
Status scene_clusters(const EditScene *scene, const ClusterOptions *options, const Mask *among, uint32_t **out,
                      uint32_t *count, Error *err);

// ---- selections and edits

// Sets the mask (N) of the selected particles.
Status select_evaluate(const EditScene *scene, const Select *select, Mask *mask, Error *err);
// The edits. The mask selects at least one particle (edit/places.c, edit/objects.c, edit/compose.c).
Status edit_rotate(EditScene *scene, const Edit *edit, const Mask *mask, Error *err);
Status edit_scale(EditScene *scene, const Edit *edit, const Mask *mask, Error *err);
Status edit_throw(EditScene *scene, const Edit *edit, const Mask *mask, Error *err);
Status edit_drive(EditScene *scene, const Edit *edit, const Mask *mask, Error *err);
Status edit_simulate(EditScene *scene, const Edit *edit, const Mask *mask, Error *err);
Status edit_leave(EditScene *scene, const Mask *mask, bool keep, Error *err);
Status edit_copy(EditScene *scene, const Edit *edit, const Mask *mask, Error *err);
Status edit_recolour(EditScene *scene, const Edit *edit, const Mask *mask, Error *err);
Status edit_label(EditScene *scene, const Edit *edit, const Mask *mask, Error *err);
Status edit_cluster(EditScene *scene, const Edit *edit, const Mask *mask, Error *err);
Status edit_compose(EditScene *scene, const Edit *edit, bool *skipped, Error *err);
Status scene_append_file(EditScene *scene, RolloutFile *other, const EditAppend *append, Error *err);

#endif
