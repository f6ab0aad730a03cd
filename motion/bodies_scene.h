// SPDX-License-Identifier: Apache-2.0
// The pixels of two frames with a label each, and the registration of one label's pixels (motion/bodies.h). Host
// memory.
#ifndef VPD_MOTION_BODIES_SCENE_H
#define VPD_MOTION_BODIES_SCENE_H

#include "motion/bodies_surface.h"
#include "motion/rigid.h"

#define SCENE_WIDEST 0.2                       // times X: how far a pixel may be from the middle of its piece
enum { LABEL_STILL = -1, LABEL_UNKNOWN = -2 }; // others are bodies

// Pixels that hang together: the struct of the first one holds what is said of all.
typedef struct ScenePiece {
    int32_t first, beside;  // pixel; body of the nearest pixel that has one, or -1
    double gap2, middle[3]; // to that pixel, squared metres; sum of places
    double moved, stood;    // sums of fits under the body's motion, and under none
    size_t count, within;   // pixels; those in planes
    bool wide;              // a pixel is far from the middle
} ScenePiece;

// A place, the pixel nearest to it, and how far all others are at least.
typedef struct Match {
    real x[3];
    int32_t at;  // in the grid's order; -1: none, or not known yet
    double safe; // metres
} Match;

typedef struct Scene {
    Surface now, past;
    Planes planes;
    BodyLengths lengths;
    double scale;       // metres: where a plane distance counts half when motions are compared
    double still_scale; // the same of what stands
    double *errors;     // (pixels of both) used by each call
    int32_t *sure;      // (pixels of both + bodies) the same
    Match *match;       // (pixels of both) the same
    double *own;        // (bodies) the same
    double *shares;     // (bodies, bodies) the same
    bool *touches;      // (bodies, bodies) the same
    ScenePiece *piece;  // (pixels of both) the same
    int32_t *next;      // (pixels of both) the same
    int32_t *reached;   // (pixels of both) the same
    size_t *seen;       // (bodies) number of the last walk that met a body, of `walks`
    size_t *pixels;     // (2, bodies) used by each call
    size_t walks;
} Scene;

// A motion from now to before, or the other way.
typedef struct Way {
    real motion[RIGID_MOTION], centre[3];
} Way;

static const Body STANDING = {.turn = {1, 0, 0, 0, 1, 0, 0, 0, 1}};

Way way_back(const Body *body); // from now to before
Way way_inverse(const Way *way);
// What the body's motion says that x was before, less what the other's says.
void way_difference(const Body *body, const Body *other, const real *x, real *out);

// Nearest in position and colour within the 27 cells; of a label, or any (LABEL_UNKNOWN). -1: none.
int32_t scene_nearest(const Surface *surface, const real *x, const real *c, int32_t label, double *d2);
// How well a pixel lies on the other frame's surface after a motion, 0 to 1.
double scene_fit(const Scene *scene, const Way *way, const Surface *from, size_t i, const Surface *to, double scale);
// Mean fit of a label's pixels under a body's motion.
double scene_explained(const Scene *scene, int32_t label, const Body *by);
// What stands shows the noise of depth: three times its median error.
double scene_noise(Scene *scene);
size_t scene_count(const Surface *surface, int32_t label);
// All pixels of a label, in both frames, get another.
void scene_relabel(Scene *scene, int32_t from, int32_t to);

// Registers a label's pixels of both frames, starting at the body's motion. `within`: pairs of the label alone; else of
// any pixel that moves. With few pixels the body's motion stays.
void scene_register(Scene *scene, int32_t label, bool within, Body *body);

// In now (back) or before: pixels of bodies in planes become still ones; still pixels that stand out of the planes and
// hang together with a body whose motion explains them as well become part of it.
void scene_attach(Scene *scene, const Bodies *bodies, bool back);
// In now: pixels of a body that hang together with few others, far from the mean of all its pixels, become still ones.
void scene_leave_crumbs(Scene *scene, size_t bodies);

// Whether a pixel may be part of a piece.
typedef bool Takes(const Surface *surface, size_t pixel);
// Pixels that hang together: of those that are taken, the ones that are linked. Only pixels of the 27 cells around i
// are asked for, and i and j are linked either way or neither.
typedef struct Linking {
    Takes *takes;
    bool (*links)(const Surface *surface, size_t i, size_t j, const struct Linking *linking);
    double most2, unit; // squared metres; length of a colour of 1
} Linking;

// Sets scene->piece[i].first to the first pixel of i's piece, which is i where it is not taken.
void scene_flood(Scene *scene, const Surface *surface, const Linking *linking);
// Marks the places of the grid's order whose pixels are taken.
void scene_want(const Surface *surface, Takes *takes, int32_t *next);
// The first such place that is not before `at`; the number of pixels if there is none.
int32_t scene_wanted(int32_t *next, int32_t at);
// Counts a pixel at x.
void piece_add(ScenePiece *piece, const real *x);
// Whether x is far from the mean of the pixels that were counted.
bool piece_is_far(const ScenePiece *piece, const real *x, double extent);
// A still pixel that stands out of the planes.
bool scene_is_free(const Surface *surface, size_t pixel);
// Pieces of one hue of what stands out of the planes in now. One that no body has most of is registered as a whole,
// with the pixels of before that show it: where that explains pixels that standing still does not, all of it is a body
// with this motion. Then the pixels of each piece become part of the body that most of them belong to, if its motion
// explains them half as well as their own.
void scene_follow_hues(Scene *scene, Bodies *bodies);
// Numbers bodies at rest from `first` on, the largest first: pieces of what stands out of the planes in now and belongs
// to no body. body: of each pixel of the last frame; others stay.
void scene_rest(Scene *scene, int32_t first, int32_t *body);

// Joins bodies that touch and that one motion explains, the best explained first. False if there were none.
bool scene_merge(Scene *scene, Bodies *bodies);
// Joins pieces of a body that bends.
void scene_merge_bending(Scene *scene, Bodies *bodies);

#endif
