// SPDX-License-Identifier: Apache-2.0
// A device runs the ops: a table of functions per module (NnBackend, MotionBackend, GnnBackend, RendererBackend) plus
// memory. CPU tables are compiled once per instruction set and chosen at run time; CUDA's come from libvpd_cuda.so.
//
// Ops do not return a status: the first failure (no memory, a library call) is kept in the device, ops that find
// `failed` set do nothing, and the step's end reports it (device_status).
#ifndef VPD_NN_DEVICE_H
#define VPD_NN_DEVICE_H

#include "base/arena.h"
#include "base/error.h"
#include "nn/real.h"

#ifdef __cplusplus
extern "C" {
#endif

struct NnBackend;
struct MotionBackend;
struct GnnBackend;
struct RendererBackend;
struct SimDeviceBackend;
struct RasterDeviceBackend;
struct Tape;
struct TapePart;

// How factors of matrix products are rounded; sums are in float. A device computes precisions that it lacks in f32: a
// CPU with AMX has the three of bfloat16, a GPU from compute capability 8.0 on has tf32 and bf16.
typedef enum Precision {
    PRECISION_F32,
    PRECISION_BF16X6, // three bfloat16 pieces of each number, six products: as exact as f32
    PRECISION_BF16X3, // two pieces, three products: 2^-16
    PRECISION_BF16,   // one: 2^-8
    PRECISION_TF32    // tensor cores: 2^-11
} Precision;

// Counts of a device whose work is commands in a stream, and which captures those of repeated steps
// (device_step_begin).
typedef struct DeviceReplay {
    size_t commands;           // kernels, copies, calls of libraries
    size_t captured, launched; // parts of steps
    size_t changed, otherwise; // kernels with new arguments; parts that changed and ran without a graph
} DeviceReplay;

enum { DEVICE_GPU_ID = 16 }; // bytes of a GPU's name, which no other in the world has

typedef struct Device {
    char name[64]; // "cpu avx2, 2 threads"
    const struct NnBackend *nn;
    const struct MotionBackend *motion;
    const struct GnnBackend *gnn;
    const struct RendererBackend *renderer;
    const struct SimDeviceBackend *sim; // NULL on the CPU, where simulator and rasterisers have tables of their own
    const struct RasterDeviceBackend *raster;
    ArenaSource source;  // the device's memory
    Arena scratch;       // temporaries of one op: mark, use, release
    int threads;         // of parallel loops on the CPU, also beside a GPU
    unsigned precisions; // 1 << p for each beside f32 that it has
    Precision precision;
    bool failed;
    Error error;
    char note[160]; // a note when the device works differently from the request; ""
    void *state;    // the back end's own
    DeviceReplay replay;
    // ---- uses of its memory (nn/device_memory.h)
    size_t parameter_bytes, optimizer_bytes; // values and gradients; moments and average
    size_t library_bytes;                    // workspaces of libraries
    struct Tape *tapes;                      // all that are open
    const struct TapePart *part;             // begun last
} Device;

// spec: "cpu", "cpu:avx2", "cuda", "cuda:1" ("auto": device/choice.h). threads 0 = base/threads.h's count.
// VPD_ISA=base|avx2|avx512|amx forces the CPU table of "cpu".
Status device_open(const char *spec, int threads, Device **out, Error *err);
void device_close(Device *device); // accepts NULL
// Number of GPUs that the CUDA back end finds, and the name of the first; 0 without that back end.
int device_gpus(unsigned char first[DEVICE_GPU_ID]);

void device_set_precision(Device *device, Precision precision);

// Mark the begin and end of a repeated step, within which weights change in the update alone (adam). replay: the device
// may capture its commands and launch them again.
// device_flush: starts the queued work, since the host goes on with other things.
void device_step_begin(Device *device, bool replay);
void device_flush(Device *device);
void device_step_end(Device *device);

// Waits until the device has done all its work: seconds of clock_now (base/clock.h).
double device_seconds(Device *device);

// Whether the device's memory is the host's.
bool device_shares_host(const Device *device);

// Keeps the first failure.
void device_fail(Device *device, Status status, const char *format, ...) __attribute__((format(printf, 3, 4)));
// Whether the device has failed. It also fails, with STATUS_INTERRUPTED, after a stop request (base/stop.h): so a
// step or a picture ends between two ops, or within a long one. The tape calls it for every tensor and every node.
bool device_stopped(Device *device);
// Reports and clears the failure.
Status device_status(Device *device, Error *err);

// `count` reals of scratch memory, or NULL with the device failed. Callers mark and release device->scratch around an
// op.
real *device_scratch(Device *device, size_t count);
void *device_scratch_bytes(Device *device, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
