// SPDX-License-Identifier: Apache-2.0
// The numbers of a scene file that a fit or a draw may change, by name: "ball.density" of the object or contact "ball",
// "gravity.z", "controls.0.force.x". A number is changed where it stands in the text, and the scene is read again; so
// whatever key of the file becomes a value of the simulator can be fitted, and the fitted file is the user's own.
// "values.ball.mass.3" is a number of the section `values`, one for each particle or element; a list that is named but
// not there is written into the section, or to the end of the text, with the numbers that the scene has.
#ifndef VPD_LAB_FIT_FREE_H
#define VPD_LAB_FIT_FREE_H

#include "lab/minimise.h"
#include "lab/scene.h"

enum { FIT_NAME_SIZE = 160, FIT_VARIABLES_MAX = 4096 };

typedef struct FitVariable {
    char name[FIT_NAME_SIZE];
    double start, in_file;  // the file's own number is the start unless the section names another
    double low, high;       // as the user says; infinite: not said
    double most;            // the scene's reader refuses more; infinite: it does not
    bool positive;          // all that it moves is never below 0
    MinimiseVariable range; // by its logarithm where all that it moves is never below 0 and its start is above 0
    size_t text, length;    // bytes of the text that hold it
    // Of the section `values`: it is `entries` numbers of the value, from `entry` on, `apart` apart; else entries is 0.
    SimValue value;
    size_t entry, entries, apart;
} FitVariable;

typedef struct FitFree {
    char *path, *folder, *text; // the scene file, and lists that were added at its end
    size_t length;
    FitVariable *variable; // (count) in the order of the text
    size_t count;
    uint32_t compare; // bits of the section's `compare`; 0: not said
    bool random;      // of the section `random`, not of `fit`
} FitFree;

// What the section says may be compared, in the order of its bits.
extern const char *const fit_kinds[];
uint32_t fit_kind(const char *word); // its bit; 0: no such word
enum { FIT_STATES = 1, FIT_COLOUR = 2, FIT_DEPTH = 4, FIT_MASK = 8, FIT_KINDS = 4 };

// Reads the file and its section `fit`. `names` (may be NULL) take the place of the section's `free`; each is a number,
// or holds some ("ball.velocity"). STATUS_BAD_INPUT: an unknown name, with the nearest one; a number that the
// simulator's values do not depend on.
Status fit_free_read(const char *path, const char *const *names, size_t name_count, FitFree *out, Error *err);
// The same for a text; `path` is for messages, and for files beside it.
Status fit_free_parse(const char *text, size_t length, const char *path, const char *const *names, size_t name_count,
                      FitFree *out, Error *err);
// Another start and other bounds of the number `name`, or of those that it holds; NAN: as before.
Status fit_free_bound(FitFree *free, const char *name, double start, double low, double high, Error *err);
// The numbers of the section `random` of a scene that was read from its file, each with low and high; where two entries
// name one number, the later one holds. The motion need not depend on it.
Status fit_free_random(const SimScene *scene, FitFree *out, Error *err);
// For commands that do neither: whether both sections of a scene that was read from its file are right. That the motion
// depends on each number is not looked at.
Status fit_free_check(const SimScene *scene, Error *err);
void fit_free_close(FitFree *free); // accepts {0}

// The scene with other numbers x (count), NULL: the starts; STATUS_BAD_INPUT where the reader refuses them.
Status fit_free_scene(const FitFree *free, const double *x, SimScene *out, Error *err);
// Its text, malloc'ed.
Status fit_free_text(const FitFree *free, const double *x, char **out, size_t *length, Error *err);

#endif
