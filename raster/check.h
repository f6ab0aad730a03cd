// SPDX-License-Identifier: Apache-2.0
// Whether a scene and a camera can be drawn. STATUS_BAD_INPUT names the first thing that is wrong.
#ifndef VPD_RASTER_CHECK_H
#define VPD_RASTER_CHECK_H

#include "raster/raster.h"

Status raster_check_options(const RasterOptions *options, Error *err);
Status raster_check_scene(const RasterScene *scene, Error *err);
Status raster_check_camera(const RasterCamera *camera, Error *err);

#endif
