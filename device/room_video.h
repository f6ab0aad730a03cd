// SPDX-License-Identifier: Apache-2.0
// Made-up video for benchmarks and checks: a room of 3 m with five boxes of 0.3 m that slide over its floor, seen by
// cameras that stand around. Every pixel meets something, so every pixel can become a particle.
#ifndef VPD_DEVICE_ROOM_VIDEO_H
#define VPD_DEVICE_ROOM_VIDEO_H

#include "base/error.h"
#include "base/observation.h"

typedef struct RoomVideo {
    Observation observation;
    int *views;
    uint8_t *rgb;
    float *depth;
    double *intrinsics, *pose;
} RoomVideo;

Status room_video_make(RoomVideo *room, int F, int V, int H, int W, Error *err);
void room_video_free(RoomVideo *room); // accepts {0}

#endif
