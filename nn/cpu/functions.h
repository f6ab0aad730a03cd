// SPDX-License-Identifier: Apache-2.0
// The ops of the CPU back end, declared once per instruction set; backend.c puts them in the table.
#ifndef VPD_NN_CPU_FUNCTIONS_H
#define VPD_NN_CPU_FUNCTIONS_H

#include "nn/backend.h"
#include "nn/cpu/cpu.h"

void CPU_FN(adam)(Device *, const struct AdamArgs *);
void CPU_FN(sum_squares)(Device *, const struct SumSquaresArgs *);
void CPU_FN(activation_forward)(Device *, const struct ActivationArgs *);
void CPU_FN(activation_backward)(Device *, const struct ActivationArgs *);
void CPU_FN(knn_index)(Device *, Arena *memory, const struct KnnArgs *, struct KnnIndex *);
void CPU_FN(knn_search)(Device *, const struct KnnIndex *, const struct KnnArgs *);
void CPU_FN(linear_forward)(Device *, const struct LinearArgs *);
void CPU_FN(linear_backward)(Device *, const struct LinearArgs *);

#endif
