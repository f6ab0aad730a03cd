// SPDX-License-Identifier: Apache-2.0
// The motion in a data set's frames (motion/observe.h), measured when it is first asked for and then kept: in a file of
// the run, so that a run that goes on starts at once, and so does another with the same data and options to which the
// file is copied.
//
// The file: a header of one page, then a pair of slots of fixed size for each frame of each episode in turn, for
// MOTION_SEEN and for MOTION_NEXT. A slot is a MotionRecord and what follows it; one that was never written holds
// zeros, or lies behind the end. Every record has a checksum. A damaged record is measured again; a file of other data,
// options or another version is emptied; the log says so. The version is the program's and MOTION_VERSION, not the
// commit: a change of the program that leaves motion as it is leaves the file as it is. Nor is it the device: what one
// has measured is as good as what another measures.
// A write that fails, as on a full disk, does not end training: a warning gives the reason, and nothing more is kept.
#ifndef VPD_TRAIN_MOTION_CACHE_H
#define VPD_TRAIN_MOTION_CACHE_H

#include "base/log.h"
#include "model/vpd.h"

// A frame of the data set.
typedef struct VideoFrame {
    int episode, frame, stride;
} VideoFrame;

typedef enum MotionKind { MOTION_SEEN, MOTION_NEXT, MOTION_KINDS } MotionKind;

// What a slot begins with; then positions, colours, motion (points, 3) and gradients (points, 9) as f32, and the flags.
typedef struct MotionRecord {
    uint64_t checksum; // of all that follows it and of what its numbers depend on
    int32_t kind, episode, frame;
    uint32_t points, frames, flag_bytes;
} MotionRecord;

// What the motion in a data set depends on, beside the model's options.
typedef struct MotionSource {
    int episodes;
    const int *frames; // (episodes)
    size_t pixels;     // of the input views of a frame, at most
    uint64_t data;     // hash of the data set
} MotionSource;

// Starts as {0}: nothing is kept but the last record of a kind.
typedef struct MotionCache {
    bool is_open; // there is a file
    int descriptor;
    char *path;   // for messages; NULL: the file has no name
    uint64_t key; // hash of what the numbers depend on
    const Log *log;
    size_t *first_row; // (episodes + 1) rows of the episodes before each
    int episodes;
    size_t slot[MOTION_KINDS]; // bytes
    struct MotionBuffer {
        char *bytes;
        size_t capacity;
    } buffer[MOTION_KINDS];
    MotionSeen seen; // in its buffer
} MotionCache;

// path NULL: a file in memory, which ends with the process.
Status motion_cache_open(MotionCache *cache, const char *path, const Vpd *model, const MotionSource *source,
                         const Log *log, Error *err);
void motion_cache_close(MotionCache *cache); // accepts {0}

// What was seen in a history that ends at the frame `present`; it lives until the next call.
Status motion_cache_seen(MotionCache *cache, Tape *tape, const Vpd *model, const Observation *history,
                         VideoFrame present, const MotionSeen **out, Error *err);

// The motion from frame `index` of an observation that begins at `first` to the next (stride later), likewise.
typedef struct MotionFrame {
    const Observation *frames;
    int index;
    VideoFrame first;
} MotionFrame;

Status motion_cache_next(MotionCache *cache, Tape *tape, const Vpd *model, const MotionFrame *frame, MotionField *out,
                         Error *err);
// Its two halves, for callers that read pixels only when they are needed: whether the motion is kept, and so *out is
// filled without pixels; and measuring and keeping it.
bool motion_cache_find_next(MotionCache *cache, VideoFrame of, MotionField *out);
Status motion_cache_measure_next(MotionCache *cache, Tape *tape, const Vpd *model, const MotionFrame *frame,
                                 MotionField *out, Error *err);

#endif
