// SPDX-License-Identifier: Apache-2.0
// Scene-flow kernels of the CPU back end, declared once per instruction set; backend.c puts them in the table.
#ifndef VPD_MOTION_CPU_FUNCTIONS_H
#define VPD_MOTION_CPU_FUNCTIONS_H

#include "motion/backend.h"
#include "nn/cpu/cpu.h"

MOTION_OPS(OP_CPU)

#endif
