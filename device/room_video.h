// SPDX-License-Identifier: Apache-2.0
// Synthetic video for benchmarks and checks: a 3 m room with five 0.3 m boxes that fly outwards, with cameras
// around it. Every pixel has depth, so every pixel can become a particle.
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
