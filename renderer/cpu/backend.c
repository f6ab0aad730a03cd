// SPDX-License-Identifier: Apache-2.0
// The CPU's table of renderer ops.
#include "renderer/cpu/functions.h"

#define ISA_TEXT_(isa) #isa
#define ISA_TEXT(isa) ISA_TEXT_(isa)

extern const RendererBackend CPU_FN(renderer_backend);
const RendererBackend CPU_FN(renderer_backend) = {
    .name = ISA_TEXT(VPD_ISA),
    .index_measure = CPU_FN(index_measure),
    .index_fill = CPU_FN(index_fill),
    .place_samples = CPU_FN(place_samples),
    .shade_saved = CPU_FN(shade_saved),
    .shade_forward = CPU_FN(shade_forward),
    .shade_backward = CPU_FN(shade_backward),
    .composite_forward = CPU_FN(composite_forward),
    .composite_backward = CPU_FN(composite_backward),
    .blend_labels = CPU_FN(blend_labels),
};
