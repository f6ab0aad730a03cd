// SPDX-License-Identifier: Apache-2.0
// Shared by the config*.c files; nobody else includes it.
#ifndef VPD_MODEL_CONFIG_INTERNAL_H
#define VPD_MODEL_CONFIG_INTERNAL_H

#include "model/config.h"

size_t config_index(const char *key); // in config_record; its count when there is no such key

// Options that nobody set get the values of model.preset, those of another preset their defaults again.
Status config_apply_preset(Config *config, Error *err);
// Options at "auto" get the values of gnn.form. A value that the form alone sets must be the form's.
Status config_apply_form(Config *config, Error *err);

#endif
