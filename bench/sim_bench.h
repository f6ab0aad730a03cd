// SPDX-License-Identifier: Apache-2.0
// Times the simulator: steps of beams, blocks that meet, nets of springs and cloth, and their gradients
// (docs/simulator.md).
#ifndef VPD_BENCH_SIM_BENCH_H
#define VPD_BENCH_SIM_BENCH_H

#include "bench/time.h"
#include "sim/sim.h"

typedef struct SimBench {
    const char *name;
    SimPrecision precision;
    int threads; // the simulator's own choice where the bench does not say; of the host
    size_t scenes, particles, springs, tets, hinges; // of one scene
    size_t steps;                                    // of one measurement
    BenchTime forward, both; // medians: a rollout; a rollout that keeps states, and its gradient
    size_t peak_bytes;       // of the second
    const char *isa;
} SimBench;

enum { SIM_BENCHES = 17 };

// Whether bench 0 .. SIM_BENCHES - 1 is one of the device: a GPU has no threads to compare, but batches of scenes.
bool sim_bench_is_of(const Device *device, int number);
Status sim_bench(Device *device, int number, int repetitions, SimBench *out, Error *err);

#endif
