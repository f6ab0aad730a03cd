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
void CPU_FN(conv2d_close)(Device *);
void CPU_FN(conv2d_forward)(Device *, const struct Conv2dArgs *);
void CPU_FN(conv2d_backward)(Device *, const struct Conv2dArgs *);
void CPU_FN(group_norm_forward)(Device *, const struct GroupNormArgs *);
void CPU_FN(group_norm_backward)(Device *, const struct GroupNormArgs *);
void CPU_FN(image_op_forward)(Device *, const struct ImageOpArgs *);
void CPU_FN(image_op_backward)(Device *, const struct ImageOpArgs *);
void CPU_FN(knn_index)(Device *, Arena *memory, const struct KnnArgs *, struct KnnIndex *);
void CPU_FN(knn_search)(Device *, const struct KnnIndex *, const struct KnnArgs *);
void CPU_FN(linear_forward)(Device *, const struct LinearArgs *);
void CPU_FN(linear_backward)(Device *, const struct LinearArgs *);
void CPU_FN(combine_forward)(Device *, const struct CombineArgs *);
void CPU_FN(combine_backward)(Device *, const struct CombineArgs *);
void CPU_FN(copy_columns)(Device *, const struct CopyColumnsArgs *);
void CPU_FN(gather_forward)(Device *, const struct GatherArgs *);
void CPU_FN(gather_backward)(Device *, const struct GatherArgs *);
void CPU_FN(layer_norm_forward)(Device *, const struct LayerNormArgs *);
void CPU_FN(layer_norm_backward)(Device *, const struct LayerNormArgs *);
void CPU_FN(reduce_forward)(Device *, const struct ReduceArgs *);
void CPU_FN(reduce_backward)(Device *, const struct ReduceArgs *);
void CPU_FN(row_add)(Device *, const struct RowAddArgs *);
void CPU_FN(row_gather)(Device *, const struct RowGatherArgs *);
void CPU_FN(row_mean)(Device *, const struct RowMeanArgs *);
void CPU_FN(segment_forward)(Device *, const struct SegmentArgs *);
void CPU_FN(segment_backward)(Device *, const struct SegmentArgs *);
void CPU_FN(ssim_loss_forward)(Device *, const struct SsimLossArgs *);
void CPU_FN(ssim_loss_backward)(Device *, const struct SsimLossArgs *);

#endif
