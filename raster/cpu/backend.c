// SPDX-License-Identifier: Apache-2.0
#include "raster/cpu/functions.h"

#include "nn/real.h"

extern const RasterBackend CPU_FN(raster_backend);
const RasterBackend CPU_FN(raster_backend) = {.real_bytes = sizeof(real),
                                              .soft = CPU_FN(raster_soft),
                                              .soft_back = CPU_FN(raster_soft_back),
                                              .visible = CPU_FN(raster_visible),
                                              .cover = CPU_FN(raster_cover),
                                              .cover_back = CPU_FN(raster_cover_back)};
