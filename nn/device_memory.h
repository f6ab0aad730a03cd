// SPDX-License-Identifier: Apache-2.0
// Account of a device's memory by part: for `vpd bench`, and for the error when memory runs out.
#ifndef VPD_NN_DEVICE_MEMORY_H
#define VPD_NN_DEVICE_MEMORY_H

#include "nn/tape.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct MemoryUse {
    const char *name;   // "dynamics"
    const char *shrink; // options that make it smaller, or NULL
    size_t now, peak;   // bytes
} MemoryUse;

// Parameters, optimiser, libraries, temporaries, unused memory of arenas, and the parts of tapes.
enum { MEMORY_USES = 5 + 2 * TAPE_PARTS };

// Lists the uses that hold or held memory, summed over tapes; returns how many.
size_t device_memory_uses(const Device *device, MemoryUse out[MEMORY_USES]);

// Bytes that each of tape->parts holds now.
void tape_part_bytes(const Tape *tape, size_t bytes[TAPE_PARTS]);

// Fails the device: `source` has no `bytes` (0: unknown) for `what`. One sentence names the part of the step, the
// source's total and free memory, the largest uses, and the options that make them smaller.
void device_no_memory(Device *device, const ArenaSource *source, size_t bytes, const char *what);

#ifdef __cplusplus
}
#endif

#endif
