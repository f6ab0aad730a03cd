// SPDX-License-Identifier: Apache-2.0
// The particles under edit, shared by edit/*.c alone. Particles of past sets and points of the motion field have an
// owner among the present particles (files/rollout_ties.h): an edit says what happens to present particles, and what
// they own goes the same way. So all sets and the motion stay those of one scene, whatever was edited.
#ifndef VPD_EDIT_SCENE_H
#define VPD_EDIT_SCENE_H

#include "edit/list.h"
#include "files/rollout_ties.h"

#include <string.h>

typedef struct EditScene {
    RolloutFile *file; // without steps
    Device *device;
    const Log *log;
} EditScene;

// A mask says of each present particle whether it is meant, (N) 0 or 1.
typedef uint8_t Mask;

static inline RolloutSet *scene_now(const EditScene *scene) { return &scene->file->sets[0]; }
static inline Status scene_no_memory(Error *err) {
    return error_set(err, STATUS_FAILED, "out of memory for the edited particles");
}

// ---- rows of all sets and of the motion field (edit/rows.c)

size_t mask_count(const Mask *mask, size_t count);
// (count) 0, 1, ..; NULL without memory.
uint32_t *scene_count_up(size_t count);
// Leaves only what is meant.
Status scene_keep(EditScene *scene, const Mask *mask, Error *err);
// Appends `times` copies of what is meant; the new present particles are the last ones, copy by copy.
Status scene_append(EditScene *scene, const Mask *mask, size_t times, Error *err);
// Appends all of another scene of as many sets and features.
Status scene_join(EditScene *scene, EditScene *other, Error *err);
// Forgets what past sets hold of the meant particles and puts these, as they are now, in place; their motion is
// forgotten.
Status scene_replace_past(EditScene *scene, const Mask *mask, Error *err);

// ---- values (edit/values.c)

// p := A p + t, A row by row; radii grow by the factor.
void scene_transform(EditScene *scene, const Mask *mask, const double A[9], const double t[3], double factor);
// Moves what past set k holds by k `by` + k^2 `bend`.
void scene_shift_past(EditScene *scene, const Mask *mask, const double by[3], const double bend[3]);
// Copies of `more` particles each stand behind the particle `first`: copy n = 1, 2, .. is moved by n times `by`.
void scene_shift_copies(EditScene *scene, size_t first, size_t more, const double by[3]);
void scene_set_moving(EditScene *scene, const Mask *mask, uint8_t moving);
// Mean place of what is meant, of which there is some.
void scene_centre(const EditScene *scene, const Mask *mask, double centre[3]);
// What is meant gets features and colours of `source` (edit/recolour.c).
Status scene_recolour(EditScene *scene, const Mask *mask, const Mask *source, Error *err);

// ---- seen motion (edit/motion.c)

static inline void scene_copy_motion(MotionField *to, size_t row, const MotionField *from, size_t at) {
    memcpy(to->position + 3 * row, from->position + 3 * at, 3 * sizeof *to->position);
    memcpy(to->colour + 3 * row, from->colour + 3 * at, 3 * sizeof *to->colour);
    memcpy(to->motion + 3 * row, from->motion + 3 * at, 3 * sizeof *to->motion);
    memcpy(to->gradient + 9 * row, from->gradient + 9 * at, 9 * sizeof *to->gradient);
}

// p := A p + t of what is meant, and with it the motion and its gradient; A is a rotation times the factor.
void scene_transform_motion(EditScene *scene, const Mask *mask, const double A[9], const double t[3], double factor);
// What is meant moves by `more`, metres per time step, beyond the motion it has. Bodies without any, and without labels
// particles that stand still, get points that move so.
Status scene_add_motion(EditScene *scene, const Mask *mask, const double more[3], Error *err);
// Points take the colours of the meant particles that own them.
void scene_recolour_motion(EditScene *scene, const Mask *mask);
// Motion at some of the particles that move, from their places at the present and one step before (N,3).
Status scene_motion_of_particles(RolloutFile *file, const float *before, Error *err);

// ---- labels (edit/labels.c)

// Room for labels where there are none yet: all 0.
Status scene_need_labels(EditScene *scene, Error *err);
enum { LABELS = 65536 }; // u16
// Marks, in mark[LABELS], all labels with this name, else the one with this number. A label that neither particles nor
// names have is an error, which lists the labels of the particles.
Status scene_find_labels(const EditScene *scene, const char *name, uint8_t *mark, Error *err);
// Number of different labels of what is meant; 0 without labels.
size_t scene_labels_in(const EditScene *scene, const Mask *mask);
// The first of `count` numbers in a row that neither particles nor names have.
Status scene_new_labels(EditScene *scene, long count, long *first, Error *err);
// The first label with this name.
bool scene_label_named(const EditScene *scene, const char *name, long *out);
typedef char EditName[EDIT_NAME_SIZE];
Status scene_name_labels(EditScene *scene, long first, long count, const EditName *names, Error *err);
// The name, or "label 3"; into out[EDIT_NAME_SIZE].
void scene_label_name(const EditScene *scene, long label, char *out);
// Labels of all present particles, and names as edit_set_labels takes them.
Status scene_set_labels(EditScene *scene, const uint16_t *labels, const char *names, Error *err);
// Past sets take the labels of the owners.
Status scene_spread_labels(EditScene *scene, Error *err);

// ---- shapes (edit/floor.c, edit/clusters.c)

// Solves the symmetric 3x3 system of m (its upper triangle, row by row) by Cramer's rule; false when it is singular.
bool scene_solve3(const double m[6], const double r[3], double out[3]);

// Median reach of the particles: what lengths that are not given are taken from.
Status scene_reach(const EditScene *scene, double *out, Error *err);
// The largest plane: unit normal that points to the cameras (to +z without), n . p = offset.
Status scene_floor(const EditScene *scene, const FloorOptions *options, double normal[3], double *offset,
                   double *within, Error *err);
// Cluster of each particle, 1 the largest, 0 none, malloc'ed; of the particles meant (NULL: all). Ties in size go to
// the smaller first particle.
Status scene_clusters(const EditScene *scene, const ClusterOptions *options, const Mask *among, uint32_t **out,
                      uint32_t *count, Error *err);

// ---- selections and edits

// Fills (N) of the mask.
Status select_evaluate(const EditScene *scene, const Select *select, Mask *mask, Error *err);
// Each edit by itself; the mask means at least one particle (edit/places.c, edit/objects.c, edit/compose.c).
void edit_rotate(EditScene *scene, const Edit *edit, const Mask *mask);
void edit_scale(EditScene *scene, const Edit *edit, const Mask *mask);
Status edit_throw(EditScene *scene, const Edit *edit, const Mask *mask, Error *err);
Status edit_leave(EditScene *scene, const Mask *mask, bool keep, Error *err);
Status edit_copy(EditScene *scene, const Edit *edit, const Mask *mask, Error *err);
Status edit_recolour(EditScene *scene, const Edit *edit, const Mask *mask, Error *err);
Status edit_label(EditScene *scene, const Edit *edit, const Mask *mask, Error *err);
Status edit_cluster(EditScene *scene, const Edit *edit, const Mask *mask, Error *err);
Status edit_compose(EditScene *scene, const Edit *edit, bool *skipped, Error *err);
Status scene_append_file(EditScene *scene, RolloutFile *other, const EditAppend *append, Error *err);

#endif
