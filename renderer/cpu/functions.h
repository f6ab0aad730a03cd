// SPDX-License-Identifier: Apache-2.0
// The renderer's ops of the CPU back end, declared once per instruction set; backend.c puts them in the table.
#ifndef VPD_RENDERER_CPU_FUNCTIONS_H
#define VPD_RENDERER_CPU_FUNCTIONS_H

#include "nn/cpu/cpu.h"
#include "renderer/backend.h"

void CPU_FN(index_measure)(Device *, const struct IndexArgs *);
void CPU_FN(index_fill)(Device *, const struct IndexArgs *);
void CPU_FN(place_samples)(Device *, const struct PlaceSamplesArgs *);
size_t CPU_FN(shade_saved)(const struct ShadeArgs *);
void CPU_FN(shade_forward)(Device *, const struct ShadeArgs *);
void CPU_FN(shade_backward)(Device *, const struct ShadeArgs *);
void CPU_FN(composite_forward)(Device *, const struct CompositeArgs *);
void CPU_FN(composite_backward)(Device *, const struct CompositeArgs *);
void CPU_FN(blend_labels)(Device *, const struct BlendLabelsArgs *);

#endif
