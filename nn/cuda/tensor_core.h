// SPDX-License-Identifier: Apache-2.0
// Products on tensor cores, a warp's instruction at a time: sums (16, 8) += a (16, DEPTH) b (DEPTH, 8). Factors are
// rounded to TF32 (10 bits behind the point) or bfloat16 (7), to the nearest; sums are in float.
//
// The one place that knows which lane holds what: the fragments of mma.m16n8k8 (.tf32) and mma.m16n8k16 (.bf16) in
// NVIDIA's PTX ISA. From compute capability 8.0 on; code for older GPUs has TENSOR_CORES 0 and must not use these
// functions. The tests' build multiplies the values of the lanes' registers, in tests/cuda_on_cpu/tensor_core.cpp.
#ifndef VPD_NN_CUDA_TENSOR_CORE_H
#define VPD_NN_CUDA_TENSOR_CORE_H

#include "nn/cuda/launch.h"
#include "nn/cuda/unroll.h"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#define TENSOR_CORES 0
#else
#define TENSOR_CORES 1
#endif

constexpr unsigned TENSOR_ROWS = 16, TENSOR_COLS = 8;
template <Precision P> constexpr unsigned TENSOR_DEPTH = P == PRECISION_BF16 ? 16 : 8;

// A lane's registers of the factors.
struct TensorA {
    unsigned r[4];
};
struct TensorB {
    unsigned r[2];
};

// ---- where a lane's values stand

// Sums: value (i, j), i and j 0 or 1. Row r of eight in the instruction is row 2 (r % 4) + r / 4 of ours: a product may
// have its rows in any order, and in this one no two lanes read from one bank of shared memory, neither rows nor
// columns of lines whose stride is 4 more than a multiple of 32 (in bfloat16).
static __device__ inline unsigned tensor_row(unsigned i) {
    unsigned row = cuda_lane() / 4;
    return 2 * (row % 4) + row / 4 + 8 * i;
}
static __device__ inline unsigned tensor_col(unsigned j) { return 2 * (cuda_lane() % 4) + j; }

// Register i of a stands in row tensor_row(i % 2), register i of b in column tensor_line(), both at this depth: one
// number in TF32, this one and the next (in the upper half) in bfloat16.
static __device__ inline unsigned tensor_line() { return cuda_lane() / 4; }
template <Precision P> __device__ inline unsigned tensor_a_depth(unsigned i) {
    unsigned lane = cuda_lane() % 4;
    return P == PRECISION_BF16 ? 2 * lane + 8 * (i / 2) : lane + 4 * (i / 2);
}
template <Precision P> __device__ inline unsigned tensor_b_depth(unsigned i) { return tensor_a_depth<P>(2 * i); }

// ---- rounding

#ifdef __CUDACC__
static __device__ inline unsigned tensor_tf32(float x) {
    unsigned bits;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
    return bits;
}
static __device__ inline unsigned tensor_bf16(float low, float high) {
    unsigned bits;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(high), "f"(low));
    return bits;
}
#else
unsigned tensor_tf32(float x);
unsigned tensor_bf16(float low, float high);
#endif

// A register of a factor; `next` counts in bfloat16 alone.
template <Precision P> __device__ inline unsigned tensor_factor(float x, float next) {
    return P == PRECISION_BF16 ? tensor_bf16(x, next) : tensor_tf32(x);
}

// ---- the product

// sum[i][2 t + j] += a b, of a lane's values (i, j) of tile t.
#ifdef __CUDACC__
#define TENSOR_MULTIPLY_ADD(shape)                                                                                     \
    asm volatile("mma.sync.aligned." shape " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"                    \
                 : "+f"(sum[0][2 * t]), "+f"(sum[0][2 * t + 1]), "+f"(sum[1][2 * t]), "+f"(sum[1][2 * t + 1])          \
                 : "r"(a.r[0]), "r"(a.r[1]), "r"(a.r[2]), "r"(a.r[3]), "r"(b.r[0]), "r"(b.r[1]))
template <Precision P, int COLS>
__device__ inline void tensor_multiply_add(const TensorA &a, const TensorB &b, float (&sum)[2][COLS], unsigned t) {
    if constexpr (P == PRECISION_BF16) TENSOR_MULTIPLY_ADD("m16n8k16.row.col.f32.bf16.bf16.f32");
    else TENSOR_MULTIPLY_ADD("m16n8k8.row.col.f32.tf32.tf32.f32");
}
#else
void cuda_on_cpu_tensor_core(bool bf16, const TensorA &a, const TensorB &b, float *upper, float *lower,
                             const char *file, int line);
template <Precision P, int COLS>
void tensor_multiply_add(const TensorA &a, const TensorB &b, float (&sum)[2][COLS], unsigned t) {
    cuda_on_cpu_tensor_core(P == PRECISION_BF16, a, b, &sum[0][2 * t], &sum[1][2 * t], __FILE__, __LINE__);
}
#endif

#endif
