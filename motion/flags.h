// SPDX-License-Identifier: Apache-2.0
// Which points move (docs/model.md, "Moving flags"): flags of single pixels, 0 or 1, which a majority filter corrects.
// With a `vote` of 0 or 1 they stay what they are. Host memory; nothing is kept on the tape.
#ifndef VPD_MOTION_FLAGS_H
#define VPD_MOTION_FLAGS_H

#include "encoder/unproject.h"
#include "motion/observe.h"

// Of a whole cloud: clears each flag that most of the points around do not share. Floor that was uncovered stands
// still.
void flags_confirm(Tape *tape, const MotionOptions *options, PointCloud *cloud);

// A cloud's flags as a bit for each pixel of its frame, all 0 before; and back.
void flags_pack(const PointCloud *cloud, uint8_t *bits);
void flags_unpack(const uint8_t *bits, PointCloud *cloud);

// Of chosen points, positions (count, 3) metres and colours (count, 3) in [0,1]: points on a static plane count as
// static; then each flag becomes what most of the points around have, and static planes nearby are looked for once
// more.
void flags_settle(Tape *tape, const MotionOptions *options, size_t count, const real *position, const real *colour,
                  real *moving);

#endif
