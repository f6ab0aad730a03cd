// SPDX-License-Identifier: Apache-2.0
// A table for the rasterisers whose functions copy their arguments to a GPU, work there, and copy the results back.
#ifndef VPD_RASTER_ON_DEVICE_H
#define VPD_RASTER_ON_DEVICE_H

#include "raster/device_backend.h"

typedef struct RasterOnDevice RasterOnDevice;

// `cpu` does what the device does not. False without memory.
bool raster_device_open(Device *device, bool f64, const RasterBackend *cpu, RasterOnDevice **out);
void raster_device_close(RasterOnDevice *on); // NULL is fine, as below

const RasterBackend *raster_device_table(const RasterOnDevice *on);
size_t raster_device_peak(const RasterOnDevice *on); // bytes
// The first failure since the last call: results are then 0, and no sample sees a face.
Status raster_device_status(RasterOnDevice *on, Error *err);

#endif
