// SPDX-License-Identifier: Apache-2.0
// The rasterisers' work per sample on a device with memory of its own. All pointers in arguments are those of the
// device; faces, tiles and texels come in a struct of their own, because kernels take them by value.
#ifndef VPD_RASTER_DEVICE_BACKEND_H
#define VPD_RASTER_DEVICE_BACKEND_H

#include "nn/device.h"
#include "raster/backend.h"

typedef struct RasterDeviceScene {
    RasterFaces faces;
    RasterTiles tiles;
} RasterDeviceScene;

// As RasterBackend has them; texels.sum is not there: gradients of texels are the CPU's.
typedef struct RasterDevicePhases {
    void (*soft)(Device *, const RasterDeviceScene *, const RasterSoftArgs *);
    void (*soft_back)(Device *, const RasterDeviceScene *, const RasterSoftArgs *);
    void (*visible)(Device *, const RasterDeviceScene *, const RasterVisibleArgs *);
    void (*cover)(Device *, const RasterDeviceScene *, const RasterCoverArgs *);
    void (*cover_back)(Device *, const RasterDeviceScene *, const RasterCoverArgs *);
} RasterDevicePhases;

typedef struct RasterDeviceBackend {
    const char *name;
    RasterDevicePhases f32, f64;
} RasterDeviceBackend;

#endif
