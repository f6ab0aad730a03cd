// SPDX-License-Identifier: Apache-2.0
// Opens a device with the back ends of nn, motion, gnn and renderer.
#include "base/isa.h"
#include "base/threads.h"
#include "device/cuda_module.h"
#include "nn/amx.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct CpuTable {
    const char *isa;
    const NnBackend *nn;
    const MotionBackend *motion;
    const GnnBackend *gnn;
    const RendererBackend *renderer;
} CpuTable;

#define DECLARE_CPU_TABLE(isa)                                                                                         \
    extern const NnBackend nn_backend_##isa;                                                                           \
    extern const MotionBackend motion_backend_##isa;                                                                   \
    extern const GnnBackend gnn_backend_##isa;                                                                         \
    extern const RendererBackend renderer_backend_##isa;
#define CPU_TABLE(isa) CPU_TABLE_AS(#isa, isa)
#define CPU_TABLE_AS(name, isa)                                                                                        \
    { name, &nn_backend_##isa, &motion_backend_##isa, &gnn_backend_##isa, &renderer_backend_##isa }

#ifdef VPD_DOUBLE
DECLARE_CPU_TABLE(f64)
static const CpuTable cpu_tables[] = {CPU_TABLE(f64)};
#elif defined(VPD_HAS_X86_ISAS)
DECLARE_CPU_TABLE(base)
DECLARE_CPU_TABLE(avx2)
DECLARE_CPU_TABLE(avx512)
// avx512 with matrix products on AMX tiles (nn/amx.h)
static const CpuTable cpu_tables[] = {CPU_TABLE_AS("amx", avx512), CPU_TABLE(avx512), CPU_TABLE(avx2),
                                      CPU_TABLE(base)}; // best first
#else
DECLARE_CPU_TABLE(base)
static const CpuTable cpu_tables[] = {CPU_TABLE(base)};
#endif

static bool cpu_runs(const char *isa) {
#ifdef VPD_HAS_X86_ISAS
    if (!strcmp(isa, "amx")) return isa_runs("avx512") && amx_ready();
#endif
    return isa_runs(isa);
}

// The table of instruction set `wanted`, or the best one of this processor if it is NULL.
static Status choose_cpu_table(const char *wanted, const char *who, const CpuTable **out, Error *err) {
    for (size_t i = 0; i < sizeof cpu_tables / sizeof *cpu_tables; i++) {
        *out = &cpu_tables[i];
        if ((!wanted || !strcmp(wanted, (*out)->isa)) && cpu_runs((*out)->isa)) return STATUS_OK;
    }
    return error_set(err, STATUS_BAD_INPUT,
                     "%s%s: not compiled in, or this processor does not run it; use amx, avx512, avx2 or base", who,
                     wanted);
}

// If `isa` is NULL, VPD_ISA decides.
static Status open_cpu(const char *isa, int threads, Device **out, Error *err) {
    const CpuTable *table;
    Status status = choose_cpu_table(isa ? isa : getenv("VPD_ISA"), isa ? "--device cpu:" : "VPD_ISA=", &table, err);
    if (status != STATUS_OK) return status;
    Device *device = calloc(1, sizeof *device);
    if (!device) return error_set(err, STATUS_FAILED, "out of memory for a device");
    device->nn = table->nn;
    device->motion = table->motion;
    device->gnn = table->gnn;
    device->renderer = table->renderer;
    device->threads = threads > 0 ? threads : threads_available();
    if (!strcmp(table->isa, "amx"))
        device->precisions = 1 << PRECISION_BF16X6 | 1 << PRECISION_BF16X3 | 1 << PRECISION_BF16;
    omp_set_num_threads(device->threads); // for oneDNN's own loops
    device->source = arena_host_source();
    arena_init(&device->scratch, device->source);
    snprintf(device->name, sizeof device->name, "cpu %s, %d thread%s", table->isa, device->threads,
             device->threads == 1 ? "" : "s");
    *out = device;
    return STATUS_OK;
}

// The number in "cuda:NUMBER", 0 for "cuda", -1 for anything else.
static int cuda_index(const char *spec) {
    if (!strcmp(spec, "cuda")) return 0;
    bool digits =
        !strncmp(spec, "cuda:", 5) && spec[5] && strlen(spec) < 9 && strspn(spec + 5, "0123456789") == strlen(spec + 5);
    return digits ? atoi(spec + 5) : -1;
}

Status device_open(const char *spec, int threads, Device **out, Error *err) {
    *out = NULL;
    if (!strcmp(spec, "cpu")) return open_cpu(NULL, threads, out, err);
    if (!strncmp(spec, "cpu:", 4)) return open_cpu(spec + 4, threads, out, err);
    if (cuda_index(spec) >= 0) return device_open_cuda(cuda_index(spec), threads, out, err);
    return error_set(err, STATUS_BAD_INPUT, "--device %s: expected auto, cpu, cpu:ISA, cuda or cuda:NUMBER", spec);
}

void device_close(Device *device) {
    if (!device) return;
    if (device->nn->close) device->nn->close(device);
    arena_free(&device->scratch);
    free(device);
}
