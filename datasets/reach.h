// SPDX-License-Identifier: Apache-2.0
// Where things move in a data set, against how far its cameras see: all lengths of a model scale with the latter,
// unless the data have a workspace box.
#ifndef VPD_DATASETS_REACH_H
#define VPD_DATASETS_REACH_H

#include "datasets/dataset.h"

typedef struct Reach {
    bool moves;                // enough points move; else nothing is known of where
    double lower[3], upper[3]; // metres: 98 % of the points that move lie between them
    double extent; // metres: longest side of the workspace box, or without one of the box of 90 % of the points
} Reach;

// Looks at some frames of up to 8 episodes that are long enough to train on. A point moves where the depth of a camera
// that stands still differs from that of the first frame. Errors: what cannot be read, STATUS_FAILED without memory.
Status reach_measure(const Dataset *dataset, Reach *out, Error *err);

// What to say of a model of this data.extent, in metres: which box to give the data, and by which command. False where
// the extent is usual.
bool reach_doubt(const Reach *reach, double extent, const char *path, char *out, size_t size);

#endif
