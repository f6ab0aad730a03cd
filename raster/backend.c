// SPDX-License-Identifier: Apache-2.0
#include "raster/backend.h"

#include "base/isa.h"

#include <stdlib.h>
#include <string.h>

#define DECLARE(isa) extern const RasterBackend raster_backend_##isa##_f32, raster_backend_##isa##_f64;
#define TABLE(isa)                                                                                                     \
    {                                                                                                                  \
#isa, { &raster_backend_##isa##_f32, &raster_backend_##isa##_f64 }                                             \
    }

typedef struct Choice {
    const char *isa;
    const RasterBackend *precision[2];
} Choice;

#ifdef VPD_HAS_X86_ISAS
DECLARE(base)
DECLARE(avx2)
DECLARE(avx512)
static const Choice choices[] = {TABLE(avx512), TABLE(avx2), TABLE(base)}; // best first
#else
DECLARE(base)
static const Choice choices[] = {TABLE(base)};
#endif

const RasterBackend *raster_backend(const char **isa, bool f64) {
    const char *wanted = *isa ? *isa : getenv("VPD_ISA");
    if (wanted && !strcmp(wanted, "amx")) wanted = "avx512"; // the tensors' best set, which has AVX-512 too
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++)
        if ((!wanted || !strcmp(wanted, choices[i].isa)) && isa_runs(choices[i].isa)) {
            *isa = choices[i].isa;
            return choices[i].precision[f64];
        }
    *isa = wanted;
    return NULL;
}
