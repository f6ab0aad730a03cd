// SPDX-License-Identifier: Apache-2.0
// The one symbol that libvpd_cuda.so exports is this table. The module has its own copy of base/ and needs no symbol of
// the process that loads it. Sizes and commit show whether both sides were built from the same sources.
#ifndef VPD_DEVICE_CUDA_MODULE_H
#define VPD_DEVICE_CUDA_MODULE_H

#include "gnn/backend.h"
#include "motion/backend.h"
#include "nn/backend.h"
#include "raster/device_backend.h"
#include "renderer/backend.h"
#include "sim/device_backend.h"

#define CUDA_MODULE_FILE "libvpd_cuda.so"
#define CUDA_MODULE_SYMBOL "vpd_cuda_module"
#define CUDA_MODULE_RASTER_SIZE                                                                                        \
    (sizeof(RasterDeviceScene) + sizeof(RasterSoftArgs) + sizeof(RasterCoverArgs) + sizeof(RasterDeviceBackend))
#define CUDA_MODULE_SIM_SIZE (sizeof(SimDevicePacked) + sizeof(SimDeviceBack) + sizeof(SimDeviceBackend))

typedef struct CudaModule {
    size_t size; // of this struct; comes first, so that every version can read it
    size_t device_size, nn_size, motion_size, gnn_size, renderer_size, sim_size,
        raster_size;              // of structs that both sides use
    const char *version, *commit; // base/version.h
    const NnBackend *nn;
    const MotionBackend *motion;
    const GnnBackend *gnn;
    const RendererBackend *renderer;
    const SimDeviceBackend *sim;
    const RasterDeviceBackend *raster;
    int (*gpus)(unsigned char first[DEVICE_GPU_ID]); // device_gpus
    // Fills an empty Device except its tables. Also after an error, nn->close frees what it holds.
    Status (*open)(Device *device, int index, Error *err);
} CudaModule;

// Opens GPU `index` with the module at `path`; `threads` as for device_open.
Status device_open_module(const char *path, int index, int threads, Device **out, Error *err);
// The same with the module beside this program or library.
Status device_open_cuda(int index, int threads, Device **out, Error *err);
bool device_has_cuda(void);

#endif
