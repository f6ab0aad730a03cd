// SPDX-License-Identifier: Apache-2.0
// Derives lengths that the config leaves at 0 from the data, once, before the model is built (docs/model.md,
// "Notation").
#ifndef VPD_MODEL_LENGTHS_H
#define VPD_MODEL_LENGTHS_H

#include "base/observation.h"
#include "model/config.h"
#include "nn/device.h"

// Uses the last frame of each observation, taken from some training episodes, to set every length of `config` that is
// 0. STATUS_BAD_INPUT if none has valid depth, or if a length that follows from data.extent has another value.
Status lengths_derive(Config *config, Device *device, size_t count, const Observation *observations, Error *err);

// What data.extent is measured as: the largest side of the workspace box of the first observation that has one, else of
// the 5-95 percentile box of all points in their last frames. STATUS_BAD_INPUT if there is none.
Status lengths_extent(size_t count, const Observation *observations, double *extent, Error *err);

// Prints one line per length, after the text `before`: "gnn.length_scale  0.1 m".
void lengths_print(const Config *config, const char *before, FILE *out);

#endif
