// SPDX-License-Identifier: Apache-2.0
// The nn part of a back end: memory and the ops of this folder. An op's name stands in the list alone, its arguments in
// its own header. Forward and backward take the same struct. Backward adds into every gradient that is not NULL.
#ifndef VPD_NN_BACKEND_H
#define VPD_NN_BACKEND_H

#include "nn/device_sums.h"
#include "nn/op_list.h"

struct KnnArgs;
struct KnnIndex;

// nn/row_ops.h has the arguments of row_add, row_gather and row_mean.
#define NN_OPS(OP)                                                                                                     \
    OP(adam, UpdateArgs)                                                                                               \
    OP(muon, UpdateArgs)                                                                                               \
    OP(sum_squares, SumSquaresArgs)                                                                                    \
    OP(silu_forward, SiluArgs)                                                                                         \
    OP(silu_backward, SiluArgs)                                                                                        \
    OP(conv2d_forward, Conv2dArgs)                                                                                     \
    OP(conv2d_backward, Conv2dArgs)                                                                                    \
    OP(group_norm_forward, GroupNormArgs)                                                                              \
    OP(group_norm_backward, GroupNormArgs)                                                                             \
    OP(image_op_forward, ImageOpArgs)                                                                                  \
    OP(image_op_backward, ImageOpArgs)                                                                                 \
    OP(linear_forward, LinearArgs)                                                                                     \
    OP(linear_backward, LinearArgs)                                                                                    \
    OP(combine_forward, CombineArgs)                                                                                   \
    OP(combine_backward, CombineArgs)                                                                                  \
    OP(copy_columns, CopyColumnsArgs)                                                                                  \
    OP(gather_forward, GatherArgs)                                                                                     \
    OP(gather_backward, GatherArgs)                                                                                    \
    OP(reduce_forward, ReduceArgs)                                                                                     \
    OP(reduce_backward, ReduceArgs)                                                                                    \
    OP(row_add, RowAddArgs)                                                                                            \
    OP(row_gather, RowGatherArgs)                                                                                      \
    OP(row_mean, RowMeanArgs)                                                                                          \
    OP(ssim_loss_forward, SsimLossArgs)                                                                                \
    OP(ssim_loss_backward, SsimLossArgs)

NN_OPS(OP_STRUCT)

typedef struct NnBackend {
    void (*close)(Device *); // frees device->state; NULL where there is none
    size_t image_block;      // image layout for the fastest convolutions (Tensor.block); 0: supports only NHWC

    // memory; `host` is ordinary memory
    void (*wait)(Device *); // waits until all work is done, for timing only; NULL when calls are synchronous
    void (*step_begin)(Device *, bool replay); // nn/device.h; NULL: nothing to do, as for the next two
    void (*flush)(Device *), (*step_end)(Device *);
    void (*zero)(Device *, void *memory, size_t bytes);
    void (*copy)(Device *, void *to, const void *from, size_t bytes);
    void (*upload)(Device *, void *to, const void *host, size_t bytes);
    void (*download)(Device *, void *host, const void *from, size_t bytes);

    const DeviceSums *sums; // NULL: sums over processes go through the host

    void (*knn_index)(Device *, Arena *memory, const struct KnnArgs *, struct KnnIndex *);
    void (*knn_search)(Device *, const struct KnnIndex *, const struct KnnArgs *);
    NN_OPS(OP_MEMBER)
} NnBackend;

#endif
