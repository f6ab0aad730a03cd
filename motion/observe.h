// SPDX-License-Identifier: Apache-2.0
// The motion in posed RGB-D frames (docs/model.md, "Moving flags" and "Scene flow"), computed once, before anything is
// encoded:
//   motion_observe  T input frames                     -> which pixels move, and the motion that led to the last frame
//   motion_to_next  a frame of a video, its neighbours -> the motion that leads to the next frame
// It depends on the frames and a few lengths alone, not on weights. An observation's turn is left out: fields are
// turned when they are uploaded.
#ifndef VPD_MOTION_OBSERVE_H
#define VPD_MOTION_OBSERVE_H

#include "base/random.h"
#include "encoder/unproject.h"
#include "motion/flow.h"
#include "motion/motion_field.h"
#include "nn/tape.h"

// Raised with every change by which the same frames and options give other motion, so that motion that training kept
// in a file is measured anew.
enum { MOTION_VERSION = 1 };

typedef struct MotionOptions {
    bool crop;               // points outside the workspace box are left out
    bool flags;              // inputs have moving flags; without them every point may move
    bool velocity;           // inputs have a motion field
    bool rigid;              // by registration; false: by means of near points alone
    double moving_threshold; // zm, metres
    size_t vote;             // points of the majority filter of flags; 0 or 1: none
    double colour_length;    // lc, metres per unit of rgb
    double extent;           // X, metres
    double length_scale;     // ell, metres
    uint32_t seed;           // of the choice of the field's points
} MotionOptions;

// Starts as {0}: nothing is known to move.
typedef struct MotionSeen {
    MotionField field; // of the last frame
    size_t frames, flag_bytes;
    uint8_t *moving; // (frames, flag_bytes) a bit for each pixel (view * H + row) * W + column; NULL: no pixel moves
} MotionSeen;

void motion_seen_free(MotionSeen *seen); // accepts {0}
// Bytes for the flags of a frame.
size_t motion_flag_bytes(const Observation *observation);

// Points of an observation's field, at most.
size_t motion_seen_points(const MotionOptions *options);

// *out is overwritten, not freed. It stays {0} where the options want neither flags nor velocities. The tape lends its
// memory.
Status motion_observe(Tape *tape, const MotionOptions *options, const Observation *observation, MotionSeen *out,
                      Error *err);

// The field alone, from the points of the last two frames, whose flags are confirmed (motion/flags.h).
Status motion_from_clouds(Tape *tape, const MotionOptions *options, const PointCloud *now, const PointCloud *past,
                          MotionField *out, Error *err);

enum { MOTION_NEXT_POINTS = 512 }; // of a field to the next frame, at most

// Of frame `index`, which has one before and one behind it: up to half of the points are some that changed, and come
// first; the others are some that did not, and do not move. `key`: of the choice of points. Always by registration, and
// with flags. *out is overwritten, not freed.
Status motion_to_next(Tape *tape, const MotionOptions *options, const Observation *frames, int index, RandomKey key,
                      MotionField *out, Error *err);

// A field on the device, turned as the observation is (NULL: as it is); memory of the tape.
Flow motion_upload(Tape *tape, const Observation *observation, const MotionField *field);

#endif
