// SPDX-License-Identifier: Apache-2.0
// Opens the CUDA back end from libvpd_cuda.so, which stays loaded until the process ends.
#include "base/module.h"
#include "base/threads.h"
#include "device/cuda_module.h"

#include <stdlib.h>

// Both sides must use the same structs. Commits differ between versions; sizes can differ between uncommitted changes.
static Status check_module(const CudaModule *module, const char *path, Error *err) {
    if (module->size != sizeof *module || module->device_size != sizeof(Device) ||
        module->nn_size != sizeof(NnBackend) || module->motion_size != sizeof(MotionBackend) ||
        module->gnn_size != sizeof(GnnBackend) || module->renderer_size != sizeof(RendererBackend) ||
        module->sim_size != CUDA_MODULE_SIM_SIZE || module->raster_size != CUDA_MODULE_RASTER_SIZE)
        return error_set(err, STATUS_FAILED,
                         "%s: expected structs as in this program, found other sizes; build both together", path);
    return module_check_version(path, module->version, module->commit, err);
}

static Status load_module(const char *path, const CudaModule **out, Error *err) {
    const void *table = NULL;
    Status status = module_load(path, CUDA_MODULE_SYMBOL, &table, err);
    if (status != STATUS_OK) return status;
    *out = table;
    return check_module(*out, path, err);
}

Status device_open_module(const char *path, int index, int threads, Device **out, Error *err) {
    const CudaModule *module = NULL;
    Status status = load_module(path, &module, err);
    if (status != STATUS_OK) return status;
    Device *device = calloc(1, sizeof *device);
    if (!device) return error_set(err, STATUS_FAILED, "out of memory for a device");
    device->nn = module->nn;
    device->motion = module->motion;
    device->gnn = module->gnn;
    device->renderer = module->renderer;
    device->sim = module->sim;
    device->raster = module->raster;
    status = module->open(device, index, err);
    if (status == STATUS_OK) {
        device->threads = threads > 0 ? threads : threads_available();
        *out = device;
    } else {
        device->nn->close(device);
        free(device);
    }
    return status;
}

#ifdef VPD_DOUBLE

bool device_has_cuda(void) { return false; }

int device_gpus(unsigned char first[DEVICE_GPU_ID]) {
    (void)first;
    return 0;
}

Status device_open_cuda(int index, int threads, Device **out, Error *err) {
    (void)threads;
    *out = NULL;
    return error_set(err, STATUS_BAD_INPUT, "--device cuda:%d: double precision runs on the CPU alone", index);
}

#else

bool device_has_cuda(void) {
    char folder[PATH_MAX], path[MODULE_PATH_SIZE];
    return module_find(CUDA_MODULE_FILE, folder, path);
}

int device_gpus(unsigned char first[DEVICE_GPU_ID]) {
    char folder[PATH_MAX], path[MODULE_PATH_SIZE];
    const CudaModule *module = NULL;
    bool has = module_find(CUDA_MODULE_FILE, folder, path) && load_module(path, &module, NULL) == STATUS_OK;
    return has ? module->gpus(first) : 0;
}

Status device_open_cuda(int index, int threads, Device **out, Error *err) {
    char folder[PATH_MAX], path[MODULE_PATH_SIZE];
    if (module_find(CUDA_MODULE_FILE, folder, path)) return device_open_module(path, index, threads, out, err);
    return error_set(err, STATUS_BAD_INPUT,
                     "--device cuda: " CUDA_MODULE_FILE
                     " is not in %s: this build has the CPU back end only; build with "
                     "the CUDA toolkit, or use --device cpu",
                     folder);
}

#endif
