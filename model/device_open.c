// SPDX-License-Identifier: Apache-2.0
// Puts a device together from the back ends of nn, gnn and renderer.
#include "base/threads.h"
#include "gnn/backend.h"
#include "nn/amx.h"
#include "nn/backend.h"
#include "renderer/backend.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct CpuTable {
    const char *isa;
    const NnBackend *nn;
    const GnnBackend *gnn;
    const RendererBackend *renderer;
} CpuTable;

#define DECLARE_CPU_TABLE(isa)                                                                                         \
    extern const NnBackend nn_backend_##isa;                                                                           \
    extern const GnnBackend gnn_backend_##isa;                                                                         \
    extern const RendererBackend renderer_backend_##isa;
#define CPU_TABLE(isa) CPU_TABLE_AS(#isa, isa)
#define CPU_TABLE_AS(name, isa)                                                                                        \
    { name, &nn_backend_##isa, &gnn_backend_##isa, &renderer_backend_##isa }

#ifdef VPD_DOUBLE
DECLARE_CPU_TABLE(f64)
static const CpuTable cpu_tables[] = {CPU_TABLE(f64)};
#elif defined(VPD_HAS_X86_ISAS)
DECLARE_CPU_TABLE(base)
DECLARE_CPU_TABLE(avx2)
DECLARE_CPU_TABLE(avx512)
static const CpuTable cpu_tables[] = {CPU_TABLE_AS("amx", avx512), // the same, with products on tiles (nn/amx.h)
                                      CPU_TABLE(avx512), CPU_TABLE(avx2), CPU_TABLE(base)}; // best first
#else
DECLARE_CPU_TABLE(base)
static const CpuTable cpu_tables[] = {CPU_TABLE(base)};
#endif

static bool cpu_runs(const char *isa) {
#ifdef VPD_HAS_X86_ISAS
    if (!strcmp(isa, "amx")) return cpu_runs("avx512") && amx_ready();
    if (!strcmp(isa, "avx512"))
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
    if (!strcmp(isa, "avx2")) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
    (void)isa;
    return true;
}

// The table that VPD_ISA names, or the best that this processor runs.
static const CpuTable *choose_cpu_table(Error *err) {
    const char *wanted = getenv("VPD_ISA");
    for (size_t i = 0; i < sizeof cpu_tables / sizeof *cpu_tables; i++) {
        const CpuTable *table = &cpu_tables[i];
        if ((!wanted || !strcmp(wanted, table->isa)) && cpu_runs(table->isa)) return table;
    }
    error_set(err, STATUS_BAD_INPUT,
              "VPD_ISA=%s: not compiled in, or this processor does not run it; use amx, avx512, avx2 or base", wanted);
    return NULL;
}

static Status open_cpu(int threads, Device **out, Error *err) {
    const CpuTable *table = choose_cpu_table(err);
    if (!table) return STATUS_BAD_INPUT;
    Device *device = calloc(1, sizeof *device);
    if (!device) return error_set(err, STATUS_FAILED, "out of memory for a device");
    device->nn = table->nn;
    device->gnn = table->gnn;
    device->renderer = table->renderer;
    device->threads = threads > 0 ? threads : threads_available();
    device->has_bf16 = !strcmp(table->isa, "amx");
    omp_set_num_threads(device->threads); // oneDNN's own loops
    device->source = arena_host_source();
    arena_init(&device->scratch, device->source);
    snprintf(device->name, sizeof device->name, "cpu %s, %d thread%s", table->isa, device->threads,
             device->threads == 1 ? "" : "s");
    *out = device;
    return STATUS_OK;
}

Status device_open(const char *spec, int threads, Device **out, Error *err) {
    *out = NULL;
    if (!strcmp(spec, "cpu") || !strcmp(spec, "auto")) return open_cpu(threads, out, err);
    return error_set(err, STATUS_BAD_INPUT, "--device %s: this build has the CPU back end only; use cpu or auto", spec);
}

void device_close(Device *device) {
    if (!device) return;
    if (device->nn->close) device->nn->close(device);
    arena_free(&device->scratch);
    free(device);
}
