// SPDX-License-Identifier: Apache-2.0
// The CUDA back end's tables of ops, one a folder (FOLDER/cuda/backend.cu).
#ifndef VPD_DEVICE_CUDA_TABLES_H
#define VPD_DEVICE_CUDA_TABLES_H

#include "gnn/backend.h"
#include "motion/backend.h"
#include "nn/backend.h"
#include "raster/device_backend.h"
#include "renderer/backend.h"
#include "sim/device_backend.h"

extern const NnBackend nn_backend_cuda;
extern const MotionBackend motion_backend_cuda;
extern const GnnBackend gnn_backend_cuda;
extern const RendererBackend renderer_backend_cuda;
extern const SimDeviceBackend sim_backend_cuda;
extern const RasterDeviceBackend raster_backend_cuda;

#endif
