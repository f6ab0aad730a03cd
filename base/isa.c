// SPDX-License-Identifier: Apache-2.0
#include "base/isa.h"

#include <string.h>

bool isa_runs(const char *isa) {
#ifdef VPD_HAS_X86_ISAS
    if (!strcmp(isa, "avx512"))
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
    if (!strcmp(isa, "avx2")) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
    (void)isa;
    return true;
}
