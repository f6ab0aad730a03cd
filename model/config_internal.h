// SPDX-License-Identifier: Apache-2.0
// Shared by config*.c alone.
#ifndef VPD_MODEL_CONFIG_INTERNAL_H
#define VPD_MODEL_CONFIG_INTERNAL_H

#include "model/config.h"

size_t config_index(const char *key); // in config_record; its count if there is no such key

// Options that were not set take the values of model.preset, or their defaults if another preset had set them.
Status config_apply_preset(Config *config, Error *err);

#endif
