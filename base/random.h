// SPDX-License-Identifier: Apache-2.0
// Counter-based random numbers (Philox 4x32-10; Salmon et al., SC 2011), keyed by (seed, purpose, step, episode,
// index): never by thread, rank or time. The same bits on every back end.
#ifndef VPD_BASE_RANDOM_H
#define VPD_BASE_RANDOM_H

#include <stdint.h>

#ifdef __CUDACC__
#define RANDOM_INLINE __host__ __device__ static inline
#else
#define RANDOM_INLINE static inline
#endif

// The purpose of a stream of numbers; two purposes never share numbers.
typedef enum RandomPurpose {
    RANDOM_INIT = 1,   // initial weights; index = position in the parameter
    RANDOM_EPISODE,    // choice of episode and start frame
    RANDOM_PARTICLES,  // choice of particles from pixels
    RANDOM_NODES,      // choice of abstract nodes
    RANDOM_RAYS,       // choice of training rays
    RANDOM_JITTER,     // stratified position of samples on a ray
    RANDOM_TEST = 8,   // inputs of tests and benchmarks
    RANDOM_FLOW = 11,  // points of motion fields
    RANDOM_TURN,       // rotation of the world in training
    RANDOM_FLOOR,      // candidate planes of the floor
    RANDOM_GRADCHECK,  // losses and directions of gradient checks
    RANDOM_FIT,        // starts of fits
    RANDOM_EXPERIMENT, // scenes of experiments
    RANDOM_FLIGHT,     // velocity of windows in free flight
    RANDOM_THIN,       // pixels that the search for bodies looks at
    RANDOM_SCENE,      // numbers of scenes, an episode each
    RANDOM_DRIVEN      // bodies of windows that move as the video says
} RandomPurpose;

typedef struct RandomKey {
    uint32_t seed, purpose, step, episode;
} RandomKey;

typedef struct Random4 {
    uint32_t v[4];
} Random4;

// Four 32-bit numbers for one 64-bit index.
RANDOM_INLINE Random4 random4(RandomKey key, uint64_t index) {
    uint32_t c0 = (uint32_t)index, c1 = (uint32_t)(index >> 32), c2 = key.step, c3 = key.episode;
    uint32_t k0 = key.seed, k1 = key.purpose;
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
        uint32_t n0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0, n2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)p1;
        c3 = (uint32_t)p0;
        c0 = n0;
        c2 = n2;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    Random4 out = {{c0, c1, c2, c3}};
    return out;
}

// Uniform in [0, 1) with 24 bits, exact in float.
RANDOM_INLINE float random_to_unit(uint32_t bits) { return (float)(bits >> 8) * 0x1p-24f; }

RANDOM_INLINE float random_uniform(RandomKey key, uint64_t index) { return random_to_unit(random4(key, index).v[0]); }

// Uniform integer in [0, n) by multiply-shift; n > 0.
RANDOM_INLINE uint32_t random_below(RandomKey key, uint64_t index, uint32_t n) {
    return (uint32_t)(((uint64_t)random4(key, index).v[0] * n) >> 32);
}

#endif
