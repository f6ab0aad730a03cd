// SPDX-License-Identifier: Apache-2.0
// Apart from nn/device.c because the CUDA module holds that file too: the flag of base/stop.h is the program's alone.
#include "base/stop.h"
#include "nn/device.h"

bool device_stopped(Device *device) {
    Error err;
    if (device->failed || !stop_requested()) return device->failed;
    stop_error(&err);
    device_fail(device, STATUS_INTERRUPTED, "%s", err.text);
    return true;
}
