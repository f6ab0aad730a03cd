// SPDX-License-Identifier: Apache-2.0
// The flow term of the loss: predicted particles against where scene flow between consecutive frames of the video takes them
// (docs/model.md, "Loss"). Flow needs depth and colour alone; it tells every particle where to go, and so teaches motion in far
// fewer steps than pixels do. Flow of a frame is a field over up to 256 pixels that change and 256 that do not, kept from one use to
// the next.
#ifndef VPD_TRAIN_FLOW_TERM_H
#define VPD_TRAIN_FLOW_TERM_H

#include "model/vpd.h"

enum { FLOW_PIXELS = 256, FLOW_ENTRIES = 4096 };

// A frame of the data set.
typedef struct VideoFrame {
    int episode, frame, stride;
} VideoFrame;

// Flow from a frame to the next (stride later): u (metres) and its gradient g at points x (metres) of colour c. Host memory.
typedef struct FlowField {
    VideoFrame of;
    bool known;
    size_t count;
    real *x, *c, *u; // (count, 3)
    real *g;         // (count, 9)
} FlowField;

// Fields by frame; a newer one takes the place of an older one of the same hash. Starts as {0}.
typedef struct FlowCache {
    FlowField *fields; // (FLOW_ENTRIES) or NULL
    PointCloud now, before, next;
} FlowCache;

void flow_cache_free(FlowCache *cache);

// Frame `index` > 0 of an observation that begins at `first`.
typedef struct FlowFrame {
    const Observation *frames;
    int index;
    VideoFrame first;
} FlowFrame;

// Where the particles should be by now; starts as {0} before the first step of a rollout.
typedef struct FlowTrack {
    real *y; // (N,3) device memory of the tape, or NULL
} FlowTrack;

// Behind a rollout step that predicted frame->index + 1: moves the track by the flow of frame->index, and gives the pseudo-Huber distance
// to it in units of s, the mean over moving particles plus the mean over the others; *out is a (1,1) tensor.
Status flow_term(Tape *tape, const Vpd *model, const Scene *scene, const FlowFrame *frame, FlowCache *cache, FlowTrack *track,
                 Tensor **out, Error *err);

#endif
