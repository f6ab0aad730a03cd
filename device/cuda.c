// SPDX-License-Identifier: Apache-2.0
// Opens the CUDA back end from libvpd_cuda.so, which stays loaded until the process ends.
#include "base/version.h"
#include "device/cuda_module.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Both sides must use the same structs. Commits differ between versions; sizes can differ between uncommitted changes.
static Status check_module(const CudaModule *module, const char *path, Error *err) {
    if (module->size != sizeof *module || module->device_size != sizeof(Device) ||
        module->nn_size != sizeof(NnBackend) || module->motion_size != sizeof(MotionBackend) ||
        module->gnn_size != sizeof(GnnBackend) || module->renderer_size != sizeof(RendererBackend) ||
        module->sim_size != CUDA_MODULE_SIM_SIZE)
        return error_set(err, STATUS_FAILED,
                         "%s: expected structs as in this program, found other sizes; build both together", path);
    if (strcmp(module->version, version_number()) != 0 || strcmp(module->commit, version_commit()) != 0)
        return error_set(err, STATUS_FAILED,
                         "%s: expected the module of version %s (%s), found that of %s (%s); build both together", path,
                         version_number(), version_commit(), module->version, module->commit);
    return STATUS_OK;
}

static Status load_module(const char *path, const CudaModule **out, Error *err) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) return error_set(err, STATUS_FAILED, "%s: cannot be loaded: %s", path, dlerror());
    *out = dlsym(library, CUDA_MODULE_SYMBOL);
    if (!*out) return error_set(err, STATUS_FAILED, "%s: expected the symbol " CUDA_MODULE_SYMBOL ", found none", path);
    return check_module(*out, path, err);
}

Status device_open_module(const char *path, int index, Device **out, Error *err) {
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
    status = module->open(device, index, err);
    if (status == STATUS_OK) {
        *out = device;
    } else {
        device->nn->close(device);
        free(device);
    }
    return status;
}

#ifdef VPD_DOUBLE

bool device_has_cuda(void) { return false; }

Status device_open_cuda(int index, Device **out, Error *err) {
    *out = NULL;
    return error_set(err, STATUS_BAD_INPUT, "--device cuda:%d: double precision runs on the CPU alone", index);
}

#else

// The folder of the file that contains this code: the program or libvpd.so.
static bool own_folder(char folder[PATH_MAX]) {
    Dl_info info;
    struct link_map *map = NULL;
    if (!dladdr1((void *)(uintptr_t)own_folder, &info, (void **)&map, RTLD_DL_LINKMAP) || !map) return false;
    if (!realpath(map->l_name[0] ? map->l_name : "/proc/self/exe", folder))
        return false; // the program's path is unknown
    char *slash = strrchr(folder, '/');
    if (slash) *slash = 0;
    return slash;
}

// Looks for the module in the folder of this code, or in lib/ beside bin/ as installed.
static bool find_module(char folder[PATH_MAX], char path[PATH_MAX + 64]) {
    static const char *const places[] = {"", "/../" VPD_LIBRARY_FOLDER};
    if (!own_folder(folder)) snprintf(folder, PATH_MAX, "?");
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(path, PATH_MAX + 64, "%s%s/" CUDA_MODULE_FILE, folder, places[i]);
        if (access(path, F_OK) == 0) return true;
    }
    return false;
}

bool device_has_cuda(void) {
    char folder[PATH_MAX], path[PATH_MAX + 64];
    return find_module(folder, path);
}

Status device_open_cuda(int index, Device **out, Error *err) {
    char folder[PATH_MAX], path[PATH_MAX + 64];
    if (find_module(folder, path)) return device_open_module(path, index, out, err);
    return error_set(err, STATUS_BAD_INPUT,
                     "--device cuda: " CUDA_MODULE_FILE
                     " is not in %s: this build has the CPU back end only; build with "
                     "the CUDA toolkit, or use --device cpu",
                     folder);
}

#endif
