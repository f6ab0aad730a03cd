// SPDX-License-Identifier: Apache-2.0
// The CPU's table of renderer ops.
#include "renderer/cpu/functions.h"

#define ISA_TEXT_(isa) #isa
#define ISA_TEXT(isa) ISA_TEXT_(isa)

extern const RendererBackend CPU_FN(renderer_backend);
const RendererBackend CPU_FN(renderer_backend) = {
    .name = ISA_TEXT(VPD_ISA), .shade_saved = CPU_FN(shade_saved), RENDERER_OPS(OP_CPU_ENTRY)};
