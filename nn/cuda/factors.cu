// SPDX-License-Identifier: Apache-2.0
#include "nn/cuda/factors.h"

#include "nn/cuda/device.h"
#include "nn/cuda/tensor_product.h"
#include "nn/device_memory.h"

struct CudaFactor {
    Precision precision;
    bool made; // in this step
    TensorSource source;
};

struct CudaFactors {
    bool stay, stale;
    size_t count, room, uploaded;
    CudaFactor *all, *there; // (room) on the host; (uploaded) on the device
    Arena memory;            // of the device
};

static bool is_same(const TensorSource &a, const TensorSource &b) {
    bool same = a.turned == b.turned && a.width == b.width && a.rows == b.rows && a.pieces == b.pieces;
    for (unsigned i = 0; same && i < a.pieces; i++)
        same = a.piece[i].weight == b.piece[i].weight && a.piece[i].end == b.piece[i].end;
    return same;
}

bool cuda_factors_stay(const Device *device) {
    const CudaFactors *factors = cuda_state(device)->factors;
    return factors && factors->stay;
}

// ---- all of them at once

constexpr unsigned BLOCKS_EACH = 8;

template <Precision P> static __global__ void pack_all(const CudaFactor *all, size_t count) {
    if constexpr (TENSOR_CORES) BLOCK_LOOP(task, count * BLOCKS_EACH) {
            const CudaFactor &f = all[task / BLOCKS_EACH];
            size_t first = task % BLOCKS_EACH * blockDim.x + threadIdx.x;
            if (f.precision == P) pack_factor<P>(f.source, first, BLOCKS_EACH * blockDim.x);
        }
}

static void upload(Device *device, CudaFactors *factors) {
    if (factors->uploaded == factors->count) return;
    size_t bytes = factors->count * sizeof *factors->all;
    factors->there = static_cast<CudaFactor *>(arena_alloc(&factors->memory, bytes));
    if (!factors->there) return device_no_memory(device, &device->source, bytes, "the list of weights");
    cuda_upload(device, factors->there, factors->all, bytes);
    factors->uploaded = factors->count;
}

// Fills those of a precision.
static void make_all(Device *device, CudaFactors *factors, Precision precision) {
    upload(device, factors);
    auto kernel = precision == PRECISION_BF16 ? pack_all<PRECISION_BF16> : pack_all<PRECISION_TF32>;
    LAUNCH(device, cuda_blocks(factors->count * BLOCKS_EACH, 1), CUDA_THREADS, 0, kernel, factors->there,
           factors->count);
    for (size_t i = 0; i < factors->count; i++)
        if (factors->all[i].precision == precision) factors->all[i].made = true;
}

// ---- one of them

static CudaFactor *find(CudaFactors *factors, Precision precision, const TensorSource &source) {
    for (size_t i = 0; i < factors->count; i++)
        if (factors->all[i].precision == precision && is_same(factors->all[i].source, source)) return &factors->all[i];
    return nullptr;
}

static bool grow(CudaFactors *factors) {
    if (factors->count < factors->room) return true;
    size_t room = 2 * factors->room + 32;
    void *all = realloc(factors->all, room * sizeof *factors->all);
    if (!all) return false;
    factors->all = static_cast<CudaFactor *>(all);
    factors->room = room;
    return true;
}

bool cuda_factor_made(Device *device, Precision precision, size_t bytes, TensorSource *source) {
    CudaFactors *factors = cuda_state(device)->factors;
    if (!cuda_factors_stay(device)) {
        source->packed = static_cast<uint2 *>(device_scratch_bytes(device, bytes));
        return false;
    }
    CudaFactor *known = find(factors, precision, *source);
    if (known) {
        source->packed = known->source.packed;
        bool filled = known->made || !factors->stale;
        if (!known->made && !factors->stale) make_all(device, factors, precision);
        known->made = true;
        return filled;
    }
    source->packed = static_cast<uint2 *>(arena_alloc(&factors->memory, bytes));
    if (!source->packed || !grow(factors)) {
        device_no_memory(device, &device->source, bytes, "weights for tensor cores");
        return false;
    }
    factors->all[factors->count++] = {precision, true, *source};
    return false;
}

// ---- steps

void cuda_factors_begin(Device *device) {
    CudaState *state = cuda_state(device);
    if (!state->factors) {
        state->factors = static_cast<CudaFactors *>(calloc(1, sizeof *state->factors));
        if (!state->factors) return device_fail(device, STATUS_FAILED, "out of memory for weights of a step");
        arena_init(&state->factors->memory, device->source);
    }
    CudaFactors *factors = state->factors;
    if (factors->stale) {
        arena_reset(&factors->memory);
        factors->count = factors->uploaded = 0;
    }
    for (size_t i = 0; i < factors->count; i++) factors->all[i].made = false;
    factors->stale = false;
    factors->stay = true;
}

void cuda_factors_end(Device *device) {
    if (cuda_state(device)->factors) cuda_state(device)->factors->stay = false;
}

static bool stands_in(const TensorSource &source, const void *memory, size_t bytes) {
    uintptr_t first = reinterpret_cast<uintptr_t>(memory);
    for (unsigned i = 0; i < source.pieces; i++) {
        uintptr_t at = reinterpret_cast<uintptr_t>(source.piece[i].weight);
        if (at >= first && at - first < bytes) return true;
    }
    return false;
}

void cuda_factors_forget(Device *device, const void *memory, size_t bytes) {
    CudaFactors *factors = cuda_state(device)->factors;
    for (size_t i = 0; factors && i < factors->count; i++)
        if (stands_in(factors->all[i].source, memory, bytes)) factors->stale = true;
}

void cuda_factors_close(Device *device) {
    CudaFactors *factors = cuda_state(device)->factors;
    if (factors) {
        arena_free(&factors->memory);
        free(factors->all);
    }
    free(factors);
    cuda_state(device)->factors = nullptr;
}
