// SPDX-License-Identifier: Apache-2.0
// Case tables of the renderer's ops (see nn/cases.h), and the synthetic rays and lists that they share.
#ifndef VPD_RENDERER_CASES_H
#define VPD_RENDERER_CASES_H

#include "nn/cases.h"
#include "renderer/renderer.h"

// Rays near the origin of the world.
RendererRays *case_rays(Tape *tape, size_t count);
// `count` samples spread over the rays (some rays may get none), each with 1 .. K of `particles` as neighbours, at
// random: an op's derivative must be right for any list.
RendererSamples *case_samples(Tape *tape, size_t rays, size_t count, int neighbours, size_t particles);

#endif
