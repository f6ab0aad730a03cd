// SPDX-License-Identifier: Apache-2.0
// The function table that libvpd_cuda.so exports.
#include "nn/cuda/device.h"

#include "base/version.h"
#include "device/cuda/tables.h"
#include "device/cuda_module.h"

extern "C" __attribute__((visibility("default"))) const CudaModule vpd_cuda_module;

const CudaModule vpd_cuda_module = {
    .size = sizeof(CudaModule),
    .device_size = sizeof(Device),
    .nn_size = sizeof(NnBackend),
    .motion_size = sizeof(MotionBackend),
    .gnn_size = sizeof(GnnBackend),
    .renderer_size = sizeof(RendererBackend),
    .sim_size = CUDA_MODULE_SIM_SIZE,
    .raster_size = CUDA_MODULE_RASTER_SIZE,
    .version = version_number(),
    .commit = version_commit(),
    .nn = &nn_backend_cuda,
    .motion = &motion_backend_cuda,
    .gnn = &gnn_backend_cuda,
    .renderer = &renderer_backend_cuda,
    .sim = &sim_backend_cuda,
    .raster = &raster_backend_cuda,
    .gpus = cuda_device_gpus,
    .open = cuda_device_open,
};
