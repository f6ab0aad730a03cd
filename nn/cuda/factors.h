// SPDX-License-Identifier: Apache-2.0
// Weights in the order of tensor cores (nn/cuda/tensor_product.h), kept within a step: between device_step_begin and
// device_step_end weights change in the update alone. Those that an earlier step used are made again by one kernel,
// when the first of them is asked for.
#ifndef VPD_NN_CUDA_FACTORS_H
#define VPD_NN_CUDA_FACTORS_H

#include "nn/cuda/launch.h"

constexpr unsigned TENSOR_PIECES = 12; // MESSAGE_MAX_TERMS

// The source of a factor: weights (rows, width) one below the other; `turned`: their transpose.
struct TensorSource {
    bool turned;
    unsigned width, rows, pieces;
    uint2 *packed;
    struct {
        const real *weight;
        unsigned end; // rows up to here
    } piece[TENSOR_PIECES];
};

// Gives `source` memory for its factor of so many bytes; returns whether it is filled. Outside of a step the memory is
// scratch memory.
bool cuda_factor_made(Device *device, Precision precision, size_t bytes, TensorSource *source);
// Whether a factor that is made now may be used by a later op.
bool cuda_factors_stay(const Device *device);

void cuda_factors_begin(Device *device);                                    // of a step
void cuda_factors_end(Device *device);                                      // also before weights change
void cuda_factors_forget(Device *device, const void *memory, size_t bytes); // released, perhaps with weights in it
void cuda_factors_close(Device *device);

#endif
