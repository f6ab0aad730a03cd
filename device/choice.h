// SPDX-License-Identifier: Apache-2.0
// Meaning of --device when "auto" is allowed: the GPU cuda:0 if it opens and computes the same as the CPU, else the
// CPU.
#ifndef VPD_DEVICE_CHOICE_H
#define VPD_DEVICE_CHOICE_H

#include "nn/device.h"

enum { DEVICE_WHY_SIZE = 1024 };

// Like device_open, and "auto", "auto:NUMBER" (which GPU to try) or NULL. If "auto" chose the CPU, `why`
// (DEVICE_WHY_SIZE bytes) says what is wrong with the GPU. It is empty otherwise, and if VPD_ISA asks for a CPU or this
// build has no CUDA back end.
Status device_choose(const char *spec, int threads, Device **out, char *why, Error *err);

// Runs one step of a small model, forward and backward, on synthetic video. If pictures or gradients differ from those
// of `reference`, it is STATUS_FAILED and the error says how. Takes a fraction of a second; `vpd selftest` tests every
// op.
Status device_prove(Device *device, Device *reference, Error *err);

#endif
