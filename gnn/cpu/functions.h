// SPDX-License-Identifier: Apache-2.0
// The gnn ops of the CPU back end, declared once per instruction set; backend.c puts them in the table.
#ifndef VPD_GNN_CPU_FUNCTIONS_H
#define VPD_GNN_CPU_FUNCTIONS_H

#include "gnn/backend.h"
#include "nn/cpu/cpu.h"

GNN_OPS(OP_CPU)

#endif
