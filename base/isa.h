// SPDX-License-Identifier: Apache-2.0
// Instruction sets for which code is compiled: avx512, avx2 and base (cmake/flags.cmake).
#ifndef VPD_BASE_ISA_H
#define VPD_BASE_ISA_H

#include <stdbool.h>

// Whether this processor runs code compiled for `isa`; every one runs base.
bool isa_runs(const char *isa);

#endif
