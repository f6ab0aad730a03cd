// SPDX-License-Identifier: Apache-2.0
// CUDA's own libraries, opened when they are first needed and not linked: the module loads without them, an error can
// say which one is missing, and those that Python packages bring are found without LD_LIBRARY_PATH.
#ifndef VPD_NN_CUDA_LIBRARY_H
#define VPD_NN_CUDA_LIBRARY_H

#include "nn/cuda/launch.h"

// "libcublas.so.13" by the loader's own search, then in CUDA_PATH, the usual folders of the toolkit, and Python's
// packages (VIRTUAL_ENV, CONDA_PREFIX, the user's, the system's). NULL with the device failed when it is nowhere.
void *cuda_library_open(Device *device, const char *name);
// False with the device failed when the library has no such function.
bool cuda_library_function(Device *device, void *library, const char *name, void **function);

#endif
