// SPDX-License-Identifier: Apache-2.0
// The gnn part of a back end; see nn/backend.h for the rules.
#ifndef VPD_GNN_BACKEND_H
#define VPD_GNN_BACKEND_H

#include "nn/device.h"

typedef struct GnnBackend {
    const char *name; // of the instruction set
} GnnBackend;

#endif
