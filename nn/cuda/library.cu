// SPDX-License-Identifier: Apache-2.0
#include "nn/cuda/library.h"

#include <dlfcn.h>
#include <glob.h>
#include <string.h>

// RTLD_GLOBAL: cuDNN looks for cuBLAS among the loaded libraries.
static void *open_at(const char *pattern) {
    glob_t found;
    void *library = nullptr;
    if (glob(pattern, 0, nullptr, &found) != 0) return nullptr;
    for (size_t i = 0; i < found.gl_pathc && !library; i++) library = dlopen(found.gl_pathv[i], RTLD_NOW | RTLD_GLOBAL);
    globfree(&found);
    return library;
}

static void *open_under(const char *variable, const char *folder, const char *name) {
    const char *root = variable ? getenv(variable) : "";
    char pattern[1024];
    if (!root || (variable && !*root)) return nullptr;
    int length = snprintf(pattern, sizeof pattern, "%s%s/%s", root, folder, name);
    return length < static_cast<int>(sizeof pattern) ? open_at(pattern) : nullptr;
}

void *cuda_library_open(Device *device, const char *name) {
    static const struct {
        const char *variable, *folder;
    } places[] = {
        {"CUDA_PATH", "/lib64"},
        {"CUDA_PATH", "/lib"},
        {"VIRTUAL_ENV", "/lib/python3*/site-packages/nvidia/*/lib"},
        {"CONDA_PREFIX", "/lib"},
        {"CONDA_PREFIX", "/lib/python3*/site-packages/nvidia/*/lib"},
        {nullptr, "/usr/local/cuda/lib64"},
        {nullptr, "/usr/local/cuda/lib"},
        {"HOME", "/.local/lib/python3*/site-packages/nvidia/*/lib"},
        {nullptr, "/usr/local/lib/python3*/*-packages/nvidia/*/lib"},
        {nullptr, "/usr/lib/python3*/*-packages/nvidia/*/lib"},
    };
    if (device->failed) return nullptr;
    void *library = dlopen(name, RTLD_NOW | RTLD_GLOBAL);
    for (auto &place : places)
        if (!library) library = open_under(place.variable, place.folder, name);
    if (!library)
        device_fail(
            device, STATUS_FAILED,
            "CUDA: %s is not found; install the CUDA toolkit and cuDNN or their Python packages, or put its folder "
            "into LD_LIBRARY_PATH",
            name);
    return library;
}

bool cuda_library_function(Device *device, void *library, const char *name, void **function) {
    if (device->failed) return false;
    *function = dlsym(library, name);
    if (!*function)
        device_fail(device, STATUS_FAILED, "CUDA: a library has no function %s: it is of another version", name);
    return *function;
}
