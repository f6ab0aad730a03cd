// SPDX-License-Identifier: Apache-2.0
// The tensor core of nn/cuda/tensor_core.h: factors are gathered from the registers of all lanes, each from where the
// PTX ISA has it ("Matrix Fragments for mma.m16n8k8" and "mma.m16n8k16"), written down here a second time.
#include "nn/cuda/tensor_core.h"

#include "tests/cuda_on_cpu/cuda_on_cpu.h"

#include <cmath>

// Bits of x with `dropped` fewer, rounded to the nearest; ties go away from zero, or to even.
static unsigned rounded(float x, int dropped, bool to_even) {
    unsigned bits = __float_as_uint(x), half = 1u << (dropped - 1);
    if (std::isnan(x)) return 0x7fc00000u;
    if (std::isinf(x)) return bits;
    bits += to_even ? half - 1 + (bits >> dropped & 1) : half;
    return bits >> dropped << dropped;
}

float cuda_on_cpu_round(Precision precision, float x) {
    if (precision == PRECISION_TF32) return __uint_as_float(rounded(x, 13, false));
    return precision == PRECISION_BF16 ? __uint_as_float(rounded(x, 16, true)) : x;
}

unsigned tensor_tf32(float x) { return rounded(x, 13, false); }
unsigned tensor_bf16(float low, float high) { return rounded(low, 16, true) >> 16 | rounded(high, 16, true); }

static unsigned register_of(const CudaOnCpuWords &words, unsigned i) {
    return static_cast<unsigned>(words.word[i / 2] >> i % 2 * 32);
}

// The number at this depth (0 to 15, or 7) of a register that holds it.
static float factor(bool bf16, unsigned bits, unsigned depth) {
    if (bf16) return __uint_as_float(depth % 2 ? bits & 0xffff0000u : bits << 16);
    return bits & 0x1fff ? NAN : __uint_as_float(bits); // a number that nobody has rounded
}

// The numbers of a line of a factor, by depth. Where each is: in which lane, and in which half of its registers.
template <bool bf16>
static void read_line(const CudaOnCpuWords *all, unsigned line, unsigned first, unsigned step, float *out) {
    for (unsigned k = 0; k < (bf16 ? 16 : 8); k++) {
        unsigned lane = line % 8 * 4 + (bf16 ? k % 8 / 2 : k % 4), half = k / (bf16 ? 8 : 4);
        out[k] = factor(bf16, register_of(all[lane], first + step * half), k);
    }
}

template <bool bf16> static void multiply(const CudaOnCpuWords *all, float *upper, float *lower) {
    enum { DEPTH = bf16 ? 16 : 8 };
    unsigned lane = threadIdx.x % 32;
    float x[2][DEPTH], y[2][DEPTH];
    for (unsigned i = 0; i < 2; i++) {
        read_line<bf16>(all, lane / 4, i, 2, x[i]); // of rows 8 further down by the odd registers
        read_line<bf16>(all, lane % 4 * 2 + i, 4, 1, y[i]);
    }
    for (unsigned i = 0; i < 2; i++)
        for (unsigned j = 0; j < 2; j++)
            for (unsigned k = 0; k < DEPTH; k++) (i ? lower : upper)[j] += x[i][k] * y[j][k];
}

void cuda_on_cpu_tensor_core(bool bf16, const TensorA &a, const TensorB &b, float *upper, float *lower,
                             const char *file, int line) {
    CudaOnCpuWords mine;
    memcpy(mine.word, a.r, sizeof a.r);
    memcpy(mine.word + 2, b.r, sizeof b.r);
    (bf16 ? multiply<true> : multiply<false>)(cuda_on_cpu_sync_warp(WHOLE_WARP, mine, file, line), upper, lower);
}
