// SPDX-License-Identifier: Apache-2.0
// The nearest-point term of the loss: predicted particles against the depth of a later frame (docs/model.md, "Losses").
// It is what teaches contact: a sunken object is hidden and gives no pixel a gradient.
#ifndef VPD_TRAIN_NEAREST_TERM_H
#define VPD_TRAIN_NEAREST_TERM_H

#include "model/vpd.h"

// (a) moving particles to the nearest point of the later frame, (b) up to NEAREST_PIXELS pixels that came closer to the
// nearest moving particle. `cloud` is scratch. Returns a (1,1) tensor in metres over s, or NULL when there is nothing
// to compare.
enum { NEAREST_PIXELS = 200 };
Tensor *nearest_term(Tape *tape, const Vpd *model, const Scene *scene, const Observation *frames, int frame,
                     int last_input, PointCloud *cloud, Error *err);

#endif
