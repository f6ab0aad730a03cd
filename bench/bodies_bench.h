// SPDX-License-Identifier: Apache-2.0
// Times a training step of the network over bodies (bodies/body_network.h), and the search for bodies in video
// (motion/bodies.h).
#ifndef VPD_BENCH_BODIES_BENCH_H
#define VPD_BENCH_BODIES_BENCH_H

#include "bench/time.h"

typedef struct BodiesBench {
    size_t windows, nodes, weights;
    BenchTime inputs, forward, backward, motions; // of one step of all windows; inputs and motions are the host's
    size_t tape_bytes;                            // peak of one step
} BodiesBench;

// 64 windows of two bodies of BODY_NODES nodes that are near each other, above a floor; medians; C channels, L rounds.
Status bodies_bench(Device *device, size_t C, size_t L, int repetitions, BodiesBench *out, Error *err);

typedef struct FindBench {
    size_t pixels, points, bodies; // of a frame's views, of the field, found
    BenchTime find, register_all;  // of one frame: from the field alone, and with its pixels; medians
} FindBench;

// The synthetic room (device/room_video.h): five boxes fly outwards, in four views of side x side pixels.
Status bodies_bench_find(Device *device, int side, int repetitions, FindBench *out, Error *err);

#endif
