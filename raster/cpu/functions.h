// SPDX-License-Identifier: Apache-2.0
// Functions of the rasterisers' CPU back end (raster/backend.h), named for instruction set and precision.
#ifndef VPD_RASTER_CPU_FUNCTIONS_H
#define VPD_RASTER_CPU_FUNCTIONS_H

#include "nn/cpu/cpu.h"
#include "raster/backend.h"

void CPU_FN(raster_soft)(const RasterSoftArgs *);
void CPU_FN(raster_soft_back)(const RasterSoftArgs *);
void CPU_FN(raster_visible)(const RasterVisibleArgs *);
void CPU_FN(raster_cover)(const RasterCoverArgs *);
void CPU_FN(raster_cover_back)(const RasterCoverArgs *);

#endif
