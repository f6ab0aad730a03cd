// SPDX-License-Identifier: Apache-2.0
// What any of our files holds, as one JSON object: data set (file or folder), checkpoint, run folder, rollout,
// particles, safetensors. The file passes its guarded reader first.
#ifndef VPD_APP_INSPECT_H
#define VPD_APP_INSPECT_H

#include "base/json.h"

Status inspect_path(const char *path, json_t **out, Error *err);

// The object as indented lines "key   value"; control characters in texts become harmless.
void inspect_print(const json_t *object, FILE *out);

#endif
