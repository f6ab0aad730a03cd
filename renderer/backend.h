// SPDX-License-Identifier: Apache-2.0
// The renderer part of a back end; see nn/backend.h for the rules.
#ifndef VPD_RENDERER_BACKEND_H
#define VPD_RENDERER_BACKEND_H

#include "nn/device.h"

typedef struct RendererBackend {
    const char *name; // of the instruction set
} RendererBackend;

#endif
