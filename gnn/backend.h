// SPDX-License-Identifier: Apache-2.0
// The gnn part of a back end; see nn/backend.h for the rules.
#ifndef VPD_GNN_BACKEND_H
#define VPD_GNN_BACKEND_H

#include "nn/device.h"

struct MessageArgs;

typedef struct GnnBackend {
    const char *name; // of the instruction set

    void (*message_forward)(Device *, const struct MessageArgs *);
    void (*message_backward)(Device *, const struct MessageArgs *);
} GnnBackend;

#endif
