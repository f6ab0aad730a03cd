// SPDX-License-Identifier: Apache-2.0
// Lengths that the config leaves at 0 are derived from the data, once, before the model is built (docs/model.md,
// "Notation").
#ifndef VPD_MODEL_LENGTHS_H
#define VPD_MODEL_LENGTHS_H

#include "base/observation.h"
#include "model/config.h"
#include "nn/device.h"

// Observations of some training episodes: the last frame of each is looked at. Fills every length of `config` that is
// 0. STATUS_BAD_INPUT when there is no valid depth in any of them, and when a length that follows from data.extent is
// another.
Status lengths_derive(Config *config, Device *device, size_t count, const Observation *observations, Error *err);

// One line for each length, after the text `before`: "gnn.length_scale  0.1 m".
void lengths_print(const Config *config, const char *before, FILE *out);

#endif
