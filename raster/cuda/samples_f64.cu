// SPDX-License-Identifier: Apache-2.0
#define VPD_DOUBLE
#define RASTER_CUDA_SPACE raster_cuda_f64
#include "raster/cuda/samples.h"
