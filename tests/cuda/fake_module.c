// SPDX-License-Identifier: Apache-2.0
// A libvpd_cuda.so whose table tests/device_cuda_test.c fills.
#include "device/cuda_module.h"

extern CudaModule vpd_cuda_module;
CudaModule vpd_cuda_module;
