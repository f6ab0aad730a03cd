// SPDX-License-Identifier: Apache-2.0
#include "nn/cuda/device.h"
#include "nn/cuda/functions.h"
#include "nn/cuda/nccl.h"

extern const NnBackend nn_backend_cuda; // a constant of C++ is seen outside only so
const NnBackend nn_backend_cuda = {.close = cuda_device_close,
                                   .image_block = 0,
                                   .wait = cuda_wait,
                                   .step_begin = cuda_step_begin,
                                   .flush = cuda_flush,
                                   .step_end = cuda_step_end,
                                   .zero = cuda_zero,
                                   .copy = cuda_copy,
                                   .upload = cuda_upload,
                                   .download = cuda_download,
                                   .sums = cuda_sums,
                                   .knn_index = knn_index_cuda,
                                   .knn_search = knn_search_cuda,
                                   NN_OPS(OP_CUDA_ENTRY)};
