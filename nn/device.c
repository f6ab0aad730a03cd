// SPDX-License-Identifier: Apache-2.0
#include "nn/device.h"

#include "base/clock.h"
#include "nn/backend.h"
#include "nn/device_memory.h"

#include <stdarg.h>
#include <stdio.h>

void device_set_precision(Device *device, Precision precision) {
    device->precision = device->precisions >> precision & 1 ? precision : PRECISION_F32;
}

void device_step_begin(Device *device, bool replay) {
    if (device->nn->step_begin) device->nn->step_begin(device, replay);
}

void device_flush(Device *device) {
    if (device->nn->flush) device->nn->flush(device);
}

void device_step_end(Device *device) {
    if (device->nn->step_end) device->nn->step_end(device);
}

double device_seconds(Device *device) {
    if (device->nn->wait) device->nn->wait(device);
    return clock_now();
}

bool device_shares_host(const Device *device) { return device->source.allocate == arena_host_source().allocate; }

void device_fail(Device *device, Status status, const char *format, ...) {
    if (device->failed) return;
    va_list args;
    va_start(args, format);
    vsnprintf(device->error.text, sizeof device->error.text, format, args);
    va_end(args);
    device->error.status = status;
    device->failed = true;
}

Status device_status(Device *device, Error *err) {
    if (!device->failed) return STATUS_OK;
    device->failed = false;
    if (err) *err = device->error;
    return device->error.status;
}
