// SPDX-License-Identifier: Apache-2.0
// What a device's memory is used for, part by part: for `vpd bench`, and for the sentence of a device that has no more.
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

// Parameters, optimiser, libraries, temporaries, what arenas hold without using it now, and the parts of tapes.
enum { MEMORY_USES = 5 + 2 * TAPE_PARTS };

// The uses that hold or held something, parts of several tapes together; returns how many.
size_t device_memory_uses(const Device *device, MemoryUse out[MEMORY_USES]);

// Bytes that each of tape->parts holds now.
void tape_part_bytes(const Tape *tape, size_t bytes[TAPE_PARTS]);

// Fails the device: `bytes` (0: nobody counted) for `what` were not to be had from `source`. One sentence says in which
// part of the step, how much the source has, what holds how much of it, and which options make the largest uses
// smaller.
void device_no_memory(Device *device, const ArenaSource *source, size_t bytes, const char *what);

#ifdef __cplusplus
}
#endif

#endif
