// SPDX-License-Identifier: Apache-2.0
// The ops of the CUDA back end; backend.cu puts them in the table.
#ifndef VPD_NN_CUDA_FUNCTIONS_H
#define VPD_NN_CUDA_FUNCTIONS_H

#include "nn/cuda/launch.h"

#include "nn/backend.h"

void adam_cuda(Device *, const struct AdamArgs *);
void sum_squares_cuda(Device *, const struct SumSquaresArgs *);
void activation_forward_cuda(Device *, const struct ActivationArgs *);
void activation_backward_cuda(Device *, const struct ActivationArgs *);
void conv2d_forward_cuda(Device *, const struct Conv2dArgs *);
void conv2d_backward_cuda(Device *, const struct Conv2dArgs *);
void group_norm_forward_cuda(Device *, const struct GroupNormArgs *);
void group_norm_backward_cuda(Device *, const struct GroupNormArgs *);
void image_op_forward_cuda(Device *, const struct ImageOpArgs *);
void image_op_backward_cuda(Device *, const struct ImageOpArgs *);
void knn_index_cuda(Device *, Arena *memory, const struct KnnArgs *, struct KnnIndex *);
void knn_search_cuda(Device *, const struct KnnIndex *, const struct KnnArgs *);
void linear_forward_cuda(Device *, const struct LinearArgs *);
void linear_backward_cuda(Device *, const struct LinearArgs *);
void combine_forward_cuda(Device *, const struct CombineArgs *);
void combine_backward_cuda(Device *, const struct CombineArgs *);
void copy_columns_cuda(Device *, const struct CopyColumnsArgs *);
void gather_forward_cuda(Device *, const struct GatherArgs *);
void gather_backward_cuda(Device *, const struct GatherArgs *);
void layer_norm_forward_cuda(Device *, const struct LayerNormArgs *);
void layer_norm_backward_cuda(Device *, const struct LayerNormArgs *);
void reduce_forward_cuda(Device *, const struct ReduceArgs *);
void reduce_backward_cuda(Device *, const struct ReduceArgs *);
void row_add_cuda(Device *, const struct RowAddArgs *);
void row_gather_cuda(Device *, const struct RowGatherArgs *);
void row_mean_cuda(Device *, const struct RowMeanArgs *);
void segment_forward_cuda(Device *, const struct SegmentArgs *);
void segment_backward_cuda(Device *, const struct SegmentArgs *);
void ssim_loss_forward_cuda(Device *, const struct SsimLossArgs *);
void ssim_loss_backward_cuda(Device *, const struct SsimLossArgs *);

#endif
