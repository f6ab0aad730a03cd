// SPDX-License-Identifier: Apache-2.0
// What --device means where it may be "auto": the GPU cuda:0 where it opens and computes what the CPU computes, else
// the CPU.
#ifndef VPD_DEVICE_CHOICE_H
#define VPD_DEVICE_CHOICE_H

#include "nn/device.h"

enum { DEVICE_WHY_SIZE = 1024 };

// As device_open, and "auto" or NULL. `why` (DEVICE_WHY_SIZE bytes) says what speaks against the GPU where "auto" took
// the CPU; it is empty otherwise, and where VPD_ISA asks for a CPU or this build has no CUDA back end.
Status device_choose(const char *spec, int threads, Device **out, char *why, Error *err);

// One step of a small model forward and backward on made-up video: STATUS_FAILED with what differs where pictures or
// gradients are not those of `reference`. Takes a fraction of a second; `vpd selftest` looks at every op.
Status device_prove(Device *device, Device *reference, Error *err);

#endif
