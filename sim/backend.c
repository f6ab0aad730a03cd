// SPDX-License-Identifier: Apache-2.0
#include "sim/backend.h"

#include "base/isa.h"

#include <string.h>

#ifdef VPD_HAS_X86_ISAS
extern const SimBackend sim_backend_avx512_f32, sim_backend_avx512_f64, sim_backend_avx2_f32, sim_backend_avx2_f64;
#endif
extern const SimBackend sim_backend_base_f32, sim_backend_base_f64;

static const struct {
    const char *isa;
    const SimBackend *f32, *f64;
} tables[] = { // best first
#ifdef VPD_HAS_X86_ISAS
    {"avx512", &sim_backend_avx512_f32, &sim_backend_avx512_f64},
    {"avx2", &sim_backend_avx2_f32, &sim_backend_avx2_f64},
#endif
    {"base", &sim_backend_base_f32, &sim_backend_base_f64}};

const SimBackend *sim_backend_find(const char *isa, bool f64) {
    if (isa && !strcmp(isa, "amx")) isa = "avx512"; // as for devices; there are no matrix products here
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if ((!isa || !strcmp(isa, tables[i].isa)) && isa_runs(tables[i].isa))
            return f64 ? tables[i].f64 : tables[i].f32;
    return NULL;
}
