// SPDX-License-Identifier: Apache-2.0
#define RASTER_CUDA_SPACE raster_cuda_f32
#include "raster/cuda/samples.h"
