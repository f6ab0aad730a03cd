// SPDX-License-Identifier: Apache-2.0
// Made-up video for benchmarks and checks: a room of 3 m with five boxes of 0.3 m that slide over its floor, seen by
// cameras that stand around. Every pixel meets something, so every pixel can become a particle.
#ifndef VPD_MODEL_BENCH_ROOM_H
#define VPD_MODEL_BENCH_ROOM_H

#include "base/error.h"
#include "encoder/observation.h"

typedef struct BenchRoom {
    Observation observation;
    int *views;
    uint8_t *rgb;
    float *depth;
    double *intrinsics, *pose;
} BenchRoom;

Status bench_room_make(BenchRoom *room, int F, int V, int H, int W, Error *err);
void bench_room_free(BenchRoom *room); // accepts {0}

#endif
