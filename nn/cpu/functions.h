// SPDX-License-Identifier: Apache-2.0
// The ops of the CPU back end, declared once per instruction set; backend.c puts them in the table.
#ifndef VPD_NN_CPU_FUNCTIONS_H
#define VPD_NN_CPU_FUNCTIONS_H

#include "nn/backend.h"
#include "nn/cpu/cpu.h"

void CPU_FN(conv2d_close)(Device *);
void CPU_FN(knn_index)(Device *, Arena *memory, const struct KnnArgs *, struct KnnIndex *);
void CPU_FN(knn_search)(Device *, const struct KnnIndex *, const struct KnnArgs *);

NN_OPS(OP_CPU)

#endif
