// SPDX-License-Identifier: Apache-2.0
// Renderers with one planted fault each.
#ifndef VPD_TESTS_FAULTY_RENDERER_H
#define VPD_TESTS_FAULTY_RENDERER_H

#ifdef __cplusplus
extern "C" {
#endif

#include "renderer/backend.h"

typedef struct FaultyRenderer {
    const char *fault;
    RendererBackend backend;
    Precision precision; // in which it shows
} FaultyRenderer;

const FaultyRenderer *faulty_renderers(size_t *count);

#ifdef __cplusplus
}
#endif

#endif
