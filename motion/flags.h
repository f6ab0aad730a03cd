// SPDX-License-Identifier: Apache-2.0
// Moving flags (docs/model.md, "Moving flags"): flags of single pixels, 0 or 1, confirmed by the FLAG_VOTERS points
// nearest in position and colour_length * rgb, the point itself included. In host memory; nothing stays on the tape.
#ifndef VPD_MOTION_FLAGS_H
#define VPD_MOTION_FLAGS_H

#include "encoder/unproject.h"
#include "nn/tape.h"

enum { FLAG_VOTERS = 16 };

// For a whole cloud: clears each flag that most neighbours do not share.
void flags_confirm(Tape *tape, double colour_length, PointCloud *cloud);

// Packs a cloud's flags as one bit per pixel of its frame (bits must start as 0), and unpacks them.
void flags_pack(const PointCloud *cloud, uint8_t *bits);
void flags_unpack(const uint8_t *bits, PointCloud *cloud);

#endif
