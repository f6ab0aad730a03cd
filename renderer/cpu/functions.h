// SPDX-License-Identifier: Apache-2.0
// The renderer's ops of the CPU back end, declared once per instruction set; backend.c puts them in the table.
#ifndef VPD_RENDERER_CPU_FUNCTIONS_H
#define VPD_RENDERER_CPU_FUNCTIONS_H

#include "nn/cpu/cpu.h"
#include "renderer/backend.h"

size_t CPU_FN(shade_saved)(const struct ShadeArgs *);

RENDERER_OPS(OP_CPU)

#endif
