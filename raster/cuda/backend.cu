// SPDX-License-Identifier: Apache-2.0
#include "nn/cuda/launch.h"

#include "raster/cuda/functions.h"

#define PHASES(space)                                                                                                  \
    { space::soft, space::soft_back, space::visible, space::cover, space::cover_back }

extern const RasterDeviceBackend raster_backend_cuda; // a constant of C++ is seen outside only so
const RasterDeviceBackend raster_backend_cuda = {
    .name = "cuda", .f32 = PHASES(raster_cuda_f32), .f64 = PHASES(raster_cuda_f64)};
