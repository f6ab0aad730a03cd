// SPDX-License-Identifier: Apache-2.0
// Unrolls loops over a thread's registers; the host compiler of the tests does not know nvcc's pragma.
#ifndef VPD_NN_CUDA_UNROLL_H
#define VPD_NN_CUDA_UNROLL_H

#ifdef __CUDACC__
#define UNROLL_TEXT(text) _Pragma(#text)
#define UNROLL(times) UNROLL_TEXT(unroll times)
#else
#define UNROLL(times)
#endif
#define UNROLL_LOOP(i, count) UNROLL(count) for (unsigned i = 0; i < static_cast<unsigned>(count); i++)

#endif
