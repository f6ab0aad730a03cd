// SPDX-License-Identifier: Apache-2.0
// oneDNN's convolutions behind a few functions; the only file that knows its C API, which differs between versions 2
// and 3. With PRECISION_BF16 factors are rounded to bfloat16, sums and results stay float; the other precisions run in
// float. Primitives are made once per shape and kept in the device; scratch memory comes from the device's scratch
// arena.
#ifndef VPD_NN_ONEDNN_H
#define VPD_NN_ONEDNN_H

#include "nn/conv2d.h"

// Failures go into the device.
void onednn_conv2d_forward(Device *device, const Conv2dArgs *args);
void onednn_conv2d_backward(Device *device, const Conv2dArgs *args);
// Frees what the device keeps (device->state).
void onednn_close(Device *device);

#endif
