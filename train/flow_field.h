// SPDX-License-Identifier: Apache-2.0
// Scene flow of the frames of a data set as fields of up to some hundred points, kept from one use to the next: flow to
// the next frame, which the flow term of the loss learns from (docs/model.md, "Losses"), and the velocity cue of the
// present (model/scene_flow.h).
#ifndef VPD_TRAIN_FLOW_FIELD_H
#define VPD_TRAIN_FLOW_FIELD_H

#include "model/vpd.h"

enum { FLOW_PIXELS = 256, FLOW_ENTRIES = 4096 };
// Clouds that the last field was made from: of its frame, of that frame with the flags to the frame before (of a cue:
// of the frame before), of the next.
enum { FLOW_NOW, FLOW_BEFORE, FLOW_NEXT, FLOW_CLOUDS };

// A frame of the data set.
typedef struct VideoFrame {
    int episode, frame, stride;
} VideoFrame;

// Flow u (metres) and its gradient g at points x (metres) of colour c. Host memory.
typedef struct FlowField {
    VideoFrame of;
    bool known;
    size_t count;
    real *x, *c, *u;    // (count, 3)
    real *g;            // (count, 9)
    uint8_t *moving[2]; // of a cue: the flags of its clouds (model/moving.h), a bit a point: of the present, of the
                        // frame before
} FlowField;

// Fields by frame; a newer one takes the place of an older one of the same hash. Starts as {0}.
typedef struct FlowCache {
    FlowField *next, *cue; // (FLOW_ENTRIES) each, or NULL
    PointCloud cloud[FLOW_CLOUDS];
} FlowCache;

void flow_cache_free(FlowCache *cache);

// Frame `index` > 0 of an observation that begins at `first`.
typedef struct FlowFrame {
    const Observation *frames;
    int index;
    VideoFrame first;
} FlowFrame;

// Flow from the frame to the next (stride later), at up to FLOW_PIXELS of the points that change and as many that do
// not.
Status flow_to_next(Tape *tape, const Vpd *model, const FlowFrame *frame, FlowCache *cache, const FlowField **out,
                    Error *err);

// The velocity cue of the last frame of a history; turned as the history is, on the device. The flags of the last two
// frames go into moving[T - 1] and moving[T - 2], for EncodeOptions.moving; they live until the cache takes another
// frame.
Status flow_cue(Tape *tape, const Vpd *model, const Observation *history, VideoFrame present, FlowCache *cache,
                GnnFlow *out, const uint8_t **moving, Error *err);

// A field on the device, turned as the observation is; memory of the tape.
GnnFlow flow_field_upload(Tape *tape, const Observation *o, const FlowField *field);

#endif
