// SPDX-License-Identifier: Apache-2.0
// Loops over a thread's registers are unrolled; the host compiler of the tests does not know the word.
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
