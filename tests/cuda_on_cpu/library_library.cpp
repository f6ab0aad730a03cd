// SPDX-License-Identifier: Apache-2.0
// For nn/cuda/library.cu: the tests' libraries alone, whatever this machine has.
#include "nn/cuda/library.h"

#include <dlfcn.h>

void *cuda_library_open(Device *device, const char *name) {
    const char *folder = getenv("VPD_CUDA_LIBRARIES");
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder ? folder : "", name);
    void *library = folder ? dlopen(path, RTLD_NOW) : nullptr;
    if (!library) device_fail(device, STATUS_FAILED, "CUDA: %s is not found", name);
    return library;
}

bool cuda_library_function(Device *device, void *library, const char *name, void **function) {
    if (device->failed) return false;
    *function = dlsym(library, name);
    if (!*function) device_fail(device, STATUS_FAILED, "CUDA: a library has no function %s", name);
    return *function;
}
