// SPDX-License-Identifier: Apache-2.0
// The nn part of a back end: memory and the ops of this folder. An op's arguments stand in its own header; forward and
// backward take the same struct. Backward adds into every gradient that is not NULL.
#ifndef VPD_NN_BACKEND_H
#define VPD_NN_BACKEND_H

#include "nn/device.h"

struct ActivationArgs;
struct AdamArgs;
struct Conv2dArgs;
struct CombineArgs;
struct CopyColumnsArgs;
struct GatherArgs;
struct GroupNormArgs;
struct ImageOpArgs;
struct LayerNormArgs;
struct ReduceArgs;
struct RowAddArgs;
struct RowGatherArgs;
struct RowMeanArgs;
struct SegmentArgs;
struct KnnArgs;
struct KnnIndex;
struct LinearArgs;
struct SsimLossArgs;
struct SumSquaresArgs;

typedef struct NnBackend {
    void (*close)(Device *); // frees device->state; NULL where there is none
    size_t image_block;      // image layout for the fastest convolutions (Tensor.block); 0: supports only NHWC

    // memory; `host` is ordinary memory
    void (*wait)(Device *); // waits until all work is done, for timing only; NULL when calls are synchronous
    void (*step_begin)(Device *), (*flush)(Device *), (*step_end)(Device *); // nn/device.h; NULL: nothing to do
    void (*zero)(Device *, void *memory, size_t bytes);
    void (*copy)(Device *, void *to, const void *from, size_t bytes);
    void (*upload)(Device *, void *to, const void *host, size_t bytes);
    void (*download)(Device *, void *host, const void *from, size_t bytes);

    void (*adam)(Device *, const struct AdamArgs *);
    void (*sum_squares)(Device *, const struct SumSquaresArgs *);
    void (*activation_forward)(Device *, const struct ActivationArgs *);
    void (*activation_backward)(Device *, const struct ActivationArgs *);
    void (*conv2d_forward)(Device *, const struct Conv2dArgs *);
    void (*conv2d_backward)(Device *, const struct Conv2dArgs *);
    void (*group_norm_forward)(Device *, const struct GroupNormArgs *);
    void (*group_norm_backward)(Device *, const struct GroupNormArgs *);
    void (*image_op_forward)(Device *, const struct ImageOpArgs *);
    void (*image_op_backward)(Device *, const struct ImageOpArgs *);
    void (*knn_index)(Device *, Arena *memory, const struct KnnArgs *, struct KnnIndex *);
    void (*knn_search)(Device *, const struct KnnIndex *, const struct KnnArgs *);
    void (*linear_forward)(Device *, const struct LinearArgs *);
    void (*linear_backward)(Device *, const struct LinearArgs *);
    void (*combine_forward)(Device *, const struct CombineArgs *);
    void (*combine_backward)(Device *, const struct CombineArgs *);
    void (*copy_columns)(Device *, const struct CopyColumnsArgs *);
    void (*gather_forward)(Device *, const struct GatherArgs *);
    void (*gather_backward)(Device *, const struct GatherArgs *);
    void (*layer_norm_forward)(Device *, const struct LayerNormArgs *);
    void (*layer_norm_backward)(Device *, const struct LayerNormArgs *);
    void (*reduce_forward)(Device *, const struct ReduceArgs *);
    void (*reduce_backward)(Device *, const struct ReduceArgs *);
    void (*row_add)(Device *, const struct RowAddArgs *); // nn/row_ops.h
    void (*row_gather)(Device *, const struct RowGatherArgs *);
    void (*row_mean)(Device *, const struct RowMeanArgs *);
    void (*segment_forward)(Device *, const struct SegmentArgs *);
    void (*segment_backward)(Device *, const struct SegmentArgs *);
    void (*ssim_loss_forward)(Device *, const struct SsimLossArgs *);
    void (*ssim_loss_backward)(Device *, const struct SsimLossArgs *);
} NnBackend;

#endif
