// SPDX-License-Identifier: Apache-2.0
// The motion in posed RGB-D frames (docs/model.md, "Moving flags" and "Scene flow"). It is computed once, before
// encoding:
//   motion_observe  T input frames -> moving flags of pixels, the motion into the last frame, and the light
// It depends only on the frames and a few lengths, not on weights. An observation's rotation is ignored here.
#ifndef VPD_MOTION_OBSERVE_H
#define VPD_MOTION_OBSERVE_H

#include "base/random.h"
#include "encoder/unproject.h"
#include "motion/flow.h"
#include "motion/motion_field.h"
#include "nn/tape.h"

// Raised with every change by which the same frames and options give other motion, so that motion that training kept
// in a file is measured anew.
enum { MOTION_VERSION = 19 };

typedef struct MotionOptions {
    bool crop;               // ignore points outside the workspace box
    double moving_threshold; // zm, metres
    double colour_length;    // lc, metres per unit of rgb
    double extent;           // X, metres
    uint32_t seed;           // of the choice of field points
} MotionOptions;

// Starts as {0}: no motion known.
typedef struct MotionSeen {
    MotionField field; // at points of the last frame: flagged ones first, then some that are not, then mirror images
    size_t frames, flag_bytes;
    uint8_t *moving; // (frames, flag_bytes) one bit per pixel (view * H + row) * W + column; NULL: no pixel moves
    double light[3]; // the way of the light that casts the shadows of bodies (motion/light.h); 0: none is known
} MotionSeen;

void motion_seen_free(MotionSeen *seen); // accepts {0}
// Bytes of the flags of a frame.
size_t motion_flag_bytes(const Observation *observation);

// Largest number of points of an observation's field.
size_t motion_seen_points(void);

// *out is overwritten, not freed. Uses the tape's memory.
Status motion_observe(Tape *tape, const MotionOptions *options, const Observation *observation, MotionSeen *out,
                      Error *err);

// Points of the field that are flagged, each with its own motion and as part of body 0 (docs/model.md, 5.1), from the
// points of the last two frames with corrected flags (motion/flags.h). Bodies are found from it (motion/bodies.h).
Status motion_from_clouds(Tape *tape, const MotionOptions *options, const PointCloud *now, const PointCloud *past,
                          MotionField *out, Error *err);

#endif
