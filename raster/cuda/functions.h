// SPDX-License-Identifier: Apache-2.0
// Functions of the rasterisers' CUDA back end, in both precisions.
#ifndef VPD_RASTER_CUDA_FUNCTIONS_H
#define VPD_RASTER_CUDA_FUNCTIONS_H

#include "raster/device_backend.h"

#define RASTER_CUDA_FUNCTIONS(space)                                                                                   \
    namespace space {                                                                                                  \
    void soft(Device *, const RasterDeviceScene *, const RasterSoftArgs *);                                            \
    void soft_back(Device *, const RasterDeviceScene *, const RasterSoftArgs *);                                       \
    void visible(Device *, const RasterDeviceScene *, const RasterVisibleArgs *);                                      \
    void cover(Device *, const RasterDeviceScene *, const RasterCoverArgs *);                                          \
    void cover_back(Device *, const RasterDeviceScene *, const RasterCoverArgs *);                                     \
    }

RASTER_CUDA_FUNCTIONS(raster_cuda_f32)
RASTER_CUDA_FUNCTIONS(raster_cuda_f64)

#endif
