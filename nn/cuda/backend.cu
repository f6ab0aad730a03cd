// SPDX-License-Identifier: Apache-2.0
#include "nn/cuda/backend.h"

#include "nn/cuda/device.h"
#include "nn/cuda/functions.h"

const NnBackend nn_backend_cuda = {
    .close = cuda_device_close,
    .image_block = 0,
    .wait = cuda_wait,
    .zero = cuda_zero,
    .copy = cuda_copy,
    .upload = cuda_upload,
    .download = cuda_download,
    .adam = adam_cuda,
    .sum_squares = sum_squares_cuda,
    .activation_forward = activation_forward_cuda,
    .activation_backward = activation_backward_cuda,
    .conv2d_forward = conv2d_forward_cuda,
    .conv2d_backward = conv2d_backward_cuda,
    .group_norm_forward = group_norm_forward_cuda,
    .group_norm_backward = group_norm_backward_cuda,
    .image_op_forward = image_op_forward_cuda,
    .image_op_backward = image_op_backward_cuda,
    .knn_index = knn_index_cuda,
    .knn_search = knn_search_cuda,
    .linear_forward = linear_forward_cuda,
    .linear_backward = linear_backward_cuda,
    .combine_forward = combine_forward_cuda,
    .combine_backward = combine_backward_cuda,
    .copy_columns = copy_columns_cuda,
    .gather_forward = gather_forward_cuda,
    .gather_backward = gather_backward_cuda,
    .layer_norm_forward = layer_norm_forward_cuda,
    .layer_norm_backward = layer_norm_backward_cuda,
    .reduce_forward = reduce_forward_cuda,
    .reduce_backward = reduce_backward_cuda,
    .segment_forward = segment_forward_cuda,
    .segment_backward = segment_backward_cuda,
    .ssim_loss_forward = ssim_loss_forward_cuda,
    .ssim_loss_backward = ssim_loss_backward_cuda,
};
