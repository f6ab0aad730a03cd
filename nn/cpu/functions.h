// SPDX-License-Identifier: Apache-2.0
// The ops of the CPU back end, declared once per instruction set; backend.c puts them in the table.
#ifndef VPD_NN_CPU_FUNCTIONS_H
#define VPD_NN_CPU_FUNCTIONS_H

#include "nn/backend.h"
#include "nn/cpu/cpu.h"

void CPU_FN(activation_forward)(Device *, const struct ActivationArgs *);
void CPU_FN(activation_backward)(Device *, const struct ActivationArgs *);
void CPU_FN(linear_forward)(Device *, const struct LinearArgs *);
void CPU_FN(linear_backward)(Device *, const struct LinearArgs *);

#endif
