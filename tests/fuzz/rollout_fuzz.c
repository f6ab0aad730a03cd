// SPDX-License-Identifier: Apache-2.0
// The reader of rollout files, on files that lie in memory.
#include "infer/rollout_file.h"

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    RolloutFile rollout;
    Error err;
    if (rollout_file_read_memory(bytes, size, "fuzz", &rollout, &err) == STATUS_OK) rollout_file_free(&rollout);
    return 0;
}
