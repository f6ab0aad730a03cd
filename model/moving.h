// SPDX-License-Identifier: Apache-2.0
// Which points move (docs/model.md, "Moving flags"): flags of single pixels, 0 or 1, set right by the points around.
// With gnn.moving_vote <= 1 they stay what they are. Host memory; nothing is kept on the tape.
#ifndef VPD_MODEL_MOVING_H
#define VPD_MODEL_MOVING_H

#include "encoder/unproject.h"
#include "model/vpd.h"

// Of a whole cloud: clears each flag that most of the points around do not share. Floor that was uncovered stands
// still.
void moving_confirm(Tape *tape, const Vpd *model, PointCloud *cloud);

// A cloud's flags, a bit a point, in memory of malloc (NULL without); and back into a cloud of the same points.
uint8_t *moving_pack(const PointCloud *cloud);
void moving_unpack(const uint8_t *bits, PointCloud *cloud);

// Of chosen points, positions (count, 3) metres and colours (count, 3) in [0,1]: those on a plane of what stands stand
// too; then each flag becomes what most of the points around have, and planes of what stands nearby are looked for once
// more.
void moving_settle(Tape *tape, const Vpd *model, size_t count, const real *position, const real *colour, real *moving);

#endif
